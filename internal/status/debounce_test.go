package status

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	osv1 "github.com/openshift/api/operator/v1"
)

// passing is a finding that may be transient.
func passing() []Finding {
	return []Finding{
		{Effect: Degraded, Reason: "ApplyOperatorConfig", Message: "m", Meanwhile: Progressing},
		{Effect: NotUpgradeable, Reason: "ApplyOperatorConfig", Message: "m"},
	}
}

// at decides for findings at a time after now, with a memory.
func at(after time.Duration, m Memory, findings ...Finding) Decision {
	return Decide(Input{Now: now.Add(after), Version: "v1", Wanted: []Workload{agent}, Live: []Live{healthy(agent)}, Applied: true, Previous: was(), Memory: m, Findings: findings})
}

func statuses(d Decision) string {
	var got []string
	for _, c := range d.Conditions[:4] {
		got = append(got, string(c.Status))
	}
	return strings.Join(got, " ")
}

// reloaded is a memory after the process that had it has ended.
func reloaded(t *testing.T, m Memory) Memory {
	t.Helper()
	text, err := m.Encode()
	if err != nil {
		t.Fatal(err)
	}
	back, err := DecodeMemory(text)
	if err != nil {
		t.Fatal(err)
	}
	return back
}

func TestTransientProblemIsDegradedAfterTwoMinutesAlsoAcrossARestart(t *testing.T) {
	first := at(0, settled("r1"), passing()...)
	if got := statuses(first); got != "True True False True" || first.Again != degradedAfter {
		t.Errorf("at first: %s, again after %v", got, first.Again)
	}
	almost := at(degradedAfter-time.Second, reloaded(t, first.Memory), passing()...)
	if got := statuses(almost); got != "True True False True" || almost.Again != time.Second {
		t.Errorf("a second before: %s, again after %v", got, almost.Again)
	}
	if got := statuses(at(degradedAfter, reloaded(t, almost.Memory), passing()...)); got != "True False True False" {
		t.Errorf("then: %s", got)
	}
}

func TestProblemsStayUntilTheFirstReportAfterAStart(t *testing.T) {
	proxy := Finding{Component: "ProxyConfig", Effect: Degraded, Reason: "TrustBundleSyncFailure", Message: "m"}
	before := at(0, remembering(settled("r1"), proxy.key(), degradedAfter), proxy)
	in := Input{Now: now, Version: "v1", Wanted: []Workload{agent}, Live: []Live{healthy(agent)}, Applied: true, Previous: was(), Memory: reloaded(t, before.Memory), PreviousControllers: before.Controllers, Starting: true}
	silent := Decide(in)
	if got := texts(silent.Operator)["Degraded"]; got != "True TrustBundleSyncFailure m" || !silent.Memory.Equal(before.Memory.with(silent.Memory.Installed)) {
		t.Errorf("while loops are silent: %s; remembers %+v", got, silent.Memory)
	}
	in.Findings = []Finding{{Component: "ProxyConfig", Effect: Degraded, Reason: "InvalidProxyConfig", Message: "n", Immediate: true}}
	if got := texts(Decide(in).Operator)["Degraded"]; got != "True InvalidProxyConfig n" {
		t.Errorf("its message is used: %s", got)
	}
	in.Findings, in.Starting = nil, false
	if got := Decide(in); texts(got.Operator)["Degraded"] != "False AsExpected " || len(got.Memory.Seen) != 0 || len(got.Controllers) != 0 {
		t.Errorf("after a while silence is: %v", texts(got.Operator))
	}
}

func TestResolvedProblemIsForgotten(t *testing.T) {
	first := at(0, settled("r1"), passing()...)
	gone := at(time.Minute, first.Memory)
	if got := statuses(at(degradedAfter, gone.Memory, passing()...)); got != "True True False True" {
		t.Errorf("a problem that recurred after it was resolved: %s", got)
	}
}

func TestAnImmediateFindingDoesNotWait(t *testing.T) {
	d := at(0, settled("r1"), Finding{Effect: Degraded, Reason: "InvalidOperatorConfig", Message: "m", Immediate: true})
	if got := statuses(d); got != "True False True True" || len(d.Memory.Seen) != 0 {
		t.Errorf("%s; remembers %v", got, d.Memory.Seen)
	}
}

