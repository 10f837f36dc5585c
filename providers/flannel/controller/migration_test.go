package controller

import (
	"strings"
	"testing"

	"github.com/cluster-network-operator/cno/internal/etcdcluster/etcdmanager"
	"github.com/cluster-network-operator/cno/internal/facts"
	"github.com/cluster-network-operator/cno/internal/status"
	"github.com/cluster-network-operator/cno/providers/flannel/agentconfig"
	"github.com/cluster-network-operator/cno/providers/flannel/record"
)

// TestAMigrationNamesItsPhaseAndWhomItWaitsFor goes through the phases with two nodes.
func TestAMigrationNamesItsPhaseAndWhomItWaitsFor(t *testing.T) {
	steady := func(step, mtu int) agentconfig.Config {
		return agentconfig.Config{MTU: mtu, Migration: &agentconfig.MTUMigration{Step: step}}
	}
	between := agentconfig.Config{MTU: 1450, Migration: &agentconfig.MTUMigration{Step: 1, RoutableMTU: 1400}}
	at := func(step, mtu int) *agentconfig.AgentStatus {
		return &agentconfig.AgentStatus{Step: step, MTU: mtu, Ready: true}
	}
	gone := record.Migration{From: 1450, To: 1400, Announced: true}
	back := record.Migration{From: 1400, To: 1450}
	for _, tc := range []struct {
		why      string
		change   record.Migration
		told     agentconfig.Config
		a, b     *agentconfig.AgentStatus
		notReady bool
		done     bool
		reason   string
		says     []string
	}{
		{"a node is not Ready", gone, agentconfig.Config{MTU: 1450}, at(0, 1450), at(0, 1450), true, false, reasonPreflight, []string{"from 1450 to 1400 (0 %)", "1 of 2 nodes are done: node b is not Ready"}},
		{"an agent is silent", gone, agentconfig.Config{MTU: 1450}, at(0, 1450), nil, false, false, reasonPreflight, []string{"the agent of node b does not report"}},
		{"all may begin", gone, agentconfig.Config{MTU: 1450}, at(0, 1450), at(0, 1450), false, true, reasonPreflight, []string{"Preflight"}},
		{"half way between", gone, between, at(1, 1450), at(0, 1450), false, false, reasonRouting, []string{"(30 %)", "take packets of 1450 bytes, and send at most 1400", "node b still has MTU 1450"}},
		{"one has finished", gone, steady(2, 1400), at(2, 1400), at(1, 1450), false, false, reasonFinishing, []string{"(75 %)", "get MTU 1400", "node b"}},
		{"all have", gone, steady(2, 1400), at(2, 1400), at(2, 1400), false, true, reasonFinished, []string{"The MTU of all pods is 1400. Remove spec.migration"}},
		{"the way back", back, agentconfig.Config{MTU: 1450, Migration: &agentconfig.MTUMigration{Step: 3, RoutableMTU: 1400}}, at(3, 1450), at(2, 1400), false, false, reasonRouting, []string{"spec.migration was removed: the MTU of pods goes back to 1450"}},
		{"the same MTU of another step does not count", gone, steady(4, 1400), at(2, 1400), at(4, 1400), false, false, reasonFinishing, []string{"node a"}},
	} {
		t.Run(tc.why, func(t *testing.T) {
			s := store{agents: map[string]agent{}}
			for name, a := range map[string]*agentconfig.AgentStatus{"a": tc.a, "b": tc.b} {
				if a != nil {
					s.agents[name] = agent{AgentStatus: *a}
				}
			}
			progress, waiting := progressOf(tc.told, s, map[string]etcdmanager.Node{"a": {Ready: true}, "b": {Ready: !tc.notReady}})
			if progress.Done != tc.done || !progress.Active {
				t.Errorf("progress is %+v", progress)
			}
			if again := facts.DecodeMTUMigration(encoded(t, progress)); again != progress {
				t.Errorf("%+v is read back as %+v", progress, again)
			}
			found := migrationFindings(tc.change, progress, 2, waiting)
			last := found[len(found)-1]
			if last.Effect != status.NotUpgradeable || last.Reason != tc.reason || (len(found) == 1) != (tc.reason == reasonFinished) {
				t.Errorf("findings are %+v", found)
			}
			for _, words := range tc.says {
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
