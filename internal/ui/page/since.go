package page

import (
	"maps"
	"reflect"
	"slices"

	"github.com/cluster-network-operator/cno/internal/nodestate"
)

// NodeChanges are the changes from an earlier Nodes to a later one.
type NodeChanges struct {
	// Changed are the new or different rows, Removed the names of removed nodes.
	Changed []Node                  `json:"changed"`
	Removed []string                `json:"removed"`
	Pools   []Pool                  `json:"pools"`
	Counts  map[nodestate.State]int `json:"counts"`
	Notes   []string                `json:"notes,omitempty"`

	same bool
}

// Empty reports whether nothing has changed.
func (c NodeChanges) Empty() bool { return c.same && len(c.Changed) == 0 && len(c.Removed) == 0 }

// Since returns the changes since before. Both are ordered by name, as Source.Nodes returns them.
func (p Nodes) Since(before Nodes) NodeChanges {
	c := NodeChanges{Changed: []Node{}, Removed: []string{}, Pools: p.Pools, Counts: p.Counts, Notes: p.Notes,
		same: slices.Equal(p.Pools, before.Pools) && maps.Equal(p.Counts, before.Counts) && slices.Equal(p.Notes, before.Notes)}
	i, j := 0, 0
	for i < len(p.Nodes) || j < len(before.Nodes) {
		switch {
		case j == len(before.Nodes) || i < len(p.Nodes) && p.Nodes[i].Name < before.Nodes[j].Name:
			c.Changed = append(c.Changed, p.Nodes[i])
			i++
		case i == len(p.Nodes) || p.Nodes[i].Name > before.Nodes[j].Name:
			c.Removed = append(c.Removed, before.Nodes[j].Name)
			j++
		default:
			if !reflect.DeepEqual(p.Nodes[i], before.Nodes[j]) {
				c.Changed = append(c.Changed, p.Nodes[i])
			}
			i, j = i+1, j+1
		}
	}
	return c
}
