package page

import (
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	operatorcontrolplanev1alpha1 "github.com/openshift/api/operatorcontrolplane/v1alpha1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	networkv1 "github.com/cluster-network-operator/cno/api/network/v1"
	operatorv1 "github.com/cluster-network-operator/cno/api/operator/v1"
	"github.com/cluster-network-operator/cno/internal/connectivity"
	"github.com/cluster-network-operator/cno/internal/manifest"
	"github.com/cluster-network-operator/cno/internal/nodestate"
	"github.com/cluster-network-operator/cno/internal/provider"
	"github.com/cluster-network-operator/cno/internal/ui/objects"
)

// source is a cluster in memory.
func source(tb testing.TB, all ...client.Object) Source {
	tb.Helper()
	scheme, err := objects.Scheme()
	if err != nil {
		tb.Fatal(err)
	}
	set := objects.NewSet(scheme)
	for _, o := range append(all, &operatorv1.Network{ObjectMeta: metav1.ObjectMeta{Name: "cluster"}, Spec: operatorv1.NetworkSpec{
		ClusterNetwork: []operatorv1.ClusterNetworkEntry{{CIDR: "10.0.0.0/8", HostPrefix: 24}, {CIDR: "fd00::/48", HostPrefix: 64}}}}) {
		if err := set.Add(o); err != nil {
			tb.Fatal(err)
		}
	}
	return Source{Objects: set, Namespace: "ons", Now: time.Now}
}

func node(name string, ready corev1.ConditionStatus, change ...func(*corev1.Node)) *corev1.Node {
	n := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name}}
	if ready != "" {
		n.Status.Conditions = []corev1.NodeCondition{{Type: corev1.NodeReady, Status: ready, Reason: "R", Message: "m"}}
	}
	for _, f := range change {
		f(n)
	}
	return n
}

func pod(namespace, name, node string, ready corev1.ConditionStatus, ips ...string) *corev1.Pod {
	p := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name, Labels: map[string]string{manifest.LabelManagedBy: manifest.ManagedBy},
		OwnerReferences: []metav1.OwnerReference{{Kind: "DaemonSet", Name: "agent", Controller: new(true)}}}, Spec: corev1.PodSpec{NodeName: node, HostNetwork: len(ips) == 0}}
	p.Status.Phase, p.Status.Conditions = corev1.PodRunning, []corev1.PodCondition{{Type: corev1.PodReady, Status: ready}}
	for _, ip := range ips {
		p.Status.PodIPs = append(p.Status.PodIPs, corev1.PodIP{IP: ip})
	}
	return p
}

