package controller_test

import (
	"fmt"
	"net/netip"
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	sdnv1 "github.com/cluster-network-operator/cno/api/sdn/v1"
	"github.com/cluster-network-operator/cno/internal/apitest"
	"github.com/cluster-network-operator/cno/internal/testing/eventually"
	"github.com/cluster-network-operator/cno/providers/openshiftsdn/agentconfig"
	"github.com/cluster-network-operator/cno/providers/openshiftsdn/controller"
)

func TestNodesHaveHostSubnets(t *testing.T) {
	t.Parallel()
	w := newWorld(t, agentconfig.NetworkPolicy, func(c *controller.Config) {
		c.Network.ClusterNetworks[0].CIDR = netip.MustParsePrefix("10.128.0.0/21") // three blocks
	})
	w.node("a", "192.0.2.1")
	w.node("b", "192.0.2.2")
	a, b := w.subnet("a"), w.subnet("b")
	if a.Subnet == b.Subnet || a.HostIP != "192.0.2.1" || a.Annotations[sdnv1.AnnotationNodeUID] == "" {
		t.Fatalf("%+v and %+v", a, b)
	}
	eventually.Holds(t, "the node waits for no route", func() (string, bool) {
		var n corev1.Node
		w.must(w.api.Get(t.Context(), client.ObjectKey{Name: "a"}, &n))
		return fmt.Sprint(n.Status.Conditions), slices.ContainsFunc(n.Status.Conditions, func(c corev1.NodeCondition) bool {
			return c.Type == corev1.NodeNetworkUnavailable && c.Status == corev1.ConditionFalse
		})
	})

	// They exchange their addresses.
	for name, address := range map[string]string{"a": "192.0.2.2", "b": "192.0.2.1"} {
		n := &corev1.Node{}
		w.must(w.api.Get(t.Context(), client.ObjectKey{Name: name}, n))
		apitest.ChangeStatus(t, w.api, n, func() { n.Status.Addresses[0].Address = address })
	}
	eventually.Holds(t, "the addresses are exchanged, and the blocks are not", func() (string, bool) {
		x, y := w.subnet("a"), w.subnet("b")
		return fmt.Sprint(x, y), x.HostIP == "192.0.2.2" && y.HostIP == "192.0.2.1" && x.Subnet == a.Subnet && y.Subnet == b.Subnet
	})

	// The third block is that of a host, and a node waits.
	w.must(w.api.Create(t.Context(), &sdnv1.HostSubnet{ObjectMeta: metav1.ObjectMeta{Name: "f5", Annotations: map[string]string{sdnv1.AnnotationAssignSubnet: "true"}},
		Host: "f5", HostIP: "192.0.2.5"}))
	w.subnet("f5")
	w.node("c", "192.0.2.3")
	w.event("c", "SubnetsExhausted", "all blocks of the cluster network are in use: c has none")
	w.removeNode("b")
	c := w.subnet("c")
	if c.Subnet != b.Subnet {
		t.Errorf("c has %s, not %s that became free", c.Subnet, b.Subnet)
	}

	// A node is recreated while the controller is down.
	w.stop()
	old := w.subnet("a")
	w.removeNode("a")
	w.node("a", "192.0.2.2")
	w.start()
	eventually.Holds(t, "the HostSubnet is that of the new Node", func() (string, bool) {
		x := w.subnet("a")
		return fmt.Sprint(x), x.UID != old.UID && x.Annotations[sdnv1.AnnotationNodeUID] != old.Annotations[sdnv1.AnnotationNodeUID]
	})
	if f5 := w.subnet("f5"); f5.HostIP != "192.0.2.5" {
		t.Errorf("the host has %+v", f5)
	}
}

func TestNamespacesHaveVNIDs(t *testing.T) {
	t.Parallel()
	w := newWorld(t, agentconfig.NetworkPolicy)
	w.namespace("one")
	w.namespace("two")
	one, two := w.netns("one"), w.netns("two")
	if one.NetID == two.NetID || one.NetID < sdnv1.VNIDFirst || w.netns("default").NetID != 0 {
		t.Fatalf("%+v, %+v", one, two)
	}
	w.must(w.api.Delete(t.Context(), one))
	eventually.Holds(t, "one that is deleted by hand comes back with its VNID", func() (string, bool) {
		n := w.netns("one")
		return fmt.Sprint(n), n.UID != one.UID && n.NetID == one.NetID
	})
	if n := w.annotate("one", "global"); n.NetID != one.NetID {
		t.Errorf("mode NetworkPolicy gives VNID %d", n.NetID)
	}
	w.event("one", "ChangeNetworkRefused", "network plugin does not allow NetNamespace renumbering")

	w.removeNamespace("two")
	eventually.Holds(t, "its NetNamespace leaves", func() (string, bool) {
		err := w.api.Get(t.Context(), client.ObjectKey{Name: "two"}, &sdnv1.NetNamespace{})
		return fmt.Sprint(err), client.IgnoreNotFound(err) == nil && err != nil
	})
	w.stop()
	w.start()
	w.namespace("two")
	if again := w.netns("two"); again.NetID <= two.NetID {
		t.Errorf("namespace two had VNID %d, and has %d after a restart", two.NetID, again.NetID)
	}
}

