package ovsdb

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
)

// randomRows are ports, all in a group that is large enough to be written by members, balancers, and a group of them in a table without
// external_ids.
func randomRows(random *rand.Rand) map[Ref]Desired {
	rows := map[Ref]Desired{}
	add := func(w Desired) Ref { rows[w.Ref] = w; return w.Ref }
	all, balancers := Set{}, Set{}
	for n := range 3 {
		var names []string
		for p := range 20 {
			if random.IntN(5) == 0 {
				continue
			}
			name := fmt.Sprintf("p%d-%d", n, p)
			names = append(names, name)
			all = append(all, add(switchPort(name, fmt.Sprintf("0a:58:0a:00:00:%02x", random.IntN(3)))))
		}
		add(logicalSwitch(fmt.Sprintf("n%d", n), names...))
		if random.IntN(2) == 0 {
			vips := Map{"10.0.0.1:80": fmt.Sprintf("10.1.0.%d:80", 1+random.IntN(3))}
			balancers = append(balancers, add(Desired{Ref{"Load_Balancer", fmt.Sprintf("lb%d", n)}, map[string]any{"name": "x", "vips": vips}}))
		}
	}
	random.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
	add(Desired{Ref{"Port_Group", "all"}, map[string]any{"name": "all", "ports": all}})
	add(Desired{Ref{"Load_Balancer_Group", "all"}, map[string]any{"load_balancer": balancers}})
	return rows
}

func list(rows map[Ref]Desired) []Desired {
	var out []Desired
	for _, w := range rows {
		out = append(out, w)
	}
	return out
}

// TestChangesProduceTheSameStateAsPlans goes from one random set of rows to another; after each a plan has nothing left to do.
func TestChangesProduceTheSameStateAsPlans(t *testing.T) {
	w := newWorld(t)
	random := rand.New(rand.NewPCG(3, 4))
	l := NewLedger(w.schema, "master")
	carry := func(tx Transaction, err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		tx.Commit(w.commit(tx.Operations...))
	}
	present := randomRows(random)
	carry(l.Replace(list(present), w.snapshot()))
	for range 30 {
		next := randomRows(random)
		var removed []Ref
		for r := range present {
			if _, keep := next[r]; !keep {
				removed = append(removed, r)
			}
		}
		carry(l.Change(list(next), removed))
		if left := w.plan("master", list(next)); len(left) > 0 {
			t.Fatalf("after the change there is left %v", left)
		}
		if tx, err := l.Change(list(next), nil); err != nil || len(tx.Operations) > 0 || l.Len() != len(next) {
			t.Fatalf("nothing changed, and %v, %v; %d rows of %d", tx.Operations, err, l.Len(), len(next))
		}
		present = next
	}
	carry(l.Replace(nil, w.snapshot()))
}

func TestChangeNamesWhatDoesNotExist(t *testing.T) {
	w := newWorld(t)
	l := NewLedger(w.schema, "master")
	_, err := l.Change([]Desired{logicalSwitch("n", "a"), {Ref{"Ship", "x"}, nil}}, nil)
	if err == nil || !strings.Contains(err.Error(), `it refers to Logical_Switch_Port "a", which does not exist`) || !strings.Contains(err.Error(), `Ship "x"`) {
		t.Errorf("the error is %v", err)
	}
}