// TestNodesReadEverythingThatTheirStateDependsOn: internal/nodestate has the rules, and its test compares all of them.
func TestNodesReadEverythingThatTheirStateDependsOn(t *testing.T) {
	now := time.Unix(1_700_000_000, 0)
	fight := &corev1.Event{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "e"}, Reason: "FightDetected", Message: "routes", EventTime: metav1.NewMicroTime(now),
		InvolvedObject: corev1.ObjectReference{Kind: "Node", Name: "a"}}
	host := &networkv1.HostNetworkConfig{ObjectMeta: metav1.ObjectMeta{Name: "workers"}}
	host.Status.Hosts = []networkv1.HostStatus{{Name: "a", Node: "a", Result: networkv1.Failed, Message: "no eth1"}}
	failed := &operatorcontrolplanev1alpha1.PodNetworkConnectivityCheck{ObjectMeta: metav1.ObjectMeta{Namespace: connectivity.Namespace, Name: connectivity.SourceName + "-b-to-" + connectivity.TargetName + "-a"}}
	failed.Spec.SourcePod = "source"
	failed.Status.Conditions = []operatorcontrolplanev1alpha1.PodNetworkConnectivityCheckCondition{{Type: operatorcontrolplanev1alpha1.Reachable, Status: metav1.ConditionFalse,
		Message: "i/o timeout", LastTransitionTime: metav1.NewTime(now.Add(-time.Hour))}}
	source1 := pod(connectivity.Namespace, "source", "b", "True")
	for _, row := range []struct {
		why     string
		objects []client.Object
		state   nodestate.State
		message string
	}{
		{"it works", []client.Object{pod("ns", "p", "a", "True")}, nodestate.Ready, ""},
		{"a pod of the network", []client.Object{pod("ns", "p", "a", "False"), failed, source1}, nodestate.AgentNotReady, "pod ns/p is not ready"},
		{"connectivity checks", []client.Object{failed, source1, fight}, nodestate.Unreachable, "the node cannot be reached from pods on b since 2023-11-14T21:13:20Z: i/o timeout"},
		{"the source of the check cannot report", []client.Object{failed}, nodestate.Ready, ""},
		{"events of agents", []client.Object{fight, host}, nodestate.FightDetected, "routes"},
		{"host networks", []client.Object{host}, nodestate.HostNetworkFailed, "HostNetworkConfig workers is not applied (Failed): no eth1"},
	} {
		s := source(t, append(row.objects, node("a", "True"), node("b", "True"))...)
		s.Now = func() time.Time { return now }
		page, err := s.Nodes(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if n := page.Nodes[0]; n.State != row.state || n.Why != row.message || page.Counts[row.state] == 0 || len(page.Notes) > 0 {
			t.Errorf("%s: %s, %q, notes %q", row.why, n.State, n.Why, page.Notes)
		}
	}
}

