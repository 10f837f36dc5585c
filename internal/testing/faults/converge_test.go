package faults_test

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"math/rand/v2"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/controller-runtime/pkg/client"

	operatorv1 "github.com/cluster-network-operator/cno/api/operator/v1"
	"github.com/cluster-network-operator/cno/internal/apitest"
	"github.com/cluster-network-operator/cno/internal/applied"
	"github.com/cluster-network-operator/cno/internal/manifest"
	"github.com/cluster-network-operator/cno/internal/testing/faults"
)

// quiet is how long no call was made when an operator has nothing more to do.
const quiet = 300 * time.Millisecond

// undisturbed returns the state of a cluster whose operator nothing happens to, and the operator, which runs.
func (c *cluster) undisturbed() (map[string]string, *process) {
	c.Helper()
	p := c.start(faults.NewLine(nil))
	c.finishes(p, "an undisturbed operator comes to an end")
	return c.installed(), p
}

// busy returns what an operator still has to do, or nothing.
func (c *cluster) busy(p *process) string {
	if n := c.network(); n.Generation == 0 || n.Status.ObservedGeneration != n.Generation {
		return fmt.Sprintf("the status is of generation %d, the network of %d", n.Status.ObservedGeneration, n.Generation)
	}
	if missing := c.missingFromRecord(); missing != "" {
		return missing
	}
	if idle := p.line.Idle(); idle <= quiet {
		return fmt.Sprintf("the last call was made %s ago", idle)
	}
	return ""
}

// missingFromRecord returns what the record lacks of the specification of the network, or nothing if all of it is applied. The record
// may have more: what was left to the defaults.
func (c *cluster) missingFromRecord() string {
	record, err := applied.Decode(c.configMap(applied.ConfigMapName))
	if err != nil {
		return err.Error()
	}
	if record.State != applied.StateApplied {
		return "the state in the record is " + string(record.State)
	}
	asked, err := applied.NewSnapshot(&c.network().Spec)
	if err != nil {
		return err.Error()
	}
	return lacks("spec", tree(asked), tree(record.Applied))
}

// tree is a specification as a tree of JSON values.
func tree(s applied.Snapshot) any {
	var v any
	if err := json.Unmarshal([]byte(s.String()), &v); err != nil {
		return err.Error()
	}
	return v
}

// lacks names a desired value that is missing, or nothing. An empty value is always present.
func lacks(path string, want, have any) string {
	switch want := want.(type) {
	case nil:
	case map[string]any:
		existing, _ := have.(map[string]any)
		for key, value := range want {
			if missing := lacks(path+"."+key, value, existing[key]); missing != "" {
				return missing
			}
		}
	case []any:
		existing, _ := have.([]any)
		for i, value := range want {
			if i >= len(existing) {
				return fmt.Sprintf("%s[%d] is not recorded", path, i)
			}
			if missing := lacks(fmt.Sprintf("%s[%d]", path, i), value, existing[i]); missing != "" {
				return missing
			}
		}
	default:
		if want != "" && want != have {
			return fmt.Sprintf("%s is recorded as %v, and shall be %v", path, have, want)
		}
	}
	return ""
}

// finishes waits until an operator has nothing more to do.
func (c *cluster) finishes(p *process, what string) {
	c.Helper()
	c.eventually(what, func() string { return c.busy(p) })
}

func (c *cluster) network() *operatorv1.Network {
	n := &operatorv1.Network{}
	_ = c.Client.Get(context.Background(), client.ObjectKey{Name: operatorv1.NetworkName}, n)
	return n
}

// lull is how long no call was made when it is worth to look what an operator has done.
const lull = 50 * time.Millisecond

// reaches waits until an operator has made the state of the cluster what it is without faults.
func (c *cluster) reaches(p *process, want map[string]string, after string) {
	c.Helper()
	c.eventually("after "+after+" the state is that of an undisturbed operator", func() string {
		// Listing everything costs more than a look at the line and the record.
		if idle := p.line.Idle(); idle < lull {
			return fmt.Sprintf("the last call was made %s ago", idle)
		}
		if missing := c.missingFromRecord(); missing != "" {
			return missing
		}
		return cmp.Diff(want, c.installed())
	})
}

