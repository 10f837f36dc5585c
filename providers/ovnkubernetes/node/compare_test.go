package node

import (
	"bufio"
	"maps"
	"net/netip"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/cluster-network-operator/cno/internal/cniserver"
	"github.com/cluster-network-operator/cno/internal/host/ovs"
	"github.com/cluster-network-operator/cno/internal/host/ovsdb"
	"github.com/cluster-network-operator/cno/internal/mtumigration"
	"github.com/cluster-network-operator/cno/providers/ovnkubernetes/ovntest"
)

// attached is the record of a sandbox of pod shop/web.
func attached(sandbox, uid string) cniserver.Recorded {
	return cniserver.Recorded{Added: true, Call: cniserver.Call{ContainerID: sandbox, IfName: "eth0", Args: map[string]string{
		"K8S_POD_NAMESPACE": "shop", "K8S_POD_NAME": "web", "K8S_POD_UID": uid,
	}}}
}

func TestComparePods(t *testing.T) {
	name := linkName(attached("one", "").Call)
	right := func() podView {
		return podView{
			pods: ofNode([]corev1.Pod{
				{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "web", UID: "u"}, Status: corev1.PodStatus{Phase: corev1.PodRunning}},
				{ObjectMeta: metav1.ObjectMeta{Namespace: "kube-system", Name: "host"}, Spec: corev1.PodSpec{HostNetwork: true}, Status: corev1.PodStatus{Phase: corev1.PodRunning}},
				{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "job"}, Status: corev1.PodStatus{Phase: corev1.PodSucceeded}},
				{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "starting"}, Status: corev1.PodStatus{Phase: corev1.PodPending}},
			}),
			records: []cniserver.Recorded{attached("one", "u")},
			links:   map[string]bool{name: true, "mp0": true, "br-int": true},
			ports: map[string]ovs.Interface{
				name:  {Port: 3, ExternalIDs: map[string]string{idInterface: "shop_web", idVersion: "u", idSandbox: "one", keyInstalled: "true"}},
				"mp0": {Port: 1, ExternalIDs: map[string]string{idInterface: "k8s-a"}},
			},
		}
	}
	port := func(v *podView, change func(*ovs.Interface)) {
		i := v.ports[name]
		i.ExternalIDs = maps.Clone(i.ExternalIDs)
		change(&i)
		v.ports[name] = i
	}
	const record = `CNI records: stale: record of sandbox "one", interface eth0 (pod shop/web): `
	for _, tc := range []struct {
		why    string
		change func(*podView)
		want   []string
	}{
		{"as it should be", func(*podView) {}, nil},
		{"the pod does not exist: one finding, with which the port and the interface go", func(v *podView) { delete(v.pods, "shop/web") }, []string{record + "the pod does not exist on this node, or has ended"}},
		{"the pod is another one of the same name", func(v *podView) { v.pods["shop/web"].UID = types.UID("v") }, []string{
			"CNI records: missing: a record of its sandbox (pod shop/web): the pod runs, and is not attached to this network", record + "the pod of this name is another one",
			"Open vSwitch: different: port " + name + ` (pod shop/web): it is bound to the pod with UID "u"`,
		}},
		{"the network namespace of the sandbox is deleted", func(v *podView) {
			delete(v.links, name)
			delete(v.ports, name)
			v.pods["shop/web"].Status.Phase = corev1.PodPending
		},
			[]string{record + "its interface " + name + " does not exist"}},
		{"a former sandbox of the pod has no port", func(v *podView) {
			v.records = append(v.records, attached("former", "u"))
			v.links[linkName(attached("former", "").Call)] = true
		}, nil},
		{"an ADD runs", func(v *podView) {
			v.records[0].Added = false
			delete(v.links, name)
			delete(v.ports, name)
			v.pods["shop/web"].Status.Phase = corev1.PodPending
		}, nil},
		{"an interface without a record", func(v *podView) { v.links["ovnp0123456789"] = true }, []string{"interfaces: stale: interface ovnp0123456789 (no pod): the agent has no record of it"}},
		{"an interface of another network", func(v *podView) { v.links["veth12345"] = true }, nil},
		{"a port without a record", func(v *podView) {
			v.ports["ovnpold"] = ovs.Interface{ExternalIDs: map[string]string{idInterface: "shop_old", idSandbox: "old"}}
		}, []string{`Open vSwitch: stale: port ovnpold (pod shop/old): the agent has no record of sandbox "old"`}},
		{"no port", func(v *podView) { delete(v.ports, name) }, []string{"Open vSwitch: missing: the port of shop_web (pod shop/web)"}},
		{"the port is bound to another pod", func(v *podView) { port(v, func(i *ovs.Interface) { i.ExternalIDs[idInterface] = "shop_other" }) }, []string{
			"Open vSwitch: different: port " + name + ` (pod shop/web): it is bound to logical port "shop_other"`, "Open vSwitch: missing: the port of shop_web (pod shop/web)",
		}},
		{"open vswitch has not opened it", func(v *podView) { port(v, func(i *ovs.Interface) { i.Error = "no such device" }) },
			[]string{"Open vSwitch: different: port " + name + " (pod shop/web): open vswitch reports: no such device"}},
		{"its flows are not installed", func(v *podView) { port(v, func(i *ovs.Interface) { delete(i.ExternalIDs, keyInstalled) }) },
			[]string{"flows: missing: the flows of port " + name + " (pod shop/web): ovn-controller has not installed them"}},
		{"a pod that another network has started", func(v *podView) { v.records, v.ports = nil, nil; delete(v.links, name) },
			[]string{"CNI records: missing: a record of its sandbox (pod shop/web): the pod runs, and is not attached to this network"}},
	} {
		v := right()
		tc.change(&v)
		if diff := cmp.Diff(append([]string{}, tc.want...), ovntest.Sentences(comparePods(v))); diff != "" {
			t.Errorf("%s:\n%s", tc.why, diff)
		}
	}
}

