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
	return Live{Workload: w, Version: "v1", Revision: "r1", Desired: 3, Current: 3, Updated: 3, Available: 3, Generation: 2, Observed: 2, Changed: ago(time.Hour), Pods: pods}
}

// settled remembers that all workloads have run in a revision.
func settled(revision string) Memory {
	m := Memory{Rollouts: map[string]Rollout{}, Installed: []string{"", "Flannel"}}
	for _, w := range []Workload{agent, etcdA, etcdB, extras} {
		m.Rollouts[w.id()] = Rollout{Settled: revision}
	}
	return m
}

// rolling remembers that the agent's revision r1 has been rolled out for a time.
func rolling(since time.Duration) Memory {
	m := settled("r0")
	m.Rollouts[agent.id()] = Rollout{Settled: "r0", Revision: "r1", Since: ago(since)}
	return m
}

func with(l Live, change func(*Live)) Live { change(&l); return l }

// was is a network that has been available.
func was() []osv1.OperatorCondition {
	return []osv1.OperatorCondition{
		{Type: "Available", Status: "True", LastTransitionTime: metav1.NewTime(ago(2 * time.Hour))},
		{Type: "FlannelAvailable", Status: "True", LastTransitionTime: metav1.NewTime(ago(2 * time.Hour))},
	}
}

func pod(name, node string, problem Problem, since time.Duration, detail string) Pod {
	return Pod{Name: name, Node: node, Problem: problem, Detail: detail, Since: ago(since), Created: ago(since)}
}

// texts returns the conditions as text: type to status, reason and message, without that of a condition that reports nothing.
func texts(conditions []osv1.OperatorCondition) map[string]string {
	got := map[string]string{}
	for _, c := range conditions {
		if IsAsExpected(c) {
			c.Message = ""
		}
		got[c.Type] = strings.Join([]string{string(c.Status), c.Reason, c.Message}, " ")
	}
	return got
}

