package status

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	osv1 "github.com/openshift/api/operator/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

var (
	now    = time.Date(2026, 1, 2, 12, 0, 0, 0, time.UTC)
	agent  = Workload{Kind: "DaemonSet", Namespace: "ns", Name: "agent", Component: "Flannel"}
	etcdA  = Workload{Kind: "Deployment", Namespace: "ns", Name: "etcd-a", Component: "Flannel"}
	etcdB  = Workload{Kind: "Deployment", Namespace: "ns", Name: "etcd-b", Component: "Flannel"}
	extras = Workload{Kind: "DaemonSet", Namespace: "ns", Name: "metrics", Component: "Metrics", NonCritical: true}
)

func ago(d time.Duration) time.Time { return now.Add(-d) }

// healthy is a workload that is as wanted, and has been for an hour.
func healthy(w Workload, pods ...Pod) Live {
	return Live{Workload: w, Version: "v1", Desired: 3, Updated: 3, Available: 3, Generation: 2, Observed: 2, Changed: ago(time.Hour), Pods: pods}
}

func with(l Live, change func(*Live)) Live { change(&l); return l }

// was is a network that has been available.
func was() []osv1.OperatorCondition {
	return []osv1.OperatorCondition{
		{Type: "Available", Status: "True", LastTransitionTime: metav1.NewTime(ago(2 * time.Hour))},
		{Type: "FlannelAvailable", Status: "True", LastTransitionTime: metav1.NewTime(ago(2 * time.Hour))},
	}
}

func pod(name, node string, trouble Trouble, since time.Duration, detail string) Pod {
	return Pod{Name: name, Node: node, Trouble: trouble, Detail: detail, Since: ago(since), Created: ago(since)}
}

