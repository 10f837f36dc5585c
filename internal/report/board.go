// Package report collects the findings of controllers. Each controller replaces its own entry on the board after a
// reconcile; the status controller reads the board and publishes the conditions. So only that controller writes
// statuses, and unchanged findings cause no request.
package report

import (
	"maps"
	"reflect"
	"slices"
	"sync"

	"github.com/cluster-network-operator/cno/internal/status"
)

// Rollout is the report of the network controller about the rollout.
type Rollout struct {
	// Generation is that of the observed Network.
	Generation int64
	// Components are the rendered components, in any order.
	Components []string
	// Wanted are the rendered workloads.
	Wanted []status.Workload
	// Related are the objects that are relevant for diagnosis.
	Related []Reference
	// Applied is true once all rendered objects have been applied.
	Applied bool
	// MTU is the applied MTU of pods in bytes; 0 if the network does not set it, or nothing was applied yet.
	MTU int
}

// Reference identifies an object or, with an empty Name, all objects of a kind.
type Reference struct{ Group, Resource, Namespace, Name string }

// Board collects the findings of controllers. The zero value is empty and ready to use. It is safe for concurrent use.
type Board struct {
	mu        sync.Mutex
	findings  map[string][]status.Finding
	awaited   map[string]bool
	rollout   *Rollout
	stalled   string
	changed   []func()
	onStalled []func()
}

// Await registers a controller whose first report is pending: after a start, a missing report does not mean that there
// are no findings.
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

// Awaited returns the sorted names of the controllers whose first report is pending.
func (b *Board) Awaited() []string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return slices.Sorted(maps.Keys(b.awaited))
}

// Report replaces the findings of a controller.
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

// SetRollout replaces the rollout of the network controller.
func (b *Board) SetRollout(r Rollout) {
	b.mu.Lock()
	same := b.rollout != nil && reflect.DeepEqual(*b.rollout, r)
	b.rollout = &r
	b.mu.Unlock()
	if !same {
		b.notify()
	}
}

// Snapshot returns all findings, ordered by the name of the controller, and the rollout; ready is false until the
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

// SetStalled replaces the description of stalled rollouts, a sentence; empty if there are none.
func (b *Board) SetStalled(what string) {
	b.mu.Lock()
	same := b.stalled == what
	b.stalled = what
	listeners := slices.Clone(b.onStalled)
	b.mu.Unlock()
	if same {
		return
	}
	for _, f := range listeners {
		f()
	}
}

// OnStalled registers a function that is called whenever SetStalled changes the description. f must not block.
func (b *Board) OnStalled(f func()) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.onStalled = append(b.onStalled, f)
}

// Stalled returns the description of stalled rollouts.
func (b *Board) Stalled() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.stalled
}

// OnChange registers a function that is called after every change. f must not block, and may call Snapshot.
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
