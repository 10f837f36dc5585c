package mtumigration

import (
	"strings"
	"testing"

	"github.com/cluster-network-operator/cno/internal/facts"
	"github.com/cluster-network-operator/cno/internal/status"
)

// TestMigrationNamesItsPhaseAndPendingNodes goes through the phases with two nodes.
func TestMigrationNamesItsPhaseAndPendingNodes(t *testing.T) {
	steady := func(step, mtu int) State { return State{MTU: mtu, Step: step} }
	between := State{MTU: 1450, Step: 1, RoutableMTU: 1400}
	at := func(step, mtu int) *Report { return &Report{Step: step, MTU: mtu, Ready: true} }
	gone := Change{From: 1450, To: 1400, Announced: true}
	back := Change{From: 1400, To: 1450}
	for _, tc := range []struct {
		why      string
		change   Change
		desired  State
		a, b     *Report
		notReady bool
		done     bool
		reason   string
		message  []string
	}{
		{"a node is not Ready", gone, State{MTU: 1450}, at(0, 1450), at(0, 1450), true, false, ReasonPreflight, []string{"from 1450 to 1400 (0 %)", "1 of 2 nodes are done: node b is not Ready"}},
		{"an agent is silent", gone, State{MTU: 1450}, at(0, 1450), nil, false, false, ReasonPreflight, []string{"the agent of node b does not report"}},
		{"all may begin", gone, State{MTU: 1450}, at(0, 1450), at(0, 1450), false, true, ReasonPreflight, []string{"Preflight"}},
		{"half way between", gone, between, at(1, 1450), at(0, 1450), false, false, ReasonRouting, []string{"(30 %)", "take packets of 1450 bytes, and send at most 1400", "node b still has MTU 1450"}},
		{"one has finished", gone, steady(2, 1400), at(2, 1400), at(1, 1450), false, false, ReasonFinishing, []string{"(75 %)", "get MTU 1400", "node b"}},
		{"all have", gone, steady(2, 1400), at(2, 1400), at(2, 1400), false, true, ReasonFinished, []string{"The MTU of all pods is 1400. Remove spec.migration; if spec.mtu is set, set it to 1400"}},
		{"the rollback", back, State{MTU: 1450, Step: 3, RoutableMTU: 1400}, at(3, 1450), at(2, 1400), false, false, ReasonRouting, []string{"spec.migration was removed: the MTU of pods goes back to 1450"}},
		{"the same MTU of another step does not count", gone, steady(4, 1400), at(2, 1400), at(4, 1400), false, false, ReasonFinishing, []string{"node a"}},
	} {
		t.Run(tc.why, func(t *testing.T) {
			progress, waiting := Progress(tc.desired, map[string]Node{"a": {Ready: true, Report: tc.a}, "b": {Ready: !tc.notReady, Report: tc.b}})
			if progress.Done != tc.done || !progress.Active {
				t.Errorf("progress is %+v", progress)
			}
			if again := facts.DecodeMTUMigration(encoded(t, progress)); again != progress {
				t.Errorf("%+v is read back as %+v", progress, again)
			}
			found := Findings("Toy", "spec.mtu", tc.change, progress, 2, waiting)
			last := found[len(found)-1]
			if last.Effect != status.NotUpgradeable || last.Reason != tc.reason || (len(found) == 1) != (tc.reason == ReasonFinished) {
				t.Errorf("findings are %+v", found)
			}
			for _, words := range tc.message {
				if !strings.Contains(last.Message, words) {
					t.Errorf("%q lacks %q", last.Message, words)
				}
			}
		})
	}
}

func encoded(t *testing.T, p facts.MTUMigration) map[string]string {
	t.Helper()
	data, err := p.Encode()
	if err != nil {
		t.Fatal(err)
	}
	return data
}