func TestEachStateHasItsConditions(t *testing.T) {
	for _, row := range []struct {
		why  string
		in   Input
		want map[string]string // type to status, reason and message
	}{
		{"all is well", Input{Wanted: []Workload{agent}, Live: []Live{healthy(agent)}, Applied: true, Previous: was()}, map[string]string{
			"Available": "True AsExpected ", "Progressing": "False AsExpected ", "Degraded": "False AsExpected ", "Upgradeable": "True AsExpected ",
			"FlannelAvailable": "True AsExpected ", "FlannelProgressing": "False AsExpected ", "FlannelDegraded": "False AsExpected "}},
		{"a fresh cluster whose workload does not exist yet", Input{Components: []string{"Flannel"}, Wanted: []Workload{agent}}, map[string]string{
			"Available": "False Startup The network is starting up", "FlannelAvailable": "False Startup Flannel is starting up",
			"Progressing": `True Deploying DaemonSet "ns/agent" does not exist yet`}},
		{"a network that somebody else installs has no workloads", Input{Applied: true}, map[string]string{
			"Available": "True AsExpected ", "Progressing": "False AsExpected "}},
		{"nothing is rendered before everything is applied", Input{}, map[string]string{
			"Available": "False Startup The network is starting up"}},
		{"the controller has not seen the change", Input{Applied: true, Previous: was(), Wanted: []Workload{agent},
			Live: []Live{with(healthy(agent), func(l *Live) { l.Generation = 3; l.Changed = now })}}, map[string]string{
			"Progressing": `True Deploying DaemonSet "ns/agent" update is being processed (generation 3, observed generation 2)`, "Available": "True AsExpected "}},
		{"pods are being replaced", Input{Applied: true, Previous: was(), Wanted: []Workload{agent},
			Live: []Live{with(healthy(agent, Pod{Ready: true, Created: now, Since: now}), func(l *Live) { l.Updated = 1 })}}, map[string]string{
			"Progressing": `True Deploying DaemonSet "ns/agent" update is rolling out (1 out of 3 updated)`, "Degraded": "False AsExpected "}},
		{"a node whose kubelet is silent is no rollout", Input{Applied: true, Previous: was(), Wanted: []Workload{agent},
			Live: []Live{with(healthy(agent, Pod{Name: "p", NodeGone: true, Trouble: NotReady, Since: ago(time.Hour)}), func(l *Live) { l.Available = 2 })}}, map[string]string{
			"Progressing": "False AsExpected ", "Degraded": "False AsExpected ", "Available": "True AsExpected "}},
		{"a rollout that stands still for ten minutes is hung, and says why", Input{Applied: true, Previous: was(), Wanted: []Workload{agent},
			Live: []Live{with(healthy(agent, pod("p1", "n1", NotReady, 11*time.Minute, "readiness probe failed")), func(l *Live) { l.Available = 2 })}}, map[string]string{
			"Degraded":    `True RolloutHung DaemonSet "ns/agent" rollout is not making progress - last change 2026-01-02T11:49:00Z: pod p1 on node n1 is not ready (readiness probe failed)`,
			"Upgradeable": `False RolloutHung DaemonSet "ns/agent" rollout is not making progress - last change 2026-01-02T11:49:00Z: pod p1 on node n1 is not ready (readiness probe failed)`,
			"Progressing": `True Deploying DaemonSet "ns/agent" is not available (awaiting 1 nodes)`}},
		{"one short of ten minutes is not", Input{Applied: true, Previous: was(), Wanted: []Workload{agent},
			Live: []Live{with(healthy(agent, pod("p1", "n1", NotReady, 10*time.Minute-time.Second, "")), func(l *Live) { l.Available = 2 })}}, map[string]string{
			"Degraded": "False AsExpected "}},
		{"crashing pods are told at once after they settled, three by name", Input{Applied: true, Previous: was(), Wanted: []Workload{agent},
			Live: []Live{with(healthy(agent,
				pod("p4", "n4", CrashLoop, time.Minute, "x"), pod("p3", "n3", CrashLoop, time.Minute, "x"), pod("p2", "n2", CrashLoop, time.Minute, "x"),
				pod("p1", "n1", CrashLoop, time.Minute, "container c ended with exit code 2, 4 restarts"), pod("p5", "n5", ImagePull, time.Minute, "container c: image i: not found")),
				func(l *Live) { l.Available = 0; l.Desired = 5; l.Updated = 5 })}}, map[string]string{
			"FlannelDegraded": `True CrashLoopBackOff DaemonSet "ns/agent" rollout is not making progress - pod p1 on node n1 is in CrashLoopBackOff State (container c ended with exit code 2, 4 restarts), ` +
				`pod p2 on node n2 is in CrashLoopBackOff State (x), pod p3 on node n3 is in CrashLoopBackOff State (x) (1 more); pod p5 on node n5 is in ImagePullBackOff State (container c: image i: not found)`}},
		{"trouble of a few seconds is only progress", Input{Applied: true, Previous: was(), Wanted: []Workload{agent},
			Live: []Live{with(healthy(agent, pod("p1", "n1", ImagePull, 5*time.Second, "")), func(l *Live) { l.Available = 2 })}}, map[string]string{
			"Degraded": "False AsExpected ", "Progressing": `True Deploying DaemonSet "ns/agent" is not available (awaiting 1 nodes)`}},
		{"no pod of the agent for a minute: the network is down", Input{Applied: true, Previous: was(), Wanted: []Workload{agent},
			Live: []Live{with(healthy(agent, pod("p1", "n1", NotReady, time.Minute, "")), func(l *Live) { l.Available = 0 })}}, map[string]string{
			"Available":        `False WorkloadDown DaemonSet "ns/agent" has had no available pod since 2026-01-02T11:59:00Z`,
			"FlannelAvailable": `False WorkloadDown DaemonSet "ns/agent" has had no available pod since 2026-01-02T11:59:00Z`}},
		{"a restart of the only pod is not", Input{Applied: true, Previous: was(), Wanted: []Workload{agent},
			Live: []Live{with(healthy(agent), func(l *Live) { l.Available, l.Desired, l.Updated = 0, 1, 1 })}}, map[string]string{
			"Available": "True AsExpected "}},
		{"one of two members is down: nothing is", Input{Applied: true, Previous: was(), Wanted: []Workload{agent, etcdA, etcdB},
			Live: []Live{healthy(agent), healthy(etcdA), with(healthy(etcdB, pod("e", "n", NotReady, time.Minute, "")), func(l *Live) { l.Available = 0 })}}, map[string]string{
			"Available": "True AsExpected ", "FlannelAvailable": "True AsExpected "}},
		{"all members are down", Input{Applied: true, Previous: was(), Wanted: []Workload{agent, etcdA, etcdB}, Live: []Live{healthy(agent),
			with(healthy(etcdA, pod("e", "n", NotReady, 2*time.Minute, "")), func(l *Live) { l.Available = 0 }),
			with(healthy(etcdB, pod("f", "m", NotReady, time.Minute, "")), func(l *Live) { l.Available = 0 })}}, map[string]string{
			"Available": `False WorkloadDown Deployment "ns/etcd-a" and Deployment "ns/etcd-b" has had no available pod since 2026-01-02T11:59:00Z`}},
		{"what is not critical shows in its component alone", Input{Applied: true, Previous: was(), Wanted: []Workload{agent, extras}, Live: []Live{healthy(agent),
			with(healthy(extras, pod("m", "n", CrashLoop, time.Hour, "")), func(l *Live) { l.Available = 0 })}}, map[string]string{
			"Available": "True AsExpected ", "Degraded": "False AsExpected ", "Progressing": "False AsExpected ",
			"MetricsDegraded": `True CrashLoopBackOff DaemonSet "ns/metrics" rollout is not making progress - pod m on node n is in CrashLoopBackOff State`}},
		{"all findings are told, the operator's own first", Input{Applied: true, Previous: was(), Findings: []Finding{
			{Component: "Flannel", Effect: Degraded, Reason: "A", Message: "a"}, {Effect: Degraded, Reason: "InvalidOperatorConfig", Message: "b"}}}, map[string]string{
			"Degraded": "True InvalidOperatorConfig b\na", "FlannelDegraded": "True A a"}},
		{"nodes that are asked are no component that starts", Input{Findings: []Finding{{Component: "NodeMTU", Effect: Progressing, Reason: "ProbingMTU", Message: "m"}}}, map[string]string{
			"NodeMTUProgressing": "True ProbingMTU m"}},
		{"a finding aside", Input{Applied: true, Findings: []Finding{{Component: "MultiNetwork", Effect: Unavailable, Reason: "NotServed", Message: "m", Aside: true}}}, map[string]string{
			"Available": "True AsExpected ", "MultiNetworkAvailable": "False NotServed m"}},
	} {
		t.Run(row.why, func(t *testing.T) {
			row.in.Now, row.in.Version = now, "v1"
			got := map[string]string{}
			for _, c := range Decide(row.in).Conditions {
				if _, asked := row.want[c.Type]; asked || c.Type == "NodeMTUAvailable" {
					got[c.Type] = strings.Join([]string{string(c.Status), c.Reason, c.Message}, " ")
				}
			}
			if diff := cmp.Diff(row.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestAnswerSaysWhenItWillChangeByItself(t *testing.T) {
	for _, row := range []struct {
		why  string
		live Live
		want time.Duration
	}{
		{"never while all is well", healthy(agent), 0},
		{"when the rollout will be hung", with(healthy(agent, Pod{Created: ago(4 * time.Minute), Since: ago(4 * time.Minute)}), func(l *Live) { l.Available = 2 }), 6 * time.Minute},
		{"when trouble will have settled", with(healthy(agent, pod("p", "n", ImagePull, 10*time.Second, "")), func(l *Live) { l.Available = 2 }), 20 * time.Second},
		{"when the network will be down", with(healthy(agent, pod("p", "n", NotReady, 20*time.Second, "")), func(l *Live) { l.Available = 0 }), 10 * time.Second},
	} {
		t.Run(row.why, func(t *testing.T) {
			d := Decide(Input{Now: now, Version: "v1", Wanted: []Workload{agent}, Live: []Live{row.live}, Applied: true, Previous: was()})
			if d.Again != row.want {
				t.Errorf("looks again after %v, want %v", d.Again, row.want)
			}
		})
	}
}

func TestTimesChangeWithTheStatusAlone(t *testing.T) {
	in := Input{Now: now, Version: "v1", Wanted: []Workload{agent}, Live: []Live{healthy(agent)}, Applied: true, Previous: was()}
	first := Decide(in).Conditions
	in.Previous, in.Now = first, now.Add(time.Hour)
	in.Findings = []Finding{{Effect: Degraded, Reason: "R", Message: "m"}}
	for i, c := range Decide(in).Conditions {
		changed := !c.LastTransitionTime.Equal(&first[i].LastTransitionTime)
		if changed != (c.Type == "Degraded") {
			t.Errorf("%s: transition at %v, before at %v", c.Type, c.LastTransitionTime, first[i].LastTransitionTime)
		}
	}
}

func TestDownTimeWithoutPodsIsRemembered(t *testing.T) {
	gone := with(healthy(agent), func(l *Live) { l.Available = 0 })
	in := Input{Now: now, Wanted: []Workload{agent}, Live: []Live{gone}, Applied: true, Previous: was()}
	first := Decide(in)
	in.Now, in.DownSince = now.Add(downAfter), first.DownSince
	for _, c := range Decide(in).Conditions {
		if c.Type == "Available" && c.Reason != "WorkloadDown" {
			t.Errorf("after %v without a pod: %+v", downAfter, c)
		}
	}
}

func TestVersionIsReachedWhenEverythingHasItAndNothingMoves(t *testing.T) {
	in := Input{Now: now, Version: "v1", Wanted: []Workload{agent}, Live: []Live{healthy(agent)}, Applied: true, Previous: was()}
	if !Decide(in).AtVersion {
		t.Error("not reached although all is well")
	}
	for why, change := range map[string]func(*Live){
		"an old version":  func(l *Live) { l.Version = "v0" },
		"pods on the way": func(l *Live) { l.Updated = 1 },
	} {
		in.Live = []Live{with(healthy(agent), change)}
		if Decide(in).AtVersion {
			t.Errorf("%s: reached", why)
		}
	}
}