func TestEachStateHasItsConditions(t *testing.T) {
	crash := "container c ended with exit code 2"
	for _, row := range []struct {
		why  string
		in   Input
		want map[string]string // type to status, reason and message
	}{
		{"all is well", Input{Live: []Live{healthy(agent)}}, map[string]string{
			"Available": "True AsExpected ", "Progressing": "False AsExpected ", "Degraded": "False AsExpected ", "Upgradeable": "True AsExpected ",
			"FlannelAvailable": "True AsExpected ", "FlannelProgressing": "False AsExpected ", "FlannelDegraded": "False AsExpected ",
			"Ready": "True AsExpected ", "Reconciling": "False AsExpected ", "Stalled": "False AsExpected "}},
		{"a workload of a running network is missing", Input{}, map[string]string{
			"Progressing": `True Deploying DaemonSet "ns/agent" does not exist yet`, "Available": "True AsExpected "}},
		{"the controller has not seen the change", Input{Live: []Live{with(healthy(agent), func(l *Live) { l.Generation = 3; l.Revision = "r2" })}}, map[string]string{
			"Progressing": `True Deploying DaemonSet "ns/agent" update is being processed (generation 3, observed generation 2)`, "Available": "True AsExpected ",
			"Ready":       `False Deploying DaemonSet "ns/agent" update is being processed (generation 3, observed generation 2)`,
			"Reconciling": `True Deploying DaemonSet "ns/agent" update is being processed (generation 3, observed generation 2)`}},
		{"a change of anything but the template is no rollout", Input{Live: []Live{with(healthy(agent), func(l *Live) { l.Generation = 3 })}}, map[string]string{
			"Progressing": "False AsExpected "}},
		{"pods are being replaced", Input{Memory: rolling(time.Minute), Live: []Live{with(healthy(agent, Pod{Ready: true, Created: now, Since: now}), func(l *Live) { l.Updated = 1 })}}, map[string]string{
			"Progressing": `True Deploying DaemonSet "ns/agent" update is rolling out (1 out of 3 updated)`, "Degraded": "False AsExpected "}},
		{"all are replaced, and one does not work: the rollout is not over", Input{Memory: rolling(time.Minute), Live: []Live{
			with(healthy(agent, pod("p1", "n1", NotReady, time.Minute, "probe failed")), func(l *Live) { l.Available = 2 })}}, map[string]string{
			"Progressing": `True Deploying DaemonSet "ns/agent" is not available (awaiting 1 nodes): pod p1 on node n1 is not ready (probe failed)`, "Degraded": "False AsExpected "}},
		{"a node that restarts is no rollout", Input{Live: []Live{with(healthy(agent, pod("p1", "n1", Starting, time.Minute, "")), func(l *Live) { l.Available = 2 })}}, map[string]string{
			"Progressing": "False AsExpected ", "Degraded": "False AsExpected ", "Ready": "True AsExpected "}},
		{"a new node is no rollout", Input{Live: []Live{with(healthy(agent), func(l *Live) { l.Desired = 4 })}}, map[string]string{
			"Progressing": "False AsExpected ", "Degraded": "False AsExpected "}},
		{"a node whose kubelet is silent is reported, and is no rollout", Input{Memory: rolling(time.Hour), Nodes: []Node{{Name: "n1"}, {Name: "n2", Unreachable: true}},
			Live: []Live{with(healthy(agent, Pod{Name: "p", NodeUnreachable: true, Problem: NotReady, Since: ago(time.Hour)}), func(l *Live) { l.Available, l.Updated = 2, 2 })}}, map[string]string{
			"Progressing": "False AsExpected ", "Degraded": "False AsExpected ", "Available": "True AsExpected 1 of 2 nodes do not answer: n2"}},
		{"no node is to have a pod", Input{Memory: rolling(time.Hour), Live: []Live{with(healthy(agent), func(l *Live) { l.Desired, l.Current, l.Updated, l.Available = 0, 0, 0, 0 })}}, map[string]string{
			"Progressing": "False AsExpected ", "Available": "True AsExpected ", "Degraded": "False AsExpected "}},
		{"nothing was made yet for nodes that there are", Input{Memory: rolling(time.Second), Live: []Live{with(healthy(agent), func(l *Live) { l.Current, l.Updated, l.Available = 0, 0, 0 })}}, map[string]string{
			"Progressing": `True Deploying DaemonSet "ns/agent" is not yet scheduled on any nodes`}},
		{"a rollout without progress for ten minutes is stalled, with the cause", Input{Memory: rolling(11 * time.Minute),
			Live: []Live{with(healthy(agent, pod("p1", "n1", NotReady, 11*time.Minute, "readiness probe failed")), func(l *Live) { l.Available = 2 })}}, map[string]string{
			"Degraded":    `True RolloutHung DaemonSet "ns/agent" rollout is not making progress - last change 2026-01-02T11:49:00Z: pod p1 on node n1 is not ready (readiness probe failed)`,
			"Upgradeable": `False RolloutHung DaemonSet "ns/agent" rollout is not making progress - last change 2026-01-02T11:49:00Z: pod p1 on node n1 is not ready (readiness probe failed)`,
			"Stalled":     `True RolloutHung DaemonSet "ns/agent" rollout is not making progress - last change 2026-01-02T11:49:00Z: pod p1 on node n1 is not ready (readiness probe failed)`,
			"Progressing": `True Deploying DaemonSet "ns/agent" is not available (awaiting 1 nodes)`}},
		{"one short of ten minutes is not", Input{Memory: rolling(10*time.Minute - time.Second), Live: []Live{with(healthy(agent, pod("p1", "n1", NotReady, 10*time.Minute, "")), func(l *Live) { l.Available = 2 })}}, map[string]string{
			"Degraded": "False AsExpected "}},
		{"the older pods' last success does not count for a pod that crashes between", Input{Memory: rolling(11 * time.Minute), Live: []Live{with(healthy(agent,
			Pod{Name: "p1", Node: "n1", Ready: true, Problem: CrashLoop, Detail: crash, Since: ago(time.Second), Created: ago(11 * time.Minute)}), func(l *Live) { l.Updated = 1 })}}, map[string]string{
			"Degraded": `True RolloutHung DaemonSet "ns/agent" rollout is not making progress - last change 2026-01-02T11:49:00Z: pod p1 on node n1 is in CrashLoopBackOff State (` + crash + `)`}},
		{"pods with the same problem are reported as one, three causes by name", Input{Memory: rolling(5 * time.Minute), Live: []Live{with(healthy(agent,
			pod("p4", "n4", CrashLoop, 3*time.Minute, "x"), pod("p3", "n3", CrashLoop, 3*time.Minute, crash), pod("p2", "n2", CrashLoop, 3*time.Minute, crash),
			pod("p5", "n5", ImagePull, 3*time.Minute, "container c: image i: not found"), pod("p6", "", Unschedulable, 3*time.Minute, "0/6 nodes are available")),
			func(l *Live) { l.Available = 0; l.Desired = 5; l.Updated = 5 })}}, map[string]string{
			"FlannelDegraded": `True CrashLoopBackOff DaemonSet "ns/agent" rollout is not making progress - pod p2 on node n2 is in CrashLoopBackOff State (` + crash + `) (2 pods affected); ` +
				`pod p4 on node n4 is in CrashLoopBackOff State (x); pod p5 on node n5 is in ImagePullBackOff State (container c: image i: not found); and 1 more pods`}},
		{"a problem of less than two minutes is reported as progress", Input{Memory: rolling(time.Minute), Live: []Live{with(healthy(agent, pod("p1", "n1", ImagePull, 119*time.Second, "i")), func(l *Live) { l.Available = 2 })}}, map[string]string{
			"Degraded": "False AsExpected ", "Progressing": `True Deploying DaemonSet "ns/agent" is not available (awaiting 1 nodes): pod p1 on node n1 is in ImagePullBackOff State (i)`}},
		{"after the rollout, a problem is degraded, and no rollout", Input{Live: []Live{with(healthy(agent, pod("p1", "n1", CrashLoop, 3*time.Minute, crash)), func(l *Live) { l.Available = 2 })}}, map[string]string{
			"Degraded": `True CrashLoopBackOff DaemonSet "ns/agent" does not work on all nodes - pod p1 on node n1 is in CrashLoopBackOff State (` + crash + `)`, "Progressing": "False AsExpected "}},
		{"after the rollout, a probe that fails is degraded", Input{Live: []Live{with(healthy(agent, pod("p1", "n1", NotReady, 3*time.Minute, "HTTP probe failed with statuscode: 500")), func(l *Live) { l.Available = 2 })}}, map[string]string{
			"Degraded": `True NotReady DaemonSet "ns/agent" does not work on all nodes - pod p1 on node n1 is not ready (HTTP probe failed with statuscode: 500)`}},
		{"a pod that starts for long is degraded", Input{Live: []Live{with(healthy(agent, pod("p1", "n1", Starting, 11*time.Minute, "container c: ContainerCreating")), func(l *Live) { l.Available = 2 })}}, map[string]string{
			"Degraded": `True Starting DaemonSet "ns/agent" does not work on all nodes - pod p1 on node n1 is still being started (container c: ContainerCreating)`}},
		{"a quota that refuses pods", Input{Memory: rolling(time.Hour), Live: []Live{with(healthy(agent), func(l *Live) { l.Current, l.Updated, l.Available, l.Refused = 2, 2, 2, "exceeded quota" })}}, map[string]string{
			"Degraded": `True RolloutHung DaemonSet "ns/agent" rollout is not making progress - last change 2026-01-02T11:00:00Z: its pods cannot be created: exceeded quota`}},
		{"a webhook that refuses pods on new nodes", Input{Memory: remembering(settled("r1"), "Degraded/Flannel/"+agent.id(), 3*time.Minute), Live: []Live{with(healthy(agent), func(l *Live) { l.Desired, l.Refused = 4, "denied the request" })}}, map[string]string{
			"Degraded": `True FailedCreate DaemonSet "ns/agent" cannot create its pods: denied the request`}},
		{"no pod of the agent for a minute: the network is down", Input{Live: []Live{with(healthy(agent, pod("p1", "n1", NotReady, time.Minute, "")), func(l *Live) { l.Available = 0 })}}, map[string]string{
			"Available":        `False WorkloadDown DaemonSet "ns/agent" has had no available pod since 2026-01-02T11:59:00Z`,
			"FlannelAvailable": `False WorkloadDown DaemonSet "ns/agent" has had no available pod since 2026-01-02T11:59:00Z`}},
		{"a restart of the only pod is not", Input{Live: []Live{with(healthy(agent), func(l *Live) { l.Available, l.Desired, l.Updated = 0, 1, 1 })}}, map[string]string{
			"Available": "True AsExpected "}},
		{"one of two members is down: nothing is", Input{Wanted: []Workload{agent, etcdA, etcdB},
			Live: []Live{healthy(agent), healthy(etcdA), with(healthy(etcdB, pod("e", "n", NotReady, time.Minute, "")), func(l *Live) { l.Available = 0 })}}, map[string]string{
			"Available": "True AsExpected ", "FlannelAvailable": "True AsExpected "}},
		{"all members are down", Input{Wanted: []Workload{agent, etcdA, etcdB}, Live: []Live{healthy(agent),
			with(healthy(etcdA, pod("e", "n", NotReady, 2*time.Minute, "")), func(l *Live) { l.Available = 0 }),
			with(healthy(etcdB, pod("f", "m", NotReady, time.Minute, "")), func(l *Live) { l.Available = 0 })}}, map[string]string{
			"Available": `False WorkloadDown Deployment "ns/etcd-a" and Deployment "ns/etcd-b" has had no available pod since 2026-01-02T11:59:00Z`}},
		{"what is not critical shows in its component alone", Input{Wanted: []Workload{agent, extras}, Live: []Live{healthy(agent),
			with(healthy(extras, pod("m", "n", CrashLoop, time.Hour, "")), func(l *Live) { l.Available = 0 })}}, map[string]string{
			"Available": "True AsExpected ", "Degraded": "False AsExpected ", "Progressing": "False AsExpected ", "MetricsAvailable": "True AsExpected ",
			"MetricsDegraded": `True CrashLoopBackOff DaemonSet "ns/metrics" does not work on all nodes - pod m on node n is in CrashLoopBackOff State`}},
		{"what is not critical waits for others, and holds nothing up", Input{Memory: Memory{Installed: []string{"", "Flannel"}}, Wanted: []Workload{agent, extras}, Live: []Live{healthy(agent),
			with(healthy(extras, pod("m", "n", Starting, time.Minute, "")), func(l *Live) { l.Available = 0 })}}, map[string]string{
			"Progressing": "False AsExpected ", "MetricsProgressing": `True Deploying DaemonSet "ns/metrics" has 0 of 3 pods ready: pod m on node n is still being started`}},
		{"all findings are reported with component and reason, the operator's own first, in one order", Input{Live: []Live{healthy(agent)}, Findings: []Finding{
			{Component: "NodeMTU", Effect: Degraded, Reason: "B", Message: "b", Immediate: true}, {Component: "Flannel", Effect: Degraded, Reason: "A", Message: "a", Immediate: true},
			{Effect: Degraded, Reason: "InvalidOperatorConfig", Message: "c", Immediate: true}}}, map[string]string{
			"Degraded": "True InvalidOperatorConfig InvalidOperatorConfig: c\nFlannel: A: a\nNodeMTU: B: b", "FlannelDegraded": "True A a",
			"Stalled": "True InvalidOperatorConfig InvalidOperatorConfig: c\nFlannel: A: a\nNodeMTU: B: b"}},
		{"another controller's problem is none of the network", Input{Live: []Live{healthy(agent)}, Findings: []Finding{{Component: "ProxyConfig", Effect: Degraded, Reason: "InvalidProxyConfig", Message: "m", Immediate: true}}}, map[string]string{
			"Degraded": "False AsExpected ", "Ready": "True AsExpected "}},
		{"a finding aside", Input{Live: []Live{healthy(agent)}, Findings: []Finding{{Component: "MultiNetwork", Effect: Unavailable, Reason: "NotServed", Message: "m", Aside: true}}}, map[string]string{
			"Available": "True AsExpected ", "MultiNetworkAvailable": "False NotServed m"}},
		{"a note of a component is the message of its own condition only", Input{Live: []Live{healthy(agent)}, Findings: []Finding{{Component: "Flannel", Effect: Noted, Reason: "NetworkPoliciesNotEnforced", Message: "m"}}}, map[string]string{
			"Available": "True AsExpected ", "Degraded": "False AsExpected ", "Ready": "True AsExpected ", "Upgradeable": "True AsExpected ",
			"FlannelAvailable": "True AsExpected m", "FlannelDegraded": "False AsExpected "}},
		{"a node with fewer families, another with an older kernel", Input{Live: []Live{healthy(agent)}, Memory: remembering(settled("r1"), "Degraded/NodeFacts/NodeAddresses", time.Hour), Nodes: []Node{
			{Name: "a", Kernel: "6.8.0-45", Families: "IPv4"}, {Name: "b", Kernel: "6.8.1", Families: "IPv4 and IPv6"}, {Name: "c", Kernel: "5.4.0", Families: "IPv4 and IPv6"}}}, map[string]string{
			"NodeFactsDegraded":  "True NodeAddresses the nodes do not all have internal addresses of the same IP families: a has IPv4; 2 have IPv4 and IPv6",
			"NodeFactsAvailable": "True AsExpected the nodes run different kernels; the oldest determines what the network can use: c has 5.4; 2 have 6.8", "Degraded": "False AsExpected "}},
	} {
		t.Run(row.why, func(t *testing.T) {
			row.in.Now, row.in.Version, row.in.Applied, row.in.Previous = now, "v1", true, was()
			if row.in.Wanted == nil {
				row.in.Wanted = []Workload{agent}
			}
			if row.in.Memory.Installed == nil {
				row.in.Memory = settled("r1")
			}
			got := texts(Decide(row.in).Conditions)
			for name := range got {
				if _, asked := row.want[name]; !asked {
					delete(got, name)
				}
			}
			if diff := cmp.Diff(row.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// TestConditionsThatReportNothingHaveAMessage, which kubectl describe and consoles show, and which has nothing that changes with nodes.
func TestConditionsThatReportNothingHaveAMessage(t *testing.T) {
	want := map[string]string{
		"Available": "No component of the network is down", "Progressing": "No change is in progress", "Degraded": "No problem needs user action", "Upgradeable": "Nothing prevents an upgrade",
		"Ready": "The network works and matches its specification", "Reconciling": "No change is in progress", "Stalled": "No problem needs user action",
		"FlannelAvailable": "No critical workload of the component is down", "FlannelProgressing": "No change is in progress", "FlannelDegraded": "No problem needs user action",
	}
	in := Input{Now: now, Version: "v1", Applied: true, Wanted: []Workload{agent}, Live: []Live{healthy(agent)}, Previous: was(), Memory: settled("r1")}
	got := map[string]string{}
	for _, c := range Decide(in).Conditions {
		got[c.Type] = c.Message
		if !IsAsExpected(c) {
			t.Errorf("%s reports something: %+v", c.Type, c)
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	for why, c := range map[string]osv1.OperatorCondition{
		"a note":    {Type: "Available", Status: "True", Reason: AsExpected, Message: "1 of 3 nodes do not answer: a"},
		"a finding": {Type: "Available", Status: "False", Reason: reasonDown, Message: "No component of the network is down"},
	} {
		if IsAsExpected(c) {
			t.Errorf("%s counts as nothing", why)
		}
	}
	if !IsAsExpected(osv1.OperatorCondition{Type: "Degraded", Status: "False", Reason: AsExpected}) {
		t.Error("the condition of an earlier operator counts as a report")
	}
}

func remembering(m Memory, key string, since time.Duration) Memory {
	m.Seen = map[string]time.Time{key: ago(since)}
	return m
}

func TestFreshNetworkStartsUp(t *testing.T) {
	for _, row := range []struct {
		why  string
		in   Input
		want map[string]string
	}{
		{"a workload that does not exist yet", Input{Components: []string{"Flannel"}, Wanted: []Workload{agent}}, map[string]string{
			"Available": "False Startup The network is starting up", "FlannelAvailable": "False Startup Flannel is starting up",
			"Progressing": `True Deploying DaemonSet "ns/agent" does not exist yet`}},
		{"pods that take their time are no outage of what has never worked", Input{Applied: true, Components: []string{"Flannel"}, Wanted: []Workload{agent}, Live: []Live{
			with(healthy(agent, pod("p", "n", Starting, time.Hour, "")), func(l *Live) { l.Available = 0; l.Changed = ago(time.Minute) })}}, map[string]string{
			"Available": "False Startup The network is starting up", "FlannelAvailable": "False Startup Flannel is starting up"}},
		{"a network that a third party installs has no workloads", Input{Applied: true}, map[string]string{"Available": "True AsExpected ", "Progressing": "False AsExpected "}},
		{"nothing is rendered before everything is applied", Input{}, map[string]string{"Available": "False Startup The network is starting up"}},
		{"nodes that are asked are no component that starts", Input{Findings: []Finding{{Component: "NodeMTU", Effect: Progressing, Reason: "ProbingMTU", Message: "m"}}}, map[string]string{
			"NodeMTUProgressing": "True ProbingMTU m"}},
		{"a network that worked before its object was deleted and recreated does not start up", Input{Memory: settled("r1"), Components: []string{"Flannel"}, Wanted: []Workload{agent},
			Live: []Live{with(healthy(agent), func(l *Live) { l.Revision, l.Updated = "r2", 1 })}}, map[string]string{"Available": "True AsExpected ", "FlannelAvailable": "True AsExpected "}},
	} {
		t.Run(row.why, func(t *testing.T) {
			row.in.Now, row.in.Version = now, "v1"
			got := texts(Decide(row.in).Conditions)
			for name := range got {
				if _, asked := row.want[name]; !asked && name != "NodeMTUAvailable" {
					delete(got, name)
				}
			}
			if diff := cmp.Diff(row.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestDecisionHasTheTimeOfItsNextChange(t *testing.T) {
	for _, row := range []struct {
		why    string
		memory Memory
		live   Live
		want   time.Duration
	}{
		{"never while all is well", settled("r1"), healthy(agent), 0},
		{"when the rollout will be stalled", rolling(4 * time.Minute), with(healthy(agent, Pod{Created: ago(5 * time.Minute), Since: ago(4 * time.Minute)}), func(l *Live) { l.Available = 2 }), 6 * time.Minute},
		{"when a problem will have lasted", settled("r1"), with(healthy(agent, pod("p", "n", ImagePull, 10*time.Second, "")), func(l *Live) { l.Available = 2 }), 110 * time.Second},
		{"when the network will be down", settled("r1"), with(healthy(agent, pod("p", "n", NotReady, 20*time.Second, "")), func(l *Live) { l.Available = 0 }), 10 * time.Second},
		{"when a start will have taken very long", settled("r1"), with(healthy(agent, pod("p", "n", Starting, time.Minute, "")), func(l *Live) { l.Available = 2 }), 9 * time.Minute},
		{"when a pod that crashed will have healed", settled("r1"), healthy(agent, Pod{Ready: true, Problem: CrashLoop, Since: ago(20 * time.Second)}), 40 * time.Second},
	} {
		t.Run(row.why, func(t *testing.T) {
			d := Decide(Input{Now: now, Version: "v1", Wanted: []Workload{agent}, Live: []Live{row.live}, Applied: true, Previous: was(), Memory: row.memory})
			if d.Again != row.want {
				t.Errorf("looks again after %v, want %v", d.Again, row.want)
			}
		})
	}
}

func TestTransitionTimesChangeWithTheStatusOnly(t *testing.T) {
	in := Input{Now: now, Version: "v1", Wanted: []Workload{agent}, Live: []Live{healthy(agent)}, Applied: true, Previous: was(), Memory: settled("r1")}
	first := Decide(in).Conditions
	in.Previous, in.Now = first, now.Add(time.Hour)
	in.Findings = []Finding{{Effect: Degraded, Reason: "R", Message: "m", Immediate: true}}
	for i, c := range Decide(in).Conditions {
		changed := !c.LastTransitionTime.Equal(&first[i].LastTransitionTime)
		if want := c.Type == "Degraded" || c.Type == "Ready" || c.Type == "Stalled"; changed != want {
			t.Errorf("%s: transition at %v, before at %v", c.Type, c.LastTransitionTime, first[i].LastTransitionTime)
		}
	}
}

func TestDownTimeWithoutPodsIsRemembered(t *testing.T) {
	gone := with(healthy(agent), func(l *Live) { l.Available = 0 })
	in := Input{Now: now, Wanted: []Workload{agent}, Live: []Live{gone}, Applied: true, Previous: was(), Memory: settled("r1")}
	first := Decide(in)
	in.Now, in.Memory = now.Add(downAfter), first.Memory
	for _, c := range Decide(in).Conditions {
		if c.Type == "Available" && c.Reason != "WorkloadDown" {
			t.Errorf("after %v without a pod: %+v", downAfter, c)
		}
	}
}

func TestVersionIsReachedWhenAllComponentsHaveItAndAreReady(t *testing.T) {
	in := Input{Now: now, Version: "v1", Wanted: []Workload{agent, extras}, Live: []Live{healthy(agent), healthy(extras)}, Applied: true, Previous: was(), Memory: settled("r1")}
	if d := Decide(in); !d.AtVersion || d.Versions["Flannel"] != "v1" {
		t.Errorf("not reached although all is well; components: %v", d.Versions)
	}
	for why, row := range map[string]struct {
		reached bool
		live    []Live
	}{
		"an old version":                      {false, []Live{with(healthy(agent), func(l *Live) { l.Version = "v0" }), healthy(extras)}},
		"an old version of what is optional":  {false, []Live{healthy(agent), with(healthy(extras), func(l *Live) { l.Version = "v0" })}},
		"pods on the way":                     {false, []Live{with(healthy(agent), func(l *Live) { l.Updated = 1 }), healthy(extras)}},
		"all pods are new, and one is broken": {false, []Live{with(healthy(agent), func(l *Live) { l.Available = 2 }), healthy(extras)}},
		"what is optional waits for others":   {true, []Live{healthy(agent), with(healthy(extras), func(l *Live) { l.Available = 0 })}},
		"a node is down":                      {true, []Live{with(healthy(agent, Pod{NodeUnreachable: true}), func(l *Live) { l.Available, l.Updated = 2, 2 }), healthy(extras)}},
	} {
		in.Live = row.live
		if got := Decide(in).AtVersion; got != row.reached {
			t.Errorf("%s: reached is %v", why, got)
		}
	}
	in.Live, in.Applied = []Live{healthy(agent), healthy(extras)}, false
	if Decide(in).AtVersion {
		t.Error("reached although not everything is applied")
	}
}
