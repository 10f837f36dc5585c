package fightevents

import (
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/fields"

	"github.com/cluster-network-operator/cno/internal/fight"
)

// pastAfter is the age at which an event that is not renewed expires. It allows for two lost renewals.
const pastAfter = 3 * renewEvery

// skew is the maximum time by which the clock of a node may be ahead of the operator's. Read ignores events with later times.
const skew = time.Minute

// Selector selects the events about fights on nodes.
func Selector() fields.Selector {
	return fields.Set{"reason": fight.Reason, "involvedObject.kind": "Node"}.AsSelector()
}

// NodeFight is a fight that an event reports.
type NodeFight struct {
	Node string
	// Note is a sentence, Number how many repairs there were at least.
	Note   string
	Number int
	// Last is the time of the last repair that was reported.
	Last time.Time
	// Until is when it is over unless its event is renewed.
	Until time.Time
}

// Read returns the fights that current events report. It assumes that the clocks of nodes and of the operator differ by less than a minute.
func Read(events []corev1.Event, now time.Time) []NodeFight {
	var out []NodeFight
	for i := range events {
		e := &events[i]
		last, number := e.EventTime.Time, fight.After
		if e.Series != nil {
			last, number = e.Series.LastObservedTime.Time, int(e.Series.Count)
		}
		f := NodeFight{Node: e.InvolvedObject.Name, Note: e.Message, Number: number, Last: last, Until: last.Add(pastAfter)}
		if e.Reason == fight.Reason && e.InvolvedObject.Kind == "Node" && now.Before(f.Until) && last.Sub(now) < skew {
			out = append(out, f)
		}
	}
	return out
}

// ByNode returns the sentences of fights by node, sorted and without duplicates.
func ByNode(fights []NodeFight) map[string][]string {
	notes := map[string][]string{}
	for _, f := range fights {
		notes[f.Node] = append(notes[f.Node], f.Note)
	}
	for node, all := range notes {
		slices.Sort(all)
		notes[node] = slices.Compact(all)
	}
	return notes
}