func TestProblemOfAWorkloadLastsWhenItsReasonChanges(t *testing.T) {
	failing := func(kind Problem) []Live {
		return []Live{with(healthy(agent, Pod{Name: "p", Node: "n", Problem: kind}), func(l *Live) { l.Available = 2 })}
	}
	in := Input{Now: now, Version: "v1", Wanted: []Workload{agent}, Live: failing(CrashLoop), Applied: true, Previous: was(), Memory: settled("r1")}
	first := Decide(in)
	in.Now, in.Memory, in.Live = now.Add(degradedAfter), first.Memory, failing(ImagePull)
	if got := texts(Decide(in).Conditions)["FlannelDegraded"]; !strings.HasPrefix(got, "True ImagePullBackOff") {
		t.Errorf("after two minutes: %s", got)
	}
}

func TestClockJumpsDoNotHideProblems(t *testing.T) {
	first := at(0, settled("r1"), passing()...)
	back := at(-time.Hour, first.Memory, passing()...)
	if got := statuses(at(-time.Hour+degradedAfter, back.Memory, passing()...)); got != "True False True False" {
		t.Errorf("two minutes after the clock was set back: %s", got)
	}
	if got := statuses(at(time.Hour, first.Memory, passing()...)); got != "True False True False" {
		t.Errorf("after the clock was set forward: %s", got)
	}
	hour := with(healthy(agent, Pod{Name: "p", Node: "n", Problem: NotReady, Since: now.Add(time.Hour), Created: now.Add(time.Hour)}), func(l *Live) { l.Available = 0 })
	m := rolling(-time.Hour)
	in := Input{Now: now, Version: "v1", Wanted: []Workload{agent}, Live: []Live{hour}, Applied: true, Previous: was(), Memory: m}
	one := Decide(in)
	in.Now, in.Memory = now.Add(stalledAfter), one.Memory
	if got := texts(Decide(in).Conditions); !strings.HasPrefix(got["Degraded"], "True RolloutHung") || !strings.HasPrefix(got["Available"], "False WorkloadDown") {
		t.Errorf("pods and memory of a clock that was ahead: %v", got)
	}
}

func TestSettledRevisionIsRemembered(t *testing.T) {
	in := Input{Now: now, Version: "v2", Wanted: []Workload{agent}, Live: []Live{with(healthy(agent), func(l *Live) { l.Revision, l.Updated = "r2", 0 })}, Applied: true, Previous: was(), Memory: settled("r1")}
	d := Decide(in)
	if got := d.Memory.Rollouts[agent.id()]; got != (Rollout{Settled: "r1", Revision: "r2", Since: now}) || d.Rolling[identity(agent)] != now {
		t.Errorf("while it is rolled out: %+v, %v", got, d.Rolling)
	}
	in.Live, in.Memory, in.Now = []Live{with(healthy(agent), func(l *Live) { l.Revision = "r2" })}, reloaded(t, d.Memory), now.Add(time.Minute)
	d = Decide(in)
	if got := d.Memory.Rollouts[agent.id()]; got != (Rollout{Settled: "r2"}) || len(d.Rolling) != 0 {
		t.Errorf("when it is through: %+v, %v", got, d.Rolling)
	}
	in.Live, in.Memory = []Live{with(healthy(agent), func(l *Live) { l.Revision, l.Available = "r2", 2 })}, reloaded(t, d.Memory)
	if got := texts(Decide(in).Conditions)["Progressing"]; got != "False AsExpected " {
		t.Errorf("a pod that fails afterwards: %s", got)
	}
	in.Wanted, in.Live = nil, nil
	if got := Decide(in).Memory.Rollouts; len(got) != 0 {
		t.Errorf("of workloads that are no longer wanted: %v", got)
	}
}

func TestMemoryIsPersistedOnlyWhenItChanges(t *testing.T) {
	a := at(0, settled("r1"), passing()...).Memory
	b := at(time.Minute, reloaded(t, a), passing()...).Memory
	if !a.Equal(b) {
		t.Errorf("nothing has changed:\n%s", cmp.Diff(a, b))
	}
	if a.Equal(at(time.Minute, a).Memory) {
		t.Error("dropping an entry is a change")
	}
}

func TestControllerProblemsAreReportedNextToTheNetworks(t *testing.T) {
	d := at(0, settled("r1"),
		Finding{Component: "PKIConfig", Effect: Degraded, Reason: "PKIError", Message: "p", Immediate: true},
		Finding{Component: "ProxyConfig", Effect: Degraded, Reason: "InvalidProxyConfig", Message: "q", Immediate: true},
		Finding{Effect: Degraded, Reason: "InvalidOperatorConfig", Message: "n", Immediate: true})
	if got := texts(d.Conditions)["Degraded"]; got != "True InvalidOperatorConfig n" {
		t.Errorf("network: %s", got)
	}
	want := "True InvalidOperatorConfig InvalidOperatorConfig: n\nProxyConfig: InvalidProxyConfig: q\nPKIConfig: PKIError: p"
	if got := texts(d.Operator)["Degraded"]; got != want {
		t.Errorf("operator: %s", got)
	}
	if diff := cmp.Diff(map[string]string{"PKIConfigDegraded": "True PKIError p", "ProxyConfigDegraded": "True InvalidProxyConfig q"}, texts(d.Controllers)); diff != "" {
		t.Error(diff)
	}
}

