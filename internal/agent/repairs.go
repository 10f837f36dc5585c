package agent

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/cluster-network-operator/cno/internal/fight"
	"github.com/cluster-network-operator/cno/internal/phrase"
)

// maxFights is the maximum number of things named in the problem.
const maxFights = 5

// Fight is a thing that a third party repeatedly changes although the agent restores it.
type Fight struct {
	// Thing is its name: "the routes of tun0".
	Thing string
	// Number is the number of repairs, as counted by fight.Repairs.
	Number int
}

// Repairs records what an agent repairs on its node after changes by third parties. Use NewRepairs to create it.
type Repairs struct {
	now  func() time.Time
	made func(thing string)

	mu     sync.Mutex
	things map[string]*repaired
}

// repaired is the state of one thing.
type repaired struct {
	// desired is the last desired state; known is false before the first one.
	desired string
	known   bool
	repairs fight.Repairs
}

// NewRepairs returns an empty record. made is called for each repair.
func NewRepairs(now func() time.Time, made func(thing string)) *Repairs {
	return &Repairs{now: now, made: made, things: map[string]*repaired{}}
}

// Made records the repair of a thing.
func (r *Repairs) Made(thing string) {
	r.mu.Lock()
	r.of(thing).repairs.Add(r.now())
	r.mu.Unlock()
	r.made(thing)
}

// Ensured records that a thing has the desired state, and whether it had to be changed. A change is a repair if the desired state is the same as the last
// time.
func (r *Repairs) Ensured(thing, desired string, changed bool) {
	r.mu.Lock()
	of := r.of(thing)
	repair := changed && of.known && of.desired == desired
	of.desired, of.known = desired, true
	r.mu.Unlock()
	if repair {
		r.Made(thing)
	}
}

// Setting returns a function that records the result of setting a thing to the desired state (whether it had to be changed, and an error), and returns the
// error: repairs.Setting("the routes of tun0", routes)(links.SetRoutes(...)).
func (r *Repairs) Setting(thing string, desired ...any) func(changed bool, err error) error {
	return func(changed bool, err error) error {
		if err == nil {
			r.Ensured(thing, fmt.Sprint(desired...), changed)
		}
		return err
	}
}

// of returns the state of a thing. r.mu must be held.
func (r *Repairs) of(thing string) *repaired {
	if r.things[thing] == nil {
		r.things[thing] = &repaired{}
	}
	return r.things[thing]
}

// Fights returns the current fights, sorted by name.
func (r *Repairs) Fights() []Fight {
	r.mu.Lock()
	defer r.mu.Unlock()
	now := r.now()
	var out []Fight
	for thing, of := range r.things {
		if n := of.repairs.Fought(now); n > 0 {
			out = append(out, Fight{thing, n})
		}
		if !of.known && of.repairs.Over(now) {
			delete(r.things, thing)
		}
	}
	slices.SortFunc(out, func(a, b Fight) int { return strings.Compare(a.Thing, b.Thing) })
	return out
}

// Problem returns an error if there are fights; nil otherwise.
func (r *Repairs) Problem() error {
	var clauses []string
	for _, f := range r.Fights() {
		clauses = append(clauses, fmt.Sprintf("%s (%d times or more)", f.Thing, f.Number))
	}
	if len(clauses) == 0 {
		return nil
	}
	return fmt.Errorf("a third party changes repeatedly what the agent restores: %s; stop the program that changes it", phrase.Clauses(clauses, maxFights))
}