func TestNamespacesAreJoinedAndIsolated(t *testing.T) {
	t.Parallel()
	w := newWorld(t, agentconfig.Multitenant)
	for _, n := range []string{"a", "b", "c"} {
		w.namespace(n)
	}
	a, b := w.netns("a"), w.netns("b")
	if n := w.annotate("b", "join:a"); n.NetID != a.NetID {
		t.Errorf("b joined a with VNID %d, and has %d", a.NetID, n.NetID)
	}
	if n := w.annotate("c", "global"); n.NetID != 0 {
		t.Errorf("c is global, with VNID %d", n.NetID)
	}
	if n := w.annotate("b", "isolate"); n.NetID == a.NetID || n.NetID == b.NetID {
		t.Errorf("b had VNID %d, was joined with %d, and is isolated with %d", b.NetID, a.NetID, n.NetID)
	}
	for request, text := range map[string]string{
		"join:absent": `there is no valid NetNamespace "absent"`, "join:a": "cannot join itself", "open": "is unknown",
	} {
		if n := w.annotate("a", request); n.NetID != a.NetID {
			t.Errorf("%s gives VNID %d", request, n.NetID)
		}
		w.event("a", "ChangeNetworkRefused", text)
	}
	w.annotate("default", "isolate")
	w.event("default", "ChangeNetworkRefused", "namespace default is global always")

	// An egress firewall of a global namespace has no effect; of an isolated one it has.
	for _, n := range []string{"b", "c"} {
		w.must(w.api.Create(t.Context(), &sdnv1.EgressNetworkPolicy{ObjectMeta: metav1.ObjectMeta{Namespace: n, Name: "wall-" + n},
			Spec: sdnv1.EgressNetworkPolicySpec{Egress: []sdnv1.EgressNetworkPolicyRule{{Type: sdnv1.EgressNetworkPolicyRuleDeny, To: sdnv1.EgressNetworkPolicyPeer{CIDRSelector: "0.0.0.0/0"}}}}}))
	}
	w.event("wall-c", "EgressNetworkPolicyNotApplied", "namespace c is global (VNID 0)")
	w.annotate("a", "join:b")
	w.event("wall-b", "EgressNetworkPolicyNotApplied", "shares VNID")
}

// TestModeSubnetReportsWhatItHasNot: settings of other modes are events of their objects.
func TestModeSubnetReportsWhatItHasNot(t *testing.T) {
	t.Parallel()
	w := newWorld(t, agentconfig.Subnet)
	w.node("a", "192.0.2.1")
	s := w.subnet("a")
	apitest.Change(t, w.api, s, func() { s.EgressCIDRs = []string{"192.0.2.128/25"} })
	w.event("a", "NotSupportedInMode", "mode Subnet has no egress IPs: egressIPs and egressCIDRs are ignored")
	w.namespace("shop")
	w.must(w.api.Create(t.Context(), &sdnv1.NetNamespace{ObjectMeta: metav1.ObjectMeta{Name: "shop", Annotations: map[string]string{sdnv1.AnnotationMulticast: "true"}},
		NetName: "shop", NetID: 10, EgressIPs: []string{"192.0.2.200"}}))
	w.event("shop", "NotSupportedInMode", "mode Subnet has no egress IPs: egressIPs are ignored")
	w.event("shop", "NotSupportedInMode", "mode Subnet has no multicast")
	w.must(w.api.Create(t.Context(), &sdnv1.EgressNetworkPolicy{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "wall"},
		Spec: sdnv1.EgressNetworkPolicySpec{Egress: []sdnv1.EgressNetworkPolicyRule{{Type: sdnv1.EgressNetworkPolicyRuleDeny, To: sdnv1.EgressNetworkPolicyPeer{CIDRSelector: "0.0.0.0/0"}}}}}))
	w.event("wall", "NotSupportedInMode", "mode Subnet has no egress firewall")
}

func TestEgressIPsMove(t *testing.T) {
	t.Parallel()
	w := newWorld(t, agentconfig.NetworkPolicy)
	for i, name := range []string{"a", "b"} {
		w.node(name, fmt.Sprint("192.0.2.", i+1))
		s := w.subnet(name)
		apitest.Change(t, w.api, s, func() { s.EgressCIDRs = []string{"192.0.2.128/25"} })
	}
	for i, name := range []string{"x", "y"} {
		w.namespace(name)
		n := w.netns(name)
		apitest.Change(t, w.api, n, func() { n.EgressIPs = []string{fmt.Sprint("192.0.2.", 200+i)} })
	}
	has := func(want map[string]int) {
		t.Helper()
		eventually.Holds(t, fmt.Sprintf("nodes have %v egress IPs", want), func() (string, bool) {
			a, b := w.subnet("a").EgressIPs, w.subnet("b").EgressIPs
			return fmt.Sprint(a, b), len(a) == want["a"] && len(b) == want["b"]
		})
	}
	has(map[string]int{"a": 1, "b": 1})
	w.power("a", false)
	has(map[string]int{"a": 0, "b": 2})
	w.power("b", false) // nothing could take them
	w.power("a", true)
	has(map[string]int{"a": 2, "b": 0})
	w.power("b", true)
	has(map[string]int{"a": 1, "b": 1})

	n := w.netns("y")
	apitest.Change(t, w.api, n, func() { n.EgressIPs = []string{"192.0.2.200"} })
	w.event("x", "EgressIPConflict", "namespace y asks for egress IP 192.0.2.200, too")
}