func TestMissingNetworkIsReportedFirst(t *testing.T) {
	d := Decide(Input{Now: now, Absent: true, Memory: settled("r1"), Findings: []Finding{{Component: "ProxyConfig", Effect: Degraded, Reason: "InvalidProxyConfig", Message: "q", Immediate: true}}})
	want := map[string]string{"Degraded": "True NoOperConfig NoOperConfig: Failed to get networks.operator.openshift.io cluster\nProxyConfig: InvalidProxyConfig: q"}
	if diff := cmp.Diff(want, texts(d.Operator)); diff != "" || len(d.Conditions) != 0 {
		t.Errorf("%d conditions of the network; %s", len(d.Conditions), diff)
	}
	if !d.Memory.installed("Flannel") || d.Memory.Rollouts[agent.id()].Settled != "r1" {
		t.Errorf("known state is lost: %+v", d.Memory)
	}
}

func TestMessagesAreBoundedAndAlwaysTheSame(t *testing.T) {
	var findings []Finding
	for i := range 40 {
		findings = append(findings, Finding{Component: "C", Effect: Degraded, Reason: "R", Message: string(rune('a'+i%26)) + strings.Repeat("x", 100*i), Immediate: true})
	}
	one := texts(at(0, settled("r1"), findings...).Conditions)["Degraded"]
	for i, j := 0, len(findings)-1; i < j; i, j = i+1, j-1 {
		findings[i], findings[j] = findings[j], findings[i]
	}
	other := texts(at(0, settled("r1"), findings...).Conditions)["Degraded"]
	if one != other {
		t.Error("another order of findings makes another message")
	}
	if len(one) > (mostLines+1)*(longestLine+20) || !strings.HasSuffix(one, "and 25 more") {
		t.Errorf("%d bytes, ends with %q", len(one), one[len(one)-20:])
	}
}

func TestEventsAreReportedOnce(t *testing.T) {
	events := func(d Decision) string {
		var got []string
		for _, h := range d.Events {
			got = append(got, h.Reason)
		}
		return strings.Join(got, " ")
	}
	in := Input{Now: now, Version: "v1", Wanted: []Workload{agent}, Live: []Live{with(healthy(agent), func(l *Live) { l.Updated, l.Available, l.Changed = 0, 0, now })}, Applied: true}
	for _, step := range []struct {
		why    string
		change func()
		want   string
	}{
		{"a fresh network", func() {}, "RolloutStarted"},
		{"nothing new", func() {}, ""},
		{"all pods run", func() { in.Live = []Live{healthy(agent)} }, "RolloutFinished Available"},
		{"a component is degraded", func() {
			in.Findings = []Finding{{Component: "Flannel", Effect: Degraded, Reason: "PeersOffLink", Message: "m", Immediate: true}}
		}, "PeersOffLink"},
		{"it is no longer", func() { in.Findings = nil }, "Recovered"},
		{"the network is down", func() { in.Live = []Live{with(healthy(agent), func(l *Live) { l.Available = 0 })} }, ""},
		{"for long", func() { in.Now = in.Now.Add(downAfter) }, "Unavailable"},
	} {
		step.change()
		d := Decide(in)
		if got := events(d); got != step.want {
			t.Errorf("%s: events %q, want %q", step.why, got, step.want)
		}
		in.Previous, in.Memory = d.Conditions, d.Memory
	}
}

func FuzzMemoryOfAnyText(f *testing.F) {
	f.Add("")
	f.Add(`{"seen":{"a":"2026-01-02T12:00:00Z"},"rollouts":{"DaemonSet/ns/agent":{"settled":"r"}},"installed":["b",""]}`)
	f.Fuzz(func(t *testing.T, text string) {
		m, err := DecodeMemory(text)
		if err != nil {
			return
		}
		d := at(0, m, passing()...)
		for _, c := range d.Conditions {
			if c.Status != osv1.ConditionTrue && c.Status != osv1.ConditionFalse {
				t.Errorf("%+v", c)
			}
		}
		if _, err := d.Memory.Encode(); err != nil {
			t.Error(err)
		}
	})
}