func TestBlocksOfNodesAreCountedInTheirPools(t *testing.T) {
	page, err := source(t, node("a", "True", func(n *corev1.Node) { n.Spec.PodCIDRs = []string{"10.9.9.0/24", "fd00:0:0:9::/64"} }),
		node("b", "True"), pod("ns", "p", "b", "True", "10.7.7.5")).Nodes(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	got := []any{page.Nodes[0].Blocks, page.Nodes[1].Blocks, page.Pools[0].Used, page.Pools[1].Used}
	if diff := cmp.Diff([]any{[]string{"10.9.9.0/24", "fd00:0:0:9::/64"}, []string{"10.7.7.0/24"}, 2, 1}, got); diff != "" {
		t.Error(diff)
	}
}

// apply is what a browser does with changes.
func apply(p Nodes, c NodeChanges) Nodes {
	rows := map[string]Node{}
	for _, n := range p.Nodes {
		rows[n.Name] = n
	}
	for _, name := range c.Removed {
		delete(rows, name)
	}
	for _, n := range c.Changed {
		rows[n.Name] = n
	}
	out := Nodes{Pools: c.Pools, Counts: c.Counts, Notes: c.Notes}
	for _, n := range rows {
		out.Nodes = append(out.Nodes, n)
	}
	return out
}

func TestChangesTransformOneDocumentIntoTheNext(t *testing.T) {
	a, b, c, down := node("a", "True"), node("b", "True"), node("c", "True"), node("b", "False")
	for _, row := range []struct {
		why             string
		before, after   []client.Object
		changed, remove int
	}{
		{"nothing", []client.Object{a, b}, []client.Object{a, b}, 0, 0},
		{"a node is down", []client.Object{a, b, c}, []client.Object{a, down, c}, 1, 0},
		{"a node joins at the end", []client.Object{a, b}, []client.Object{a, b, c}, 1, 0},
		{"a node joins first", []client.Object{b, c}, []client.Object{a, b, c}, 1, 0},
		{"a node leaves", []client.Object{a, b, c}, []client.Object{a, c}, 0, 1},
		{"all others", []client.Object{a}, []client.Object{b, c}, 2, 1},
		{"the first nodes", nil, []client.Object{a}, 1, 0},
	} {
		before, err := source(t, row.before...).Nodes(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		after, err := source(t, row.after...).Nodes(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		changes := after.Since(before)
		if len(changes.Changed) != row.changed || len(changes.Removed) != row.remove || changes.Empty() != (row.changed+row.remove == 0) {
			t.Errorf("%s: %+v", row.why, changes)
		}
		byName := cmpopts.SortSlices(func(x, y Node) bool { return x.Name < y.Name })
		if diff := cmp.Diff(after, apply(before, changes), byName, cmpopts.EquateEmpty()); diff != "" {
			t.Errorf("%s: %s", row.why, diff)
		}
	}
}

// large is a cluster of 5,000 nodes with an agent on each, and two connectivity checks to each.
func large(tb testing.TB, down string) Source {
	tb.Helper()
	var all []client.Object
	for i := range 5000 {
		name, ready := fmt.Sprintf("node-%04d", i), corev1.ConditionTrue
		if name == down {
			ready = corev1.ConditionFalse
		}
		all = append(all, node(name, ready, func(n *corev1.Node) { n.Spec.PodCIDRs = []string{fmt.Sprintf("10.%d.%d.0/24", i/256, i%256)} }), pod("ns", "agent-"+name, name, "True"))
		for _, from := range []string{"node-0000", "node-0001"} {
			all = append(all, &operatorcontrolplanev1alpha1.PodNetworkConnectivityCheck{ObjectMeta: metav1.ObjectMeta{Namespace: connectivity.Namespace, Name: connectivity.SourceName + "-" + from + "-to-" + connectivity.TargetName + "-" + name}})
		}
	}
	return source(tb, all...)
}

func TestAnUpdateOfOneOfFiveThousandNodesIsSmall(t *testing.T) {
	before, err := large(t, "").Nodes(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	after, err := large(t, "node-1234").Nodes(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	changes := after.Since(before)
	text, err := json.Marshal(changes)
	if err != nil {
		t.Fatal(err)
	}
	if len(changes.Changed) != 1 || changes.Changed[0].Name != "node-1234" || len(text) > 1000 {
		t.Errorf("%d rows, %d bytes", len(changes.Changed), len(text))
	}
}

// BenchmarkDocumentsOfFiveThousandNodes makes each page of a large cluster, from objects in memory to JSON. A page is to take much less than the second
// within which it has to be in the browser.
func BenchmarkDocumentsOfFiveThousandNodes(b *testing.B) {
	s := large(b, "node-1234")
	for name, page := range map[string]func() (any, error){
		"overview": func() (any, error) { return s.Overview(b.Context()) },
		"nodes":    func() (any, error) { return s.Nodes(b.Context()) },
		"paths":    func() (any, error) { return s.Paths(b.Context()) },
	} {
		b.Run(name, func(b *testing.B) {
			size := 0
			for b.Loop() {
				doc, err := page()
				if err != nil {
					b.Fatal(err)
				}
				text, err := json.Marshal(doc)
				if err != nil {
					b.Fatal(err)
				}
				size = len(text)
			}
			b.ReportMetric(float64(size), "B")
		})
	}
}

func TestReservedAddressesOfBlocks(t *testing.T) {
	for _, row := range []struct {
		why      string
		entry    operatorv1.ClusterNetworkEntry
		reserved []string
		want     Pool
	}{
		{"the first, the last and the declared one", operatorv1.ClusterNetworkEntry{CIDR: "10.0.0.0/8", HostPrefix: 24}, []string{"the bridge"},
			Pool{CIDR: "10.0.0.0/8", HostPrefix: 24, Blocks: 65536, Addresses: 256, Reserved: 3, ReservedFor: "the first and the last address, and those of the bridge"}},
		{"IPv6 has no broadcast address", operatorv1.ClusterNetworkEntry{CIDR: "fd00::/48", HostPrefix: 64}, []string{"a", "b"},
			Pool{CIDR: "fd00::/48", HostPrefix: 64, Blocks: 65536, Addresses: 1 << 53, Reserved: 3, ReservedFor: "the first address, and those of a and b"}},
		{"the network declares nothing", operatorv1.ClusterNetworkEntry{CIDR: "10.0.0.0/16", HostPrefix: 24}, nil,
			Pool{CIDR: "10.0.0.0/16", HostPrefix: 24, Blocks: 256, Addresses: 256}},
		{"a network without blocks", operatorv1.ClusterNetworkEntry{CIDR: "10.0.0.0/16"}, []string{"a"}, Pool{CIDR: "10.0.0.0/16"}},
		{"a prefix that is longer than an address", operatorv1.ClusterNetworkEntry{CIDR: "10.0.0.0/16", HostPrefix: 40}, []string{"a"},
			Pool{CIDR: "10.0.0.0/16", HostPrefix: 40, Blocks: 1 << 24, Addresses: 1}},
	} {
		if diff := cmp.Diff([]Pool{row.want}, poolsOf([]operatorv1.ClusterNetworkEntry{row.entry}, row.reserved)); diff != "" {
			t.Errorf("%s: %s", row.why, diff)
		}
	}
}

// carrier is a network that declares how it carries packets.
type carrier struct{ provider.Tracer }

func (carrier) Carries(*operatorv1.NetworkSpec) provider.Carriage {
	return provider.Carriage{Between: "VXLAN", Translates: "kube-proxy", Leaves: "masquerades the packet"}
}

func TestANodeHasThePortsAndRoutesThatAreKnown(t *testing.T) {
	agent := pod("ns", "agent-x", "a", "True")
	probe := &corev1.Probe{ProbeHandler: corev1.ProbeHandler{HTTPGet: &corev1.HTTPGetAction{Host: "127.0.0.1", Port: intstr.FromInt32(19099)}}}
	agent.Spec.Containers = []corev1.Container{
		{Name: "agent", Image: "registry.example:5000/cno/flannel@sha256:0123456789abcdef", LivenessProbe: probe, ReadinessProbe: probe},
		{Name: "metrics", Image: "registry.example/proxy:v1", Ports: []corev1.ContainerPort{{ContainerPort: 9109}, {ContainerPort: 53, Protocol: corev1.ProtocolUDP, HostIP: "127.0.0.1"}}},
	}
	check := pod("ns", "check", "a", "True", "10.0.1.7")
	check.OwnerReferences[0].Name = "check" // not an agent
	check.Spec.Containers = []corev1.Container{{Name: "c", Image: "check", Ports: []corev1.ContainerPort{{ContainerPort: 8080}}}}
	s := source(t, node("a", "True"), agent, check)
	s.Agents = []provider.Agent{{Namespace: "ns", Name: "agent"}}
	s.Tracer = func(operatorv1.NetworkType) provider.Tracer { return carrier{} }
	n, err := s.Node(t.Context(), "a")
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"flannel@0123456789ab"}, n.Agents); diff != "" {
		t.Errorf("agents: %s", diff)
	}
	if diff := cmp.Diff([]Program{
		{"agent-x", "agent", "registry.example:5000/cno/flannel@sha256:0123456789abcdef", []string{"TCP 19099 on 127.0.0.1"}},
		{"agent-x", "metrics", "registry.example/proxy:v1", []string{"TCP 9109", "UDP 53 on 127.0.0.1"}},
		{"check", "c", "check", nil},
	}, n.Programs); diff != "" {
		t.Errorf("programs: %s", diff)
	}
	if diff := cmp.Diff([]NodeRoute{
		{"10.0.1.0/24", "pods of this node", "on the node"}, {"10.0.0.0/8", "pods of other nodes", "VXLAN"}, {"fd00::/48", "pods of other nodes", "VXLAN"},
		{"", "all others", "the node masquerades the packet"},
	}, n.Routes); diff != "" {
		t.Errorf("routes: %s", diff)
	}
	s.Tracer = nil
	if n, err := s.Node(t.Context(), "a"); err != nil || n.Routes == nil || len(n.Routes) > 0 {
		t.Errorf("%v: a network that declares nothing has the routes %v", err, n.Routes)
	}
}