// TestEachRequestOfAnInstallFailsOnce has all calls of an install fail the first time that they are made, in every way that
// calls fail.
func TestEachRequestOfAnInstallFailsOnce(t *testing.T) {
	t.Parallel()
	for _, fault := range []faults.Fault{faults.Error, faults.Conflict, faults.Busy, faults.Reset, faults.Lost} {
		t.Run(fault.String(), func(t *testing.T) {
			t.Parallel()
			c := newCluster(t)
			c.create(withFurtherNetworks())
			want, p := c.undisturbed()
			c.stop(p)
			c.clear()
			c.create(withFurtherNetworks())
			p = c.startAgain(faults.NewLine(faults.EachOnce(fault)))
			c.reaches(p, want, "each call failed once: "+fault.String())
			t.Logf("%d calls", len(p.line.Calls()))
		})
	}
}

// TestOneRequestOfAnInstallFails has one call of an install fail alone: every twelfth, in turn in another way. That all of them
// may fail is for TestEachRequestOfAnInstallFailsOnce.
func TestOneRequestOfAnInstallFails(t *testing.T) {
	t.Parallel()
	ways := []faults.Fault{faults.Error, faults.Conflict, faults.Reset, faults.Lost}
	c := newCluster(t)
	c.create(newNetwork())
	want, p := c.undisturbed()
	for n := 1; ; n += 12 {
		c.stop(p)
		c.clear()
		c.create(newNetwork())
		way := ways[n%len(ways)]
		p = c.startAgain(faults.NewLine(func(call faults.Call) faults.Fault {
			if call.Number == n {
				return way
			}
			return faults.None
		}))
		c.reaches(p, want, fmt.Sprintf("call %d: %s", n, way))
		if calls := p.line.Calls(); len(calls) < n {
			t.Logf("every twelfth of %d calls failed", len(calls))
			return
		}
	}
}

// apart is the number of writes between two kills. The first one is another each time, so that runs cover all writes.
const apart = 8

var first = flag.Int("first-death", -1, "after how many writes the first operator dies; below 0 is a random number")

// firstDeath returns after how many writes the first operator is killed, if the next ones are killed at distances of apart.
func (c *cluster) firstDeath(apart int) int {
	k := *first
	if k < 0 {
		k = rand.IntN(apart)
	}
	c.Logf("operators are killed after %d writes, %d, %d…; the flag -first-death=%[1]d repeats this", k, k+apart, k+2*apart)
	return k
}

// TestOperatorKilledDuringAnInstallConverges kills an operator after every eighth of its writes, with further networks
// of pods after every 24th, and looks at what it has left and at where the next one ends. Package operator's own test does so after each, with a
// smaller network.
func TestOperatorKilledDuringAnInstallConverges(t *testing.T) {
	t.Parallel()
	for name, row := range map[string]struct {
		network func() *operatorv1.Network
		apart   int
	}{
		"the network alone": {newNetwork, apart},
		"further networks":  {withFurtherNetworks, 3 * apart},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := newCluster(t)
			c.create(row.network())
			want, p := c.undisturbed()
			for k, killed := c.firstDeath(row.apart), true; killed; k += row.apart {
				c.stop(p)
				c.clear()
				c.create(row.network())
				p, killed = c.succeed(k, nil, want)
			}
		})
	}
}

// TestOperatorKilledDuringAChangeConverges removes kube-proxy and changes flannel, and kills an
// operator after every eighth of its writes.
func TestOperatorKilledDuringAChangeConverges(t *testing.T) {
	t.Parallel()
	c := newCluster(t)
	install := func() { c.create(newNetwork()) }
	change := func() { c.edit(func(s *spec) { s.DeployKubeProxy, s.LogLevel = new(false), "Debug" }) }
	before := c.advanceTo(install)
	change()
	want, p := c.undisturbed()
	if len(want) >= len(before) {
		t.Fatalf("%d objects before, and %d without kube-proxy", len(before), len(want))
	}
	for k, killed := c.firstDeath(apart), true; killed; k += apart {
		c.stop(p)
		c.clear()
		before = c.advanceTo(install)
		change()
		p, killed = c.succeed(k, before, want)
	}
}

