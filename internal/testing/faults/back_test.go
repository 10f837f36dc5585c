package faults_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/cluster-network-operator/cno/internal/applied"
	"github.com/cluster-network-operator/cno/internal/plan"
)

// TestOperatorKilledDuringRepeatedChangesConverges removes kube-proxy, deploys it again, and so on,
// and kills an operator after none of its writes on either way, then in one cluster after two, four..., in another one after one, three..., on
// one way and the other in turn. Unlike after an install there is a history, and what was deleted may still be on its way out.
func TestOperatorKilledDuringRepeatedChangesConverges(t *testing.T) {
	t.Parallel()
	for begin, which := range []string{"even", "odd"} {
		t.Run(which, func(t *testing.T) {
			t.Parallel()
			newCluster(t).backAndForth(begin)
		})
	}
}

// backAndForth kills operators after every other write from a first one on, until none is killed in either direction.
func (c *cluster) backAndForth(begin int) {
	sides := []func(*spec){
		func(s *spec) { s.DeployKubeProxy, s.LogLevel = new(true), "Normal" },
		func(s *spec) { s.DeployKubeProxy, s.LogLevel = new(false), "Debug" },
	}
	c.create(newNetwork())
	_, p := c.undisturbed()
	want := make([]map[string]string, len(sides))
	for _, side := range []int{1, 0} {
		c.edit(sides[side])
		c.finishes(p, "an undisturbed operator goes there")
		if side == 1 {
			// On a busy machine the operator pauses between its record and what it removes.
			c.eventually("nothing of kube-proxy is left", func() string { return leftOf("kube-proxy", c.installed()) })
		}
		want[side] = c.installed()
	}
	alive := 0 // the last operators that did not die
	for n := 0; alive < len(sides); n++ {
		c.stop(p)
		from, to, k := n%2, (n+1)%2, max(0, begin+2*(n-1))
		c.edit(sides[to])
		var killed bool
		if p, killed = c.succeed(k, want[from], want[to]); killed {
			alive = 0
		} else {
			alive++
		}
		// An install and the way to either side were the first three.
		c.historyReaches(fmt.Sprintf("death after write %d", k), 4+n)
	}
}

// historyReaches waits until the history reports revisions up to a number as it does when no operator is killed: each went to the other
// side than the one before, was the next one, and was seen to work.
func (c *cluster) historyReaches(after string, last int) {
	c.Helper()
	var want []string
	for number := last - applied.MaxRevisions + 1; number <= last; number++ {
		if number > 1 {
			want = append(want, fmt.Sprintf("%d config healthy kube-proxy: %t", number, number%2 == 1))
		}
	}
	c.eventually("after "+after+" the history is as without it", func() string {
		history, err := applied.DecodeHistory(c.configMap(applied.HistoryConfigMapName))
		if err != nil {
			return err.Error()
		}
		var have []string
		for _, r := range history {
			if r.Number == 1 {
				continue
			}
			s, err := r.Snapshot()
			if err != nil {
				return err.Error()
			}
			have = append(have, fmt.Sprintf("%d %s %s kube-proxy: %t", r.Number, r.Kind, r.Outcome, *s.Spec().DeployKubeProxy))
		}
		return cmp.Diff(want, have)
	})
}

// leftOf returns the name of an object that has a text in its name, or in the inventory.
func leftOf(text string, installed map[string]string) string {
	for name, object := range installed {
		if strings.Contains(name, text) || strings.Contains(name, plan.InventoryName) && strings.Contains(object, text) {
			return name
		}
	}
	return ""
}