func TestCompareManagement(t *testing.T) {
	want := desiredManagement(prefixes("10.128.2.0/23"), prefixes("10.128.0.0/14", "172.30.0.0/16"), mtumigration.State{MTU: 1400})
	right := func() managementView {
		return managementView{exists: true, peer: true, addresses: slices.Clone(want.addresses), routes: maps.Clone(want.routes), rules: map[string]int{"ip": 2}}
	}
	for _, tc := range []struct {
		why    string
		change func(*managementView)
		want   []string
	}{
		{"as it should be", func(*managementView) {}, nil},
		{"no interface: its address and routes are not named, too", func(v *managementView) { *v = managementView{peer: true, rules: v.rules} }, []string{"management port: missing: interface ovn-k8s-mp0 (node a)"}},
		{"no port of the bridge", func(v *managementView) { v.peer = false }, []string{"management port: missing: port mp0 with its flows (node a)"}},
		{"the address of another block", func(v *managementView) { v.addresses = prefixes("10.128.4.2/23") }, []string{
			"management port: missing: address 10.128.2.2/23 of interface ovn-k8s-mp0 (node a)", "management port: stale: address 10.128.4.2/23 of interface ovn-k8s-mp0 (node a)",
		}},
		{"a route of a pool that was removed", func(v *managementView) {
			v.routes[netip.MustParsePrefix("10.200.0.0/16")] = netip.MustParseAddr("10.128.2.1")
		}, []string{"management port: stale: route to 10.200.0.0/16 (node a)"}},
		{"a route is missing", func(v *managementView) { delete(v.routes, netip.MustParsePrefix("172.30.0.0/16")) }, []string{"management port: missing: route to 172.30.0.0/16 (node a)"}},
		{"a route leads elsewhere", func(v *managementView) {
			v.routes[netip.MustParsePrefix("172.30.0.0/16")] = netip.MustParseAddr("10.128.2.9")
		}, []string{"management port: different: route to 172.30.0.0/16 (node a): its next hop is 10.128.2.9 instead of 10.128.2.1"}},
		{"rules of a family that the cluster no longer has", func(v *managementView) { v.rules["ip6"] = 2 }, []string{"management port: stale: table ip6 ovn-kubernetes of nftables (node a)"}},
		{"no rules", func(v *managementView) { v.rules = nil }, []string{"management port: missing: table ip ovn-kubernetes of nftables (node a)"}},
		{"a rule is missing", func(v *managementView) { v.rules["ip"] = 1 }, []string{"management port: different: table ip ovn-kubernetes of nftables (node a): it has 1 rules instead of 2"}},
	} {
		v := right()
		tc.change(&v)
		if diff := cmp.Diff(append([]string{}, tc.want...), ovntest.Sentences(compareManagement("a", want, map[string]int{"ip": 2, "ip6": 0}, v))); diff != "" {
			t.Errorf("%s:\n%s", tc.why, diff)
		}
	}
}