// succeed has an operator die after k writes and another one take its place, which it returns, and whether the first did
// die before it had nothing more to do. before and want are the states without and with what is asked for.
func (c *cluster) succeed(k int, before, want map[string]string) (heir *process, killed bool) {
	c.Helper()
	victim := c.start(faults.NewLine(faults.DeadAfter(k)))
	c.eventually("the victim is killed, or has nothing more to do", func() string {
		killed = victim.line.Writes() > k || k > 0 && victim.line.Writes() == k
		if killed {
			return ""
		}
		return c.busy(victim)
	})
	_ = victim.end() // it reports that it could not reach anything
	after := fmt.Sprintf("death after write %d", k)
	c.recordIsTrue(before, want, after)
	heir = c.start(faults.NewLine(nil))
	c.reaches(heir, want, after)
	if !killed {
		c.Logf("no more than %d writes", k)
	}
	return heir, killed
}

// advanceTo has an undisturbed operator perform a step, and returns the state after it.
func (c *cluster) advanceTo(step func()) map[string]string {
	c.Helper()
	step()
	state, p := c.undisturbed()
	c.stop(p)
	return state
}

// recordIsTrue checks that the record claims no more than what is true: what it has as applied is
// applied completely and nothing else is; before that, it has the intent.
func (c *cluster) recordIsTrue(before, after map[string]string, when string) {
	c.Helper()
	data := c.configMap(applied.ConfigMapName)
	live := c.installed()
	same := func(state map[string]string) bool {
		key := "configmaps " + operatorNamespace + "/" + applied.ConfigMapName
		return state[key] != "" && state[key] == live[key]
	}
	switch applied.State(data["state"]) {
	case applied.StateApplied:
		want := after
		if same(before) {
			want = before
		}
		existing := operands(live)
		for key, text := range operands(want) {
			if diff := cmp.Diff(text, existing[key]); diff != "" {
				c.Errorf("%s: the record has it as applied, and of %s: -wanted +existing:\n%s", when, key, diff)
			}
		}
		for key := range existing { // what is no longer wanted is deleted when the rest works
			if want[key] == "" && before[key] == "" {
				c.Errorf("%s: %s is of neither configuration", when, key)
			}
		}
	case applied.StateIntent:
		if data["intent"] == "" {
			c.Errorf("%s: the record has an intent without its content", when)
		}
		if diff := cmp.Diff(operands(before), operands(live)); diff != "" {
			c.Errorf("%s: the record has no change yet; -before +existing:\n%s", when, diff)
		}
	case applied.StateApplying:
		if data["intent"] == "" {
			c.Errorf("%s: the record is applying without its content", when)
		}
		// What an object looks like may change once more while others come.
		for key := range operands(live) {
			if before[key] == "" && after[key] == "" {
				c.Errorf("%s: %s is of neither configuration", when, key)
			}
		}
	default:
		if diff := cmp.Diff(operands(before), operands(live)); diff != "" {
			c.Errorf("%s: there is no record (%q), and objects: -before +there\n%s", when, data["state"], diff)
		}
	}
}

// step finds what differs while a DaemonSet is rolled out over the nodes in steps.
var step = regexp.MustCompile(`"maxUnavailable": [^\n]+|"[^"]*desired-hash": "[0-9a-f]+"`)

// operands returns the objects that the operator was asked for.
func operands(state map[string]string) map[string]string {
	wanted := map[string]string{}
	for key, text := range state {
		if strings.Contains(text, manifest.AnnotationHash) {
			if strings.HasPrefix(key, "daemonsets") {
				text = step.ReplaceAllString(text, "…")
			}
			wanted[key] = text
		}
	}
	return wanted
}

// edit changes the specification of the network.
func (c *cluster) edit(change func(*operatorv1.NetworkSpec)) {
	c.Helper()
	n := c.network()
	apitest.Change(c, c.Client, n, func() { change(&n.Spec) })
}
