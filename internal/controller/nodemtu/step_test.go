package nodemtu

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"

	"github.com/cluster-network-operator/cno/internal/hostmtu"
)

var now = time.Date(2026, 1, 2, 12, 0, 0, 0, time.UTC)

func nodesNamed(names ...string) []node {
	var nodes []node
	for _, name := range names {
		nodes = append(nodes, node{name: name, uid: "uid-" + name})
	}
	return nodes
}

func answered(name string, mtu int) probe {
	return probe{name: podName(name), node: name, nodeUID: "uid-" + name, phase: corev1.PodSucceeded, started: now, answer: fmt.Sprintf(`{"mtu":%d}`, mtu)}
}

func running(name string, since time.Duration) probe {
	return probe{name: podName(name), node: name, nodeUID: "uid-" + name, phase: corev1.PodPending, started: now.Add(-since), waiting: "ErrImagePull"}
}

func known(settled int, mtu map[string]int) hostmtu.Record {
	r := hostmtu.Record{Settled: settled, First: now.Add(-time.Minute), Nodes: map[string]hostmtu.Node{}}
	for name, m := range mtu {
		r.Nodes[name] = hostmtu.Node{Mark: hostmtu.Mark("uid-" + name), MTU: m}
	}
	return r
}

func TestStep(t *testing.T) {
	for _, row := range []struct {
		reason       string
		in           input
		start        string
		remove       int
		least        int
		settled      int
		write        bool
		requeueAfter time.Duration
	}{
		{reason: "nodes that were never asked are asked", in: input{nodes: nodesNamed("b", "a")}, start: "a b"},
		{reason: "a node whose kubelet is silent is neither asked nor waited for", in: input{nodes: []node{{name: "a", uid: "uid-a"}, {name: "b", uid: "uid-b", unreachable: true}},
			probes: []probe{answered("a", 1500)}}, remove: 1, least: 1500, settled: 1500, write: true},
		{reason: "the last answer settles it", in: input{nodes: nodesNamed("a", "b"), probes: []probe{answered("b", 1400)}, record: hostmtu.Record{First: now, Nodes: known(0, map[string]int{"a": 1500}).Nodes}},
			remove: 1, least: 1400, settled: 1400, write: true},
		{reason: "the first answer starts the wait for the others", in: input{nodes: nodesNamed("a", "b"), probes: []probe{answered("a", 1500), running("b", time.Second)}},
			remove: 1, least: 1500, write: true, requeueAfter: hostmtu.SettleAfter},
		{reason: "which has a limit", in: input{nodes: nodesNamed("a", "b", "c"), probes: []probe{running("c", time.Second)}, record: known(0, map[string]int{"a": 1500, "b": 1500})},
			least: 1500, settled: 1500, write: true, requeueAfter: probeTimeout - time.Second},
		{reason: "a single answer waits until the others have been tried", in: input{nodes: nodesNamed("a", "b"), probes: []probe{running("b", time.Minute)}, record: known(0, map[string]int{"a": 9000})},
			least: 9000, requeueAfter: probeTimeout - time.Minute},
		{reason: "and no longer", in: input{nodes: nodesNamed("a", "b"), probes: []probe{running("b", probeTimeout)}, record: known(0, map[string]int{"a": 1500})},
			remove: 1, least: 1500, settled: 1500, write: true, requeueAfter: firstRetry},
		{reason: "one that is too small is not followed when the others have answered", in: input{nodes: nodesNamed("a", "b"), probes: []probe{answered("b", 1500)}, record: known(0, map[string]int{"a": 576})},
			remove: 1, least: 576, settled: 1500, write: true},
		{reason: "one that is too large neither", in: input{nodes: nodesNamed("a", "b", "c"), record: known(0, map[string]int{"a": 65535, "b": 1400, "c": 1500})},
			least: 1400, settled: 1400, write: true},
		{reason: "small ones alone wait for the others as long as they may answer", in: input{nodes: nodesNamed("a", "b"), failures: map[string]failure{"uid-b": {count: 1, last: now}}, record: known(0, map[string]int{"a": 576})},
			least: 576, requeueAfter: firstRetry},
		{reason: "small ones are followed when most are", in: input{nodes: nodesNamed("a", "b", "c"), record: known(0, map[string]int{"a": 1200, "b": 1200, "c": 1500})},
			least: 1200, settled: 1200, write: true},
		{reason: "or when there is no other", in: input{nodes: []node{{name: "a", uid: "uid-a"}, {name: "b", uid: "uid-b", unreachable: true}}, record: known(0, map[string]int{"a": 1200})},
			least: 1200, settled: 1200, write: true},
		{reason: "a node that joins is asked, and what is settled stays", in: input{nodes: nodesNamed("a", "b"), probes: []probe{answered("b", 1400)}, record: known(1500, map[string]int{"a": 1500})},
			remove: 1, least: 1400, settled: 1500, write: true},
		{reason: "a node that is gone is forgotten", in: input{nodes: nodesNamed("a"), record: known(1400, map[string]int{"a": 1500, "b": 1400})}, least: 1500, settled: 1400, write: true},
		{reason: "another node of the same name is asked again", in: input{nodes: []node{{name: "a", uid: "new"}}, record: known(1500, map[string]int{"a": 1500})}, start: "a", settled: 1500, write: true},
		{reason: "the probe of a node that is gone is removed", in: input{nodes: nodesNamed("a"), probes: []probe{answered("b", 1400)}, record: known(1500, map[string]int{"a": 1500})}, remove: 1, least: 1500, settled: 1500},
		{reason: "a probe that hangs is given up, and tried again later", in: input{nodes: nodesNamed("a"), probes: []probe{running("a", probeTimeout)}}, remove: 1, requeueAfter: firstRetry},
		{reason: "a probe on its way out blocks its name", in: input{nodes: nodesNamed("a"), probes: []probe{{name: podName("a"), nodeUID: "uid-a", deleting: true}}}},
		{reason: "all is known", in: input{nodes: nodesNamed("a"), record: known(1500, map[string]int{"a": 1500})}, least: 1500, settled: 1500},
	} {
		t.Run(row.reason, func(t *testing.T) {
			row.in.now = now
			a := step(row.in)
			var start []string
			for _, n := range a.start {
				start = append(start, n.name)
			}
			got := fmt.Sprint(strings.Join(start, " "), len(a.remove), a.record.Least(), a.record.Settled, a.write, a.requeueAfter)
			want := fmt.Sprint(row.start, row.remove, row.least, row.settled, row.write, row.requeueAfter)
			if got != want {
				t.Errorf("start, remove, least, settled, write, again:\n got %s\nwant %s", got, want)
			}
		})
	}
}