func TestCompareProgram(t *testing.T) {
	ids := map[string]string{"system-id": "a", "ovn-encap-ip": "192.0.2.1"}
	right := func() programView {
		return programView{
			ids: map[string]string{"system-id": "a", "ovn-encap-ip": "192.0.2.1", "of": "others"}, tunnels: map[string]string{"ovn-b-0": "192.0.2.2"}, peers: map[string]string{"b": "192.0.2.2"},
			bound: map[uint32]string{7: "shop_web"}, ports: map[string]bool{"shop_web": true}, owners: map[uint32]bool{7: true, 8: true}, flows: map[uint32]int{0: 100, 7: 4, 8: 1},
		}
	}
	for _, tc := range []struct {
		why    string
		change func(*programView)
		want   []string
	}{
		{"as it should be", func(*programView) {}, nil},
		{"another configuration", func(v *programView) { v.ids["system-id"] = "b" }, []string{`Open vSwitch: different: external ID system-id of the configuration (node a): it is "b" instead of "a"`}},
		{"a tunnel to a node that does not exist", func(v *programView) { v.tunnels["ovn-c-0"] = "192.0.2.3" }, []string{"tunnels: stale: tunnel ovn-c-0 to 192.0.2.3 (node a): no other node has this address"}},
		{"no tunnel to a node", func(v *programView) { v.tunnels = nil }, []string{"tunnels: missing: the tunnel to node b at 192.0.2.2 (node a)"}},
		{"a binding without an interface", func(v *programView) { v.ports = nil }, []string{`port bindings: stale: the binding of port "shop_web" to this node (pod shop/web): no interface of Open vSwitch has it`}},
		{"a port without flows", func(v *programView) { delete(v.flows, 7) }, []string{`flows: missing: the flows of logical port "shop_web" (pod shop/web)`}},
		{"flows of a row that does not exist", func(v *programView) { v.flows[9] = 3 },
			[]string{"flows: stale: flows with cookie 0x9 (node a): no row of the southbound database has a UUID with this prefix; flows: 3"}},
	} {
		v := right()
		tc.change(&v)
		if diff := cmp.Diff(append([]string{}, tc.want...), ovntest.Sentences(compareProgram("a", ids, v))); diff != "" {
			t.Errorf("%s:\n%s", tc.why, diff)
		}
	}
}

func TestCookies(t *testing.T) {
	if got := cookieOf(ovsdb.UUID("0123abcd-0000-4000-8000-000000000000")); got != 0x123abcd {
		t.Errorf("%#x", got)
	}
	got, err := countCookies(bufio.NewScanner(strings.NewReader("NXST_FLOW reply (xid=0x4):\n cookie=0x0, duration=1s, table=0, actions=drop\n cookie=0x123abcd, table=8, actions=drop\n cookie=0x123abcd, table=9, actions=drop\n")))
	if err != nil || got[0x123abcd] != 2 || got[0] != 1 || len(got) != 2 {
		t.Errorf("%v, %v", got, err)
	}
	if _, err := countCookies(bufio.NewScanner(strings.NewReader("cookie=0xnumber, actions=drop"))); err == nil {
		t.Error("a cookie that is no number is read")
	}
}
