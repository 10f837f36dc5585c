// Package report is where loops say how things stand. Each loop keeps its own entry on the board, and replaces
// it whenever it has looked; the status loop reads the board and publishes the conditions. So no one but that
// loop writes a status, and a loop that has nothing new to say causes no request.
package report

import (
	"maps"
	"reflect"
	"slices"
	"sync"

	"github.com/cluster-network-operator/cno/internal/status"
)

// Rollout is what the network controller says about what it rolls out.
type Rollout struct {
	// Generation of the Network that it has looked at.
	Generation int64
	// Components are the parts that were rendered, in any order.
	Components []string
	// Wanted are the workloads that were rendered.
	Wanted []status.Workload
	// Related are the objects that a person who looks into the network should look at.
	Related []Reference
	// Applied is true once everything that was rendered has been applied.
	Applied bool
	// MTU is that of pods in bytes, in what was applied last; 0 if the network does not say, or nothing was applied yet.
	MTU int
}

// Reference names an object or, with an empty Name, all of a kind.
type Reference struct{ Group, Resource, Namespace, Name string }

// Board collects what the loops say. Its zero value is empty and ready. Its methods may be called at the same
// time.
type Board struct {
	mu       sync.Mutex
	findings map[string][]status.Finding
	awaited  map[string]bool
	rollout  *Rollout
	hung     string
	changed  []func()
	hangs    []func()
}

// Await makes the board wait for a loop's first report: after a start, the silence of a loop does not mean
// that all is well.
func (b *Board) Await(loop string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.awaited == nil {
		b.awaited = map[string]bool{}
	}
	if _, spoken := b.findings[loop]; !spoken {
		b.awaited[loop] = true
	}
}

// Awaited returns the names of the loops that have been silent so far, in order.
func (b *Board) Awaited() []string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return slices.Sorted(maps.Keys(b.awaited))
}

// Report replaces everything that a loop has said by findings; none means that all is well.
func (b *Board) Report(loop string, findings ...status.Finding) {
	b.mu.Lock()
	same := slices.Equal(b.findings[loop], findings) && !b.awaited[loop]
	delete(b.awaited, loop)
	if b.findings == nil {
		b.findings = map[string][]status.Finding{}
	}
	b.findings[loop] = slices.Clone(findings)
	b.mu.Unlock()
	if !same {
		b.notify()
	}
}

// SetRollout replaces what the network controller rolls out.
func (b *Board) SetRollout(r Rollout) {
	b.mu.Lock()
	same := b.rollout != nil && reflect.DeepEqual(*b.rollout, r)
	b.rollout = &r
	b.mu.Unlock()
	if !same {
		b.notify()
	}
}

// Snapshot returns all findings, ordered by the name of the loop, and the rollout; ready is false until the
// network controller has set one.
func (b *Board) Snapshot() (findings []status.Finding, rollout Rollout, ready bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, loop := range slices.Sorted(maps.Keys(b.findings)) {
		findings = append(findings, b.findings[loop]...)
	}
	if b.rollout == nil {
		return findings, Rollout{}, false
	}
	return findings, *b.rollout, true
}

// SetHung replaces what the status loop says of rollouts that do not get further, in a sentence; empty if all do.
func (b *Board) SetHung(what string) {
	b.mu.Lock()
	same := b.hung == what
	b.hung = what
	listeners := slices.Clone(b.hangs)
	b.mu.Unlock()
	if same {
		return
	}
	for _, f := range listeners {
		f()
	}
}

// OnHung has f called whenever SetHung says something new. f must not block.
func (b *Board) OnHung(f func()) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.hangs = append(b.hangs, f)
}

// Hung is what SetHung was told last.
func (b *Board) Hung() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.hung
}

// OnChange has f called after every change. f must not block, and may call Snapshot.
func (b *Board) OnChange(f func()) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.changed = append(b.changed, f)
}

func (b *Board) notify() {
	b.mu.Lock()
	listeners := slices.Clone(b.changed)
	b.mu.Unlock()
	for _, f := range listeners {
		f()
	}
}