// TestInterfacesOfNodesAreRecorded: those of all nodes with a result, until one does not report them.
func TestInterfacesOfNodesAreRecorded(t *testing.T) {
	with := func(name, interfaces string) probe {
		p := answered(name, 1500)
		p.answer = fmt.Sprintf(`{"mtu":1500,"interfaces":%s}`, interfaces)
		return p
	}
	for _, row := range []struct {
		reason string
		probes []probe
		want   []string
	}{
		{"both report them", []probe{with("a", `["eth0"]`), with("b", `["eth1","eth0"]`)}, []string{"eth0", "eth1"}},
		{"one does not", []probe{with("a", `["eth0"]`), answered("b", 1500)}, nil},
		{"a name that no interface has", []probe{with("a", `["eth 0"]`), with("b", `["eth0"]`)}, nil},
		{"a name that is too long", []probe{with("a", `["a23456789012345x"]`), with("b", `["eth0"]`)}, nil},
	} {
		t.Run(row.reason, func(t *testing.T) {
			got := step(input{now: now, nodes: nodesNamed("a", "b"), probes: row.probes}).record.Interfaces
			if diff := cmp.Diff(row.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestNodesAreProbedInBatches(t *testing.T) {
	for nodes, want := range map[int]int{3: 3, 50: 10, 1000: 10, 5000: 50} {
		v := input{now: now}
		for i := range nodes {
			v.nodes = append(v.nodes, nodesNamed(fmt.Sprintf("node-%04d", i))...)
		}
		for range 3 {
			a := step(v)
			if got := len(a.start) + len(v.probes); got != want {
				t.Fatalf("of %d nodes, %d are asked at once, want %d", nodes, got, want)
			}
			for _, n := range a.start[:len(a.start)/2] {
				v.probes = append(v.probes, running(n.name, time.Second))
			}
		}
	}
}

func TestFailuresAreRetriedWithBackOff(t *testing.T) {
	v := input{now: now, nodes: nodesNamed("a")}
	var waits []time.Duration
	for range 9 {
		v.probes = []probe{{name: podName("a"), nodeUID: "uid-a", phase: corev1.PodFailed, answer: "no default route"}}
		a := step(v)
		waits = append(waits, a.requeueAfter)
		v.failures, v.probes, v.now = a.failures, nil, v.now.Add(a.requeueAfter)
		if next := step(v); len(next.start) != 1 {
			t.Fatalf("not asked again after %v", a.requeueAfter)
		}
	}
	if waits[0] != firstRetry || waits[8] != lastRetry || !slices.IsSorted(waits) {
		t.Errorf("waits are %v", waits)
	}
	text := findings(step(input{now: now, nodes: v.nodes, failures: v.failures}), v.nodes)
	if len(text) != 2 || !strings.Contains(text[1].Message, "node a (no default route)") {
		t.Errorf("findings are %+v", text)
	}
}

func TestNodesWithTooSmallMTUsAreNamed(t *testing.T) {
	for _, row := range []struct {
		reason string
		record hostmtu.Record
		want   []string
	}{
		{"all equal", known(1500, map[string]int{"a": 1500, "b": 1500}), nil},
		{"one was small from the start", known(1400, map[string]int{"a": 1500, "b": 1400, "c": 1500}), []string{
			"MTUOutliers aside: most nodes have an MTU of 1500, and less than that: node b (1400); the network follows the least"}},
		{"one has more, which is no fault", known(1500, map[string]int{"a": 9000, "b": 1500, "c": 1500}), []string{
			"MTUDiffers aside: most nodes have an MTU of 1500, and more than that: node a (9000)"}},
		{"small ones joined later", known(1500, map[string]int{"a": 1500, "b": 1400, "c": 1300, "d": 1500, "e": 1500}), []string{
			"MTUTooSmall: the network was configured for nodes with an MTU of at least 1500; smaller: nodes b (1400) and c (1300); large packets to and from their pods are lost"}},
	} {
		t.Run(row.reason, func(t *testing.T) {
			var got []string
			for _, f := range outliers(row.record) {
				aside := ""
				if f.Aside {
					aside = " aside"
				}
				got = append(got, f.Reason+aside+": "+f.Message)
			}
			if diff := cmp.Diff(row.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestImplausibleMTUsAreNamedUntilOneIsRecorded(t *testing.T) {
	for _, row := range []struct {
		record hostmtu.Record
		want   []string
	}{
		{known(0, map[string]int{"a": 576, "b": 1500}), []string{"MTUImplausible: implausible MTU reported by node a (576): the link of a default route has " +
			"1280 to 9216 bytes; the network follows such a value only if most nodes report one"}},
		{known(1500, map[string]int{"a": 576, "b": 1500}), []string{
			"MTUTooSmall: the network was configured for nodes with an MTU of at least 1500; smaller: node a (576); large packets to and from their pods are lost"}},
		{known(0, map[string]int{"a": 1280, "b": 9216}), []string{
			"MTUOutliers: most nodes have an MTU of 9216, and less than that: node a (1280); the network follows the least"}},
	} {
		var got []string
		for _, f := range findings(actions{record: row.record}, nil) {
			got = append(got, f.Reason+": "+f.Message)
		}
		if diff := cmp.Diff(row.want, got); diff != "" {
			t.Error(diff)
		}
	}
}

func TestProbeNeedsNothingOfTheCluster(t *testing.T) {
	pod := probePod(node{name: strings.Repeat("n", 253), uid: "u"}, "ns", "image", "")
	spec := pod.Spec
	if len(pod.Name) > 63 || !spec.HostNetwork || *spec.AutomountServiceAccountToken || spec.NodeName == "" || spec.Tolerations[0].Operator != corev1.TolerationOpExists || spec.Tolerations[0].Key != "" {
		t.Errorf("pod %s: %+v", pod.Name, spec)
	}
	if read := readProbe(pod); read.nodeUID != "u" {
		t.Errorf("read back: %+v", read)
	}
}

func FuzzParseAnswer(f *testing.F) {
	f.Add(`{"mtu":1500}`)
	f.Add(`{"mtu":-1}`)
	f.Add(`{"mtu":1500,"interfaces":["eth0"," ","a b"]}`)
	f.Add(`x`)
	f.Fuzz(func(t *testing.T, text string) {
		answer, err := parseAnswer(text)
		if err != nil {
			return
		}
		if answer.MTU <= 0 {
			t.Errorf("MTU %d was taken", answer.MTU)
		}
		for _, name := range answer.Interfaces {
			if len(strings.Fields(name)) != 1 || len(name) > maxNameLength {
				t.Errorf("the interface %q was taken", name)
			}
		}
	})
}
