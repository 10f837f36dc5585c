package status

import (
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	osv1 "github.com/openshift/api/operator/v1"
)

// documented returns a state's condition as the documentation writes it.
func (s State) documented() string {
	switch s.Effect {
	case Unavailable, NotUpgradeable:
		return string(s.Effect) + "=False"
	case Noted:
		return "Available=True"
	default:
		return string(s.Effect) + "=True"
	}
}

func documentation(t *testing.T) string {
	t.Helper()
	content, err := os.ReadFile("../../docs/status.md")
	if err != nil {
		t.Fatal(err)
	}
	return string(content)
}

// section returns what is below a heading, up to the next.
func section(t *testing.T, heading string) string {
	t.Helper()
	_, after, found := strings.Cut(documentation(t), "\n## "+heading+"\n")
	if !found {
		t.Fatalf("there is no section %q", heading)
	}
	text, _, _ := strings.Cut(after, "\n## ")
	return text
}

func TestStatesMatchTheDocumentation(t *testing.T) {
	var want []string
	for _, s := range states() {
		want = append(want, fmt.Sprintf("| %s | `%s` | %s |", s.documented(), s.Reason, s.When))
	}
	var got []string
	for line := range strings.Lines(section(t, "States of workloads and nodes")) {
		if strings.HasPrefix(line, "| ") && !strings.HasPrefix(line, "| condition |") {
			got = append(got, strings.TrimSpace(line))
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("docs/status.md (-code +documentation):\n%s", diff)
	}
}

func TestEveryReasonHasOneWayOutInCodeAndDocumentation(t *testing.T) {
	var got []WayOut
	for _, match := range regexp.MustCompile("(?m)^\\| `(\\w+)` \\| (.+) \\|$").FindAllStringSubmatch(section(t, "What to do"), -1) {
		got = append(got, WayOut{match[1], match[2]})
	}
	if diff := cmp.Diff(WayOuts(), got); diff != "" {
		t.Errorf("docs/status.md (-code +documentation):\n%s", diff)
	}
	known := map[string]bool{}
	for _, w := range WayOuts() {
		if known[w.Reason] {
			t.Errorf("%s appears twice", w.Reason)
		}
		known[w.Reason] = true
	}
	condition := ""
	for line := range strings.Lines(section(t, "Conditions that controllers report")) {
		cells := strings.Split(line, "|")
		if len(cells) < 4 {
			continue
		}
		if c := strings.TrimSpace(cells[1]); c != "" {
			condition = c
		}
		for _, reason := range regexp.MustCompile("`(\\w+)`").FindAllStringSubmatch(cells[2], -1) {
			if (condition == "Degraded=True" || condition == "Upgradeable=False") && !known[reason[1]] {
				t.Errorf("there is no way out of %s", reason[1])
			}
		}
	}
	for _, s := range states() {
		if s.Effect == Degraded && !known[s.Reason] {
			t.Errorf("there is no way out of %s", s.Reason)
		}
	}
}

func TestTheWayOutOfAStalledRolloutIsThatOfItsPods(t *testing.T) {
	for _, row := range []struct{ reason, message, want string }{
		{"RolloutHung", "rollout is not making progress: pod p on node n is in ImagePullBackOff State (image x)", "make the image available"},
		{"RolloutHung", "rollout is not making progress - last change then", "cno rollback"},
		{"FightDetected", "pod p is in ImagePullBackOff State", "stop the client"},
		{"NeverHeardOf", "", "cno status"},
	} {
		if got := WayOutOf(row.reason, row.message); !strings.Contains(got, row.want) {
			t.Errorf("%s: %s", row.reason, got)
		}
	}
}

func TestEveryControllerHasItsRowInTheDocumentation(t *testing.T) {
	var got []string
	for _, match := range regexp.MustCompile("(?m)^\\| `(\\w+)` \\|").FindAllStringSubmatch(section(t, "Other controllers"), -1) {
		got = append(got, match[1])
	}
	if diff := cmp.Diff(controllers[:], got); diff != "" {
		t.Errorf("docs/status.md (-code +documentation):\n%s", diff)
	}
}

// seen is the status of a Network in tools that use kstatus's rules for unknown kinds: the generation, then
// Stalled and Reconciling, then Ready. kubectl wait uses one condition.
func seen(generation, observed int64, conditions []osv1.OperatorCondition) string {
	is := map[string]osv1.ConditionStatus{}
	for _, c := range conditions {
		is[c.Type] = c.Status
	}
	switch {
	case generation != observed:
		return "InProgress"
	case is[stalled] == osv1.ConditionTrue:
		return "Failed"
	case is[reconciling] == osv1.ConditionTrue, is[ready] != osv1.ConditionTrue:
		return "InProgress"
	default:
		return "Current"
	}
}

func TestToolsUnderstandTheConditions(t *testing.T) {
	healthyCluster := Input{Now: now, Version: "v1", Wanted: []Workload{agent}, Live: []Live{healthy(agent)}, Applied: true, Previous: was(), Memory: settled("r1")}
	for _, row := range []struct {
		why, want string
		change    func(*Input)
	}{
		{"all is well", "Current", func(*Input) {}},
		{"a rollout", "InProgress", func(in *Input) { in.Live[0].Revision, in.Live[0].Updated = "r2", 1 }},
		{"a stalled rollout", "Failed", func(in *Input) {
			in.Memory, in.Live[0].Updated = rolling(time.Hour), 1
		}},
		{"a refusal", "Failed", func(in *Input) {
			in.Findings = []Finding{{Effect: Degraded, Reason: "InvalidOperatorConfig", Message: "m", Immediate: true}}
		}},
		{"not everything is applied", "InProgress", func(in *Input) { in.Applied = false }},
		{"a transient problem has persisted", "InProgress", func(in *Input) {
			in.Findings = []Finding{{Effect: Degraded, Reason: "ApplyOperatorConfig", Message: "m", Since: ago(time.Hour)}}
		}},
	} {
		in := healthyCluster
		in.Live = []Live{healthy(agent)}
		row.change(&in)
		if got := seen(2, 2, Decide(in).Conditions); got != row.want {
			t.Errorf("%s: tools see %s, want %s", row.why, got, row.want)
		}
	}
	if got := seen(3, 2, Decide(healthyCluster).Conditions); got != "InProgress" {
		t.Errorf("an edit that was not looked at: tools see %s", got)
	}
}

// states returns all states that the package decides, in the order of docs/status.md.
func states() []State {
	all := []State{
		{Unavailable, reasonStartup, "the network has never been available, and is being installed; for a component the same"},
		{Unavailable, reasonDown, "a critical DaemonSet of a component has had no available pod for 30 seconds, or none of its critical Deployments has"},
	}
	for _, s := range slices.Concat(progressingStates(), degradedStates()) {
		all = append(all, s.State)
	}
	return append(all,
		State{Degraded, reasonNoConfig, "there is no Network/cluster; only in the ClusterOperator, and at once"},
		State{Noted, reasonNodesGone, "nodes do not answer: the message of Available=True names them"},
		State{Degraded, reasonFamilies, "(only `NodeFactsDegraded`) nodes do not all have internal addresses of the same IP families"},
		State{Noted, reasonKernels, "(only `NodeFactsAvailable`) nodes run different kernels: the message names them"},
	)
}
