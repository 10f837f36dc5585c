package mtumigration

import (
	"math/rand/v2"
	"testing"

	osv1 "github.com/openshift/api/operator/v1"

	operatorv1 "github.com/cluster-network-operator/cno/api/operator/v1"
	"github.com/cluster-network-operator/cno/internal/facts"
)

// world is a cluster in which the MTU is changed: what the agents' configuration has, what each has done of it, and what was last
// reported of that.
type world struct {
	t    *testing.T
	spec operatorv1.NetworkSpec
	// configured is the MTU of the filled specification.
	configured uint32
	published  State
	nodes      []State
	progress   facts.MTUMigration
}

func newWorld(t *testing.T, nodes int) *world {
	w := &world{t: t, configured: 1450, published: State{MTU: 1450}}
	for range nodes {
		w.nodes = append(w.nodes, w.published)
	}
	return w
}

func (w *world) announce(from, to uint32) {
	w.spec.Migration = &osv1.NetworkMigration{MTU: &osv1.MTUMigration{Network: &osv1.MTUMigrationValues{From: new(from), To: new(to)}}}
}

// reconcile is that of the operator: it fills the specification, renders, and sets no status.
func (w *world) reconcile() {
	announced := Announced(&w.spec)
	if announced != nil {
		w.configured = Filled(*announced, w.configured, w.progress)
	}
	next, change := Next(&w.published, int(w.configured), announced, w.progress)
	if change == nil {
		w.progress = facts.MTUMigration{}
	}
	w.published = next
}

// restart has an agent apply its configuration.
func (w *world) restart(i int) {
	w.nodes[i] = w.published
	for a := range w.nodes {
		for b := range w.nodes {
			if longest(w.nodes[a]) > w.nodes[b].MTU {
				w.t.Fatalf("node %d sends %d to node %d that takes %d", a, longest(w.nodes[a]), b, w.nodes[b].MTU)
			}
		}
	}
}

// longest is the longest packet that a node's pods send.
func longest(s State) int {
	if s.RoutableMTU != 0 {
		return s.RoutableMTU
	}
	return s.MTU
}

// observe records whether all nodes have applied it.
func (w *world) observe() {
	p := facts.MTUMigration{Active: true, MTU: w.published.MTU, Step: w.published.Step, RoutableMTU: w.published.RoutableMTU, Done: true}
	for _, n := range w.nodes {
		p.Done = p.Done && n == w.published
	}
	w.progress = p
}

// settle reconciles until nothing changes.
func (w *world) settle() {
	for range 10 {
		w.reconcile()
		for i := range w.nodes {
			w.restart(i)
		}
		w.observe()
	}
	w.reconcile()
}

// TestMigrationAndRollbackAtEveryPhase ends in any phase, in both manners of going back, and the network is as before.
func TestMigrationAndRollbackAtEveryPhase(t *testing.T) {
	for _, to := range []uint32{1400, 8000} {
		for stop := range 14 {
			for _, swap := range []bool{false, true} {
				w := newWorld(t, 2)
				w.announce(1450, to)
				act := []func(){w.observe, w.reconcile, func() { w.restart(0) }, w.observe, w.reconcile, func() { w.restart(1) }, w.observe, w.reconcile, func() { w.restart(0) }, w.observe, w.reconcile, func() { w.restart(1) }, w.observe, w.reconcile}
				for _, do := range act[:stop] {
					do()
				}
				want := uint32(1450)
				if w.configured == to {
					t.Fatalf("finished after %d steps, before all nodes were", stop)
				}
				if w.spec.Migration = nil; swap {
					w.announce(to, 1450)
				}
				w.settle()
				if got := w.nodes[1].MTU; got != int(want) || w.configured != want || longest(w.nodes[0]) != got {
					t.Errorf("to %d, back after %d steps: nodes have %d", to, stop, got)
				}
			}
		}
	}
}

func TestMigrationFinishesAutomatically(t *testing.T) {
	for _, to := range []uint32{1400, 8000} {
		w := newWorld(t, 3)
		w.announce(1450, to)
		w.observe()
		w.settle()
		if w.configured != to {
			t.Fatalf("to %d: the specification has %d", to, w.configured)
		}
		w.spec.Migration = nil
		w.settle()
		if w.published.Step != 0 || w.published.MTU != int(to) || w.nodes[2].MTU != int(to) {
			t.Errorf("to %d: the agents have %+v at the end", to, w.published)
		}
	}
}

// TestNodesAlwaysAcceptPacketsOfTheirPeers has everything happen in any order: agents restart, the loop looks late, the operator
// passes, and users change their minds.
func TestNodesAlwaysAcceptPacketsOfTheirPeers(t *testing.T) {
	for seed := range uint64(3000) {
		r := rand.New(rand.NewPCG(seed, 1))
		w := newWorld(t, 3)
		others := []uint32{1400, 8000}
		other := others[r.IntN(2)]
		for range 80 {
			switch r.IntN(8) {
			case 0:
				w.observe()
			case 1, 2:
				w.reconcile()
			case 3, 4, 5:
				w.restart(r.IntN(len(w.nodes)))
			case 6:
				w.observe()
				w.reconcile()
			case 7:
				if r.IntN(3) > 0 {
					continue
				}
				now := w.configured
				if w.spec.Migration = nil; r.IntN(2) == 0 {
					w.announce(now, 1450+other-now)
				}
			}
		}
		w.settle()
	}
}
