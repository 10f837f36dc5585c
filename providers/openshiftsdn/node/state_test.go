package node

import (
	"net/netip"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	sdnv1 "github.com/cluster-network-operator/cno/api/sdn/v1"
	"github.com/cluster-network-operator/cno/internal/netpolicy"
	"github.com/cluster-network-operator/cno/providers/openshiftsdn/agentconfig"
	"github.com/cluster-network-operator/cno/providers/openshiftsdn/egressip"
	"github.com/cluster-network-operator/cno/providers/openshiftsdn/flows"
	"github.com/cluster-network-operator/cno/providers/openshiftsdn/tunnelprobe"
)

func hostSubnet(name, address, subnet string, annotations ...string) *sdnv1.HostSubnet {
	h := &sdnv1.HostSubnet{ObjectMeta: metav1.ObjectMeta{Name: name, Annotations: map[string]string{}}, Host: name, HostIP: address, Subnet: subnet}
	for i := 0; i < len(annotations); i += 2 {
		h.Annotations[annotations[i]] = annotations[i+1]
	}
	return h
}

func netNamespace(name string, vnid uint32, change ...func(*sdnv1.NetNamespace)) *sdnv1.NetNamespace {
	n := &sdnv1.NetNamespace{ObjectMeta: metav1.ObjectMeta{Name: name, Annotations: map[string]string{}}, NetName: name, NetID: vnid}
	for _, c := range change {
		c(n)
	}
	return n
}

func multicastOn(n *sdnv1.NetNamespace) { n.Annotations[sdnv1.AnnotationMulticast] = "true" }
func asksForIP(n *sdnv1.NetNamespace)   { n.EgressIPs = []string{"192.0.2.200"} }

// probes knows one node.
func probes(node string, is tunnelprobe.State) func(string) tunnelprobe.State {
	return func(name string) tunnelprobe.State {
		if name == node {
			return is
		}
		return tunnelprobe.Unknown
	}
}

func egressPolicy(namespace, name string, rules ...sdnv1.EgressNetworkPolicyRule) *sdnv1.EgressNetworkPolicy {
	return &sdnv1.EgressNetworkPolicy{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}, Spec: sdnv1.EgressNetworkPolicySpec{Egress: rules}}
}

func rule(kind sdnv1.EgressNetworkPolicyRuleType, cidr, name string) sdnv1.EgressNetworkPolicyRule {
	return sdnv1.EgressNetworkPolicyRule{Type: kind, To: sdnv1.EgressNetworkPolicyPeer{CIDRSelector: cidr, DNSName: name}}
}

// base is a node with a pod of namespace a.
func base(mode agentconfig.Mode) snapshot {
	c := agentconfig.Default()
	c.Mode, c.MTU = mode, 1450
	c.ClusterNetworks = []agentconfig.ClusterNetwork{{CIDR: netip.MustParsePrefix("10.128.0.0/14"), HostPrefix: 23}}
	c.ServiceNetwork = netip.MustParsePrefix("172.30.0.0/16")
	return snapshot{
		Node: "one", Config: c, HostSubnets: []*sdnv1.HostSubnet{hostSubnet("one", "192.0.2.1", "10.128.2.0/23"), hostSubnet("two", "192.0.2.2", "10.128.4.0/23")},
		NetNamespaces: []*sdnv1.NetNamespace{netNamespace("a", 10), netNamespace("default", 0)},
		Local:         []local{{ID: netpolicy.ID{Namespace: "a", Name: "p"}, UID: "u", Address: netip.MustParseAddr("10.128.2.9"), Port: 11}},
	}
}

func TestDesire(t *testing.T) {
	const allow, deny = sdnv1.EgressNetworkPolicyRuleAllow, sdnv1.EgressNetworkPolicyRuleDeny
	for _, row := range []struct {
		why     string
		mode    agentconfig.Mode
		change  func(*snapshot)
		check   func(flows.Input) any
		want    any
		problem string
	}{
		{"the other node is a peer", agentconfig.Subnet, nil, func(in flows.Input) any { return in.Peers }, []flows.Peer{{Name: "two", Address: netip.MustParseAddr("192.0.2.2"), Subnet: netip.MustParsePrefix("10.128.4.0/23")}}, ""},
		{"in mode Subnet pods have no VNID", agentconfig.Subnet, nil, func(in flows.Input) any { return in.Pods[0].VNID }, uint32(0), ""},
		{"the VNID of the namespace", agentconfig.Multitenant, nil, func(in flows.Input) any { return in.Pods[0].VNID }, uint32(10), ""},
		{"a pod without a VNID has no flows", agentconfig.Multitenant, func(s *snapshot) { s.NetNamespaces = nil }, func(in flows.Input) any { return len(in.Pods) }, 0, "pod a/p: its namespace has no NetNamespace"},
		{"a pod without an address of the node's block has no flows", agentconfig.Subnet, func(s *snapshot) { s.HostSubnets[0].Subnet = "10.128.8.0/23" }, func(in flows.Input) any { return len(in.Pods) }, 0,
			"pod a/p: node one has another block now, 10.128.8.0/23, without the address 10.128.2.9 of the pod, which has no network; openshift-sdn-controller evicts it if a controller replaces it, otherwise: kubectl delete pod -n a p"},
		{"policies do not use the address of such a pod", agentconfig.NetworkPolicy, func(s *snapshot) {
			s.HostSubnets[0].Subnet = "10.128.8.0/23"
			s.Pods = []*corev1.Pod{onNode("one", "p", "10.128.2.9")}
		}, func(in flows.Input) any { return len(in.Addresses[netpolicy.ID{Namespace: "a", Name: "p"}]) }, 0, "pod a/p: node one has another block now"},
		{"nor of one on another node", agentconfig.NetworkPolicy, func(s *snapshot) { s.Pods = []*corev1.Pod{onNode("two", "q", "10.128.6.9")} },
			func(in flows.Input) any { return len(in.Addresses[netpolicy.ID{Namespace: "a", Name: "q"}]) }, 0, ""},
		{"the address of a pod in the block of its node", agentconfig.NetworkPolicy, func(s *snapshot) { s.Pods = []*corev1.Pod{onNode("two", "q", "10.128.4.9")} },
			func(in flows.Input) any { return in.Addresses[netpolicy.ID{Namespace: "a", Name: "q"}] }, []netip.Addr{netip.MustParseAddr("10.128.4.9")}, ""},
		{"it keeps the one that it had", agentconfig.Multitenant, func(s *snapshot) { s.NetNamespaces, s.Known = nil, map[string]uint32{"a": 7777} }, func(in flows.Input) any { return in.Pods[0].VNID }, uint32(7777), ""},
		{"a changed VNID wins over the former one", agentconfig.Multitenant, func(s *snapshot) { s.Known = map[string]uint32{"a": 7777} }, func(in flows.Input) any { return in.Pods[0].VNID }, uint32(10), ""},
		{"a reserved VNID is not used", agentconfig.Multitenant, func(s *snapshot) { s.NetNamespaces = append(s.NetNamespaces, netNamespace("b", 5)) }, func(in flows.Input) any { return len(in.VNIDs) }, 2, "NetNamespace b: netname \"b\" and netid 5"},
		{"a VNID claimed twice in mode NetworkPolicy", agentconfig.NetworkPolicy, func(s *snapshot) { s.NetNamespaces = append(s.NetNamespaces, netNamespace("b", 10)) },
			func(in flows.Input) any { _, has := in.VNIDs["b"]; return has }, false, "NetNamespace b: netid 10 is that of another namespace"},
		{"an appliance with a fixed VNID", agentconfig.Multitenant, func(s *snapshot) { s.HostSubnets[1].Annotations[sdnv1.AnnotationFixedVNID] = "7" }, func(in flows.Input) any { return *in.Peers[0].FixedVNID }, uint32(7), ""},
		{"what is no VNID is reported", agentconfig.Multitenant, func(s *snapshot) { s.HostSubnets[1].Annotations[sdnv1.AnnotationFixedVNID] = "x" }, func(in flows.Input) any { return in.Peers[0].FixedVNID == nil }, true, "not a VNID of at most 16777215"},
		{"a node without a block yet", agentconfig.Subnet, func(s *snapshot) { s.HostSubnets[1].Subnet = "" }, func(in flows.Input) any { return len(in.Peers) }, 0, ""},
		{"a node with nonsense", agentconfig.Subnet, func(s *snapshot) { s.HostSubnets[1].HostIP = "fd00::1" }, func(in flows.Input) any { return len(in.Peers) }, 0, `hostIP "fd00::1" is no IPv4 address`},
		{"a newer HostSubnet with a smaller name claims the block of a node", agentconfig.Subnet, func(s *snapshot) {
			s.HostSubnets = append(s.HostSubnets, created(time.Hour, hostSubnet("a", "192.0.2.7", "10.128.4.0/24")))
		}, func(in flows.Input) any { return peerNames(in) }, []string{"two"}, `HostSubnet a: subnet "10.128.4.0/24" overlaps the block of an older HostSubnet, which keeps it`},
		{"a newer one claims the own block", agentconfig.Subnet, func(s *snapshot) {
			s.HostSubnets = append(s.HostSubnets, created(time.Hour, hostSubnet("a", "192.0.2.7", "10.128.2.0/23")))
		}, func(in flows.Input) any { return peerNames(in) }, []string{"two"}, `HostSubnet a: subnet "10.128.2.0/23" overlaps`},
		{"one for a host of another name", agentconfig.Subnet, func(s *snapshot) { s.HostSubnets[1].Host = "x" }, func(in flows.Input) any { return len(in.Peers) }, 0, `HostSubnet two: host "x" is not the name of the object`},
		{"a host in the cluster network", agentconfig.Subnet, func(s *snapshot) { s.HostSubnets[1].HostIP = "10.129.0.1" }, func(in flows.Input) any { return len(in.Peers) }, 0, "hostIP 10.129.0.1 lies in the cluster network or the Service CIDR"},
		{"a host with the address of a Service", agentconfig.Subnet, func(s *snapshot) { s.HostSubnets[1].HostIP = "172.30.0.1" }, func(in flows.Input) any { return len(in.Peers) }, 0, "hostIP 172.30.0.1 lies in the cluster network or the Service CIDR"},
		{"a newer host with the address of a node", agentconfig.Subnet, func(s *snapshot) {
			s.HostSubnets = append(s.HostSubnets, created(time.Hour, hostSubnet("a", "192.0.2.2", "10.128.6.0/23")))
		}, func(in flows.Input) any { return peerNames(in) }, []string{"two"}, "HostSubnet a: hostIP 192.0.2.2 is the address of two, which had it first"},
		{"two nodes exchange their addresses", agentconfig.Subnet, func(s *snapshot) {
			s.HostSubnets = append(s.HostSubnets, hostSubnet("three", "192.0.2.2", "10.128.6.0/23", sdnv1.AnnotationNodeUID, "3"))
			s.HostSubnets[1].Annotations[sdnv1.AnnotationNodeUID] = "2"
		}, func(in flows.Input) any { return peerNames(in) }, []string{"three", "two"}, ""},
		{"multicast", agentconfig.Multitenant, func(s *snapshot) { multicastOn(s.NetNamespaces[0]) }, func(in flows.Input) any { return in.Multicast }, []uint32{10}, ""},
		{"multicast of a shared VNID needs all its namespaces", agentconfig.Multitenant, func(s *snapshot) { s.NetNamespaces = append(s.NetNamespaces, netNamespace("b", 10, multicastOn)) }, func(in flows.Input) any { return len(in.Multicast) }, 0, ""},
		{"a namespace asks for an egress IP that no node has: it never uses the node's", agentconfig.Multitenant, func(s *snapshot) { asksForIP(s.NetNamespaces[0]) }, func(in flows.Input) any { return in.EgressIPs },
			[]flows.EgressIP{{VNID: 10, Name: "namespace a"}}, ""},
		{"this node has it, and sends with it", agentconfig.NetworkPolicy, func(s *snapshot) {
			asksForIP(s.NetNamespaces[0])
			s.HostSubnets[0].EgressIPs, s.Serving = []string{"192.0.2.200"}, map[netip.Addr]uint32{netip.MustParseAddr("192.0.2.200"): 10}
		}, func(in flows.Input) any { return in.EgressIPs }, []flows.EgressIP{{VNID: 10, Name: "namespace a", Local: true}}, ""},
		{"this node is to have it, and has it not yet", agentconfig.NetworkPolicy, func(s *snapshot) {
			asksForIP(s.NetNamespaces[0])
			s.HostSubnets[0].EgressIPs = []string{"192.0.2.200"}
		}, func(in flows.Input) any { return in.EgressIPs }, []flows.EgressIP{{VNID: 10, Name: "namespace a"}}, ""},
		{"this node sends with it for another namespace still", agentconfig.NetworkPolicy, func(s *snapshot) {
			asksForIP(s.NetNamespaces[0])
			s.HostSubnets[0].EgressIPs, s.Serving = []string{"192.0.2.200"}, map[netip.Addr]uint32{netip.MustParseAddr("192.0.2.200"): 11}
		}, func(in flows.Input) any { return in.EgressIPs }, []flows.EgressIP{{VNID: 10, Name: "namespace a"}}, ""},
		{"another node has it, and was not probed yet: nothing is better known", agentconfig.NetworkPolicy, func(s *snapshot) {
			asksForIP(s.NetNamespaces[0])
			s.HostSubnets[1].EgressIPs = []string{"192.0.2.200"}
		}, func(in flows.Input) any { return in.EgressIPs }, []flows.EgressIP{{VNID: 10, Name: "namespace a", Nodes: []netip.Addr{netip.MustParseAddr("192.0.2.2")}}}, ""},
		{"another node has it, and does not answer", agentconfig.NetworkPolicy, func(s *snapshot) {
			asksForIP(s.NetNamespaces[0])
			s.HostSubnets[1].EgressIPs, s.Probed = []string{"192.0.2.200"}, probes("two", tunnelprobe.Unreachable)
		}, func(in flows.Input) any { return in.EgressIPs }, []flows.EgressIP{{VNID: 10, Name: "namespace a"}}, ""},
		{"of two nodes one answers: one that was not probed yet is not used", agentconfig.NetworkPolicy, func(s *snapshot) {
			s.NetNamespaces[0].EgressIPs = []string{"192.0.2.200", "192.0.2.201"}
			s.HostSubnets = append(s.HostSubnets, hostSubnet("three", "192.0.2.3", "10.128.6.0/23"))
			s.HostSubnets[1].EgressIPs, s.HostSubnets[2].EgressIPs, s.Probed = []string{"192.0.2.200"}, []string{"192.0.2.201"}, probes("three", tunnelprobe.Reachable)
		}, func(in flows.Input) any { return in.EgressIPs[0].Nodes }, []netip.Addr{netip.MustParseAddr("192.0.2.3")}, ""},
		{"another node has that of a namespace without pods here: nothing is sent", agentconfig.NetworkPolicy, func(s *snapshot) {
			asksForIP(s.NetNamespaces[0])
			s.HostSubnets[1].EgressIPs, s.Local = []string{"192.0.2.200"}, nil
		}, func(in flows.Input) any { return len(in.EgressIPs) }, 0, ""},
		{"two namespaces ask for one address", agentconfig.Multitenant, func(s *snapshot) {
			asksForIP(s.NetNamespaces[0])
			s.NetNamespaces = append(s.NetNamespaces, netNamespace("b", 11, asksForIP))
			s.HostSubnets[1].EgressIPs = []string{"192.0.2.200"}
		}, func(in flows.Input) any { return in.EgressIPs }, []flows.EgressIP{{VNID: 10, Name: "namespace a", Dropped: "namespace b asks for egress IP 192.0.2.200, too"}}, ""},
		{"a shared VNID: only the pods of the namespace that asks are dropped", agentconfig.Multitenant, func(s *snapshot) {
			asksForIP(s.NetNamespaces[0])
			s.NetNamespaces = append(s.NetNamespaces, netNamespace("b", 10))
			s.Local = append(s.Local, local{ID: netpolicy.ID{Namespace: "b", Name: "q"}, Address: netip.MustParseAddr("10.128.2.10"), Port: 12})
		}, func(in flows.Input) any { return in.EgressIPs }, []flows.EgressIP{{VNID: 10, Name: "namespace a", Dropped: "it shares its VNID with b", Only: []netip.Addr{netip.MustParseAddr("10.128.2.9")}}}, ""},
		{"mode Subnet has no egress IPs", agentconfig.Subnet, func(s *snapshot) { asksForIP(s.NetNamespaces[0]) }, func(in flows.Input) any { return len(in.EgressIPs) }, 0, ""},
		{"a firewall", agentconfig.Multitenant, func(s *snapshot) {
			s.Firewalls = []*sdnv1.EgressNetworkPolicy{egressPolicy("a", "x", rule(allow, "198.51.100.7/24", ""), rule(deny, "0.0.0.0/32", ""))}
		}, func(in flows.Input) any { return in.Firewalls }, []flows.Firewall{{VNID: 10, Name: "EgressNetworkPolicy a/x", Rules: []flows.FirewallRule{
			{Destinations: []netip.Prefix{netip.MustParsePrefix("198.51.100.0/24")}}, {Deny: true, Destinations: []netip.Prefix{netip.MustParsePrefix("0.0.0.0/0")}},
		}}}, ""},
		{"a firewall by names", agentconfig.Multitenant, func(s *snapshot) {
			s.Firewalls = []*sdnv1.EgressNetworkPolicy{egressPolicy("a", "x", rule(deny, "", "example.test"))}
			s.Resolve = func(string) []netip.Addr { return []netip.Addr{netip.MustParseAddr("198.51.100.7")} }
		}, func(in flows.Input) any { return in.Firewalls[0].Rules }, []flows.FirewallRule{{Deny: true, Destinations: []netip.Prefix{netip.MustParsePrefix("198.51.100.7/32")}}}, ""},
		{"a name without an address matches nothing", agentconfig.Multitenant, func(s *snapshot) {
			s.Firewalls = []*sdnv1.EgressNetworkPolicy{egressPolicy("a", "x", rule(deny, "", "example.test"))}
			s.Resolve, s.Missing = func(string) []netip.Addr { return nil }, func(string) bool { return true }
		}, func(in flows.Input) any { return in.Firewalls[0].Rules }, []flows.FirewallRule{{Deny: true}}, ""},
		{"two firewalls of a namespace", agentconfig.NetworkPolicy, func(s *snapshot) {
			s.Firewalls = []*sdnv1.EgressNetworkPolicy{egressPolicy("a", "y"), egressPolicy("a", "x")}
		}, func(in flows.Input) any { return in.Firewalls }, []flows.Firewall{{VNID: 10, Name: "EgressNetworkPolicy a/x", Closed: "the namespace has 2 EgressNetworkPolicies and may have one"}}, "everything that leaves the cluster is dropped"},
		{"a firewall in a shared VNID", agentconfig.Multitenant, func(s *snapshot) {
			s.NetNamespaces = append(s.NetNamespaces, netNamespace("b", 10))
			s.Firewalls = []*sdnv1.EgressNetworkPolicy{egressPolicy("b", "x")}
		}, func(in flows.Input) any { return in.Firewalls[0].Closed != "" }, true, "2 namespaces share VNID 10"},
		{"rules of old objects that mean nothing", agentconfig.Multitenant, func(s *snapshot) {
			s.Firewalls = []*sdnv1.EgressNetworkPolicy{egressPolicy("a", "x", rule("Allowed", "198.51.100.0/24", ""), rule(allow, "", ""), rule(allow, "fd00::/8", ""))}
		}, func(in flows.Input) any { return in.Firewalls[0].Rules }, []flows.FirewallRule{{Deny: true, Destinations: []netip.Prefix{netip.MustParsePrefix("198.51.100.0/24")}}, {}, {}},
			`spec.egress[0].type: "Allowed" is neither Allow nor Deny`},
		{"a pod has its address before the API server knows it", agentconfig.NetworkPolicy, func(s *snapshot) {
			s.Pods = []*corev1.Pod{{ObjectMeta: metav1.ObjectMeta{Namespace: "a", Name: "p", UID: "u"}}}
		}, func(in flows.Input) any { return in.Addresses[netpolicy.ID{Namespace: "a", Name: "p"}] }, []netip.Addr{netip.MustParseAddr("10.128.2.9")}, ""},
		{"not from the sandbox of an earlier pod of the name", agentconfig.NetworkPolicy, func(s *snapshot) {
			s.Pods = []*corev1.Pod{{ObjectMeta: metav1.ObjectMeta{Namespace: "a", Name: "p", UID: "other"}}}
		}, func(in flows.Input) any { return len(in.Addresses[netpolicy.ID{Namespace: "a", Name: "p"}]) }, 0, ""},
		{"a pod that has ended has no address", agentconfig.NetworkPolicy, func(s *snapshot) {
			s.Pods = []*corev1.Pod{{ObjectMeta: metav1.ObjectMeta{Namespace: "a", Name: "done"}, Status: corev1.PodStatus{Phase: corev1.PodSucceeded, PodIPs: []corev1.PodIP{{IP: "10.128.4.7"}}}}}
		}, func(in flows.Input) any { return len(in.Addresses) }, 0, ""},
		{"policies of namespaces without pods here are not looked at", agentconfig.NetworkPolicy, func(s *snapshot) {
			s.Policies = []*networkingv1.NetworkPolicy{{ObjectMeta: metav1.ObjectMeta{Namespace: "elsewhere", Name: "x"}}, {ObjectMeta: metav1.ObjectMeta{Namespace: "a", Name: "x"}}}
		}, func(in flows.Input) any { return len(in.Policies) }, 1, ""},
		{"other nodes are peers where namespace default is", agentconfig.NetworkPolicy, func(s *snapshot) {
			s.Namespaces = []*corev1.Namespace{{ObjectMeta: metav1.ObjectMeta{Name: "default", Labels: map[string]string{"kubernetes.io/metadata.name": "default"}}}}
			s.Policies = []*networkingv1.NetworkPolicy{{ObjectMeta: metav1.ObjectMeta{Namespace: "a", Name: "x"}, Spec: networkingv1.NetworkPolicySpec{Ingress: []networkingv1.NetworkPolicyIngressRule{{
				From: []networkingv1.NetworkPolicyPeer{{NamespaceSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"kubernetes.io/metadata.name": "default"}}}},
			}}}}}
		}, func(in flows.Input) any { return in.Hosts[in.Policies[0].Ingress.Rules[0].Peers.Pods[0]] }, netip.MustParseAddr("10.128.4.1"), ""},
	} {
		s := base(row.mode)
		if row.change != nil {
			row.change(&s)
		}
		got, err := desire(s)
		if err != nil {
			t.Errorf("%s: %v", row.why, err)
			continue
		}
		if diff := cmp.Diff(row.want, row.check(got.Input), cmpopts.EquateComparable(netip.Addr{}, netip.Prefix{})); diff != "" {
			t.Errorf("%s: %s", row.why, diff)
		}
		if problems := strings.Join(got.Problems, "; "); (row.problem == "") != (problems == "") || !strings.Contains(problems, row.problem) {
			t.Errorf("%s: the problems are %q", row.why, problems)
		}
		if _, err := flows.Desired(got.Input); err != nil {
			t.Errorf("%s: %v", row.why, err)
		}
	}
	for _, row := range []struct {
		why    string
		change func(*snapshot)
		want   string
	}{
		{"the node has no HostSubnet", func(s *snapshot) { s.HostSubnets = s.HostSubnets[1:] }, "the node has no HostSubnet one with a block yet; openshift-sdn-controller creates it"},
		{"all blocks are in use", func(s *snapshot) { s.HostSubnets[0].Subnet = "" }, "the node has no HostSubnet one with a block yet"},
		{"an older HostSubnet has the block", func(s *snapshot) {
			created(time.Hour, s.HostSubnets[0])
			s.HostSubnets[1].Subnet = "10.128.2.0/23"
		}, `the node has no block: HostSubnet one: subnet "10.128.2.0/23" overlaps the block of an older HostSubnet, which keeps it`},
		{"its address is that of a pod", func(s *snapshot) { s.HostSubnets[0].HostIP = "10.128.2.9" }, "the node has no block: HostSubnet one: hostIP 10.128.2.9 lies in the cluster network"},
	} {
		s := base(agentconfig.Subnet)
		row.change(&s)
		if _, err := desire(s); err == nil || !strings.Contains(err.Error(), row.want) {
			t.Errorf("%s: %v", row.why, err)
		}
	}
}

// TestLostPods: a pod has an event with the way out, and not a pod that was created again with its name.
func TestLostPods(t *testing.T) {
	s := base(agentconfig.Subnet)
	s.HostSubnets[0].Subnet = "10.128.8.0/23"
	s.Pods = []*corev1.Pod{onNode("one", "p", "10.128.2.9"), onNode("one", "q", "10.128.8.9")}
	for _, row := range []struct {
		uid  string
		want int
	}{{"u", 1}, {"another", 0}} {
		s.Pods[0].UID = types.UID(row.uid)
		want, err := desire(s)
		if err != nil {
			t.Fatal(err)
		}
		if len(want.Lost) != row.want {
			t.Errorf("pod with UID %s: %+v", row.uid, want.Lost)
		}
		for _, p := range want.Lost {
			if p.Object != s.Pods[0] || p.Reason != "PodAddressLost" || !strings.HasSuffix(p.Message, "kubectl delete pod -n a p") {
				t.Errorf("%+v", p)
			}
		}
	}
}

// onNode is a pod of namespace a on a node.
func onNode(node, name, address string) *corev1.Pod {
	return &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "a", Name: name}, Spec: corev1.PodSpec{NodeName: node}, Status: corev1.PodStatus{PodIPs: []corev1.PodIP{{IP: address}}}}
}

// created sets when a HostSubnet was created, after those without a time.
func created(after time.Duration, h *sdnv1.HostSubnet) *sdnv1.HostSubnet {
	h.CreationTimestamp = metav1.NewTime(time.Unix(0, 0).Add(after))
	return h
}

func peerNames(in flows.Input) []string {
	var out []string
	for _, p := range in.Peers {
		out = append(out, p.Name)
	}
	slices.Sort(out)
	return out
}

// TestUnresolvedNames: each node reports the names that it cannot look up, for the pods that it has.
func TestUnresolvedNames(t *testing.T) {
	s := base(agentconfig.NetworkPolicy)
	s.NetNamespaces = append(s.NetNamespaces, netNamespace("b", 11))
	for _, namespace := range []string{"a", "b"} {
		s.Firewalls = append(s.Firewalls, egressPolicy(namespace, "x", rule(sdnv1.EgressNetworkPolicyRuleAllow, "", "known.test"), rule(sdnv1.EgressNetworkPolicyRuleAllow, "", "example.test")))
	}
	s.Missing = func(name string) bool { return name == "example.test" }
	want, err := desire(s)
	if err != nil {
		t.Fatal(err)
	}
	if len(want.Unresolved) != 1 || want.Unresolved[0].Object != s.Firewalls[0] || want.Unresolved[0].Reason != "EgressNetworkPolicyNameUnresolved" ||
		want.Unresolved[0].Message != "spec.egress[1].to.dnsName: the name servers of node one give no IPv4 address for example.test; the rule matches nothing there until they do" {
		t.Errorf("%+v", want.Unresolved)
	}
}

func TestDesiredRules(t *testing.T) {
	s := base(agentconfig.NetworkPolicy)
	pods := []netip.Addr{netip.MustParseAddr("10.128.2.9"), netip.MustParseAddr("10.128.2.3"), netip.MustParseAddr("10.128.2.9")}
	r := desiredRules(s.Config, netip.MustParsePrefix("10.128.2.0/23"), pods)
	if want := []netip.Addr{pods[1], pods[0]}; !slices.Equal(r.pods, want) {
		t.Errorf("pods are %v", r.pods)
	}
	for _, row := range []struct{ why, rule string }{
		{"addresses of pods and Services come from the bridge alone", `iifname != { tun0, lo } ip saddr { 10.128.0.0/14, 172.30.0.0/16 } drop`},
		{"pods send no VXLAN, also not by a Service", `iifname tun0 udp dport 4789 drop`},
		{"clients outside are not the node", `oifname tun0 meta mark & 0x4000 == 0x4000 ip saddr != { 10.128.0.0/14 } fib saddr type != local snat to 10.128.2.2`},
		{"what has the mark of an egress IP and not its address is dropped before that", `oifname != tun0 ip saddr { 10.128.0.0/14 } meta mark & 0xffff0000 != 0 drop`},
		{"also if its connection is older", `oifname != tun0 ct original ip saddr { 10.128.0.0/14 } meta mark & 0xffff0000 != 0 ct direction original ct original zone 0 counter drop`},
		{"pods leave with the node's address", `oifname != tun0 ip saddr { 10.128.0.0/14 } ip daddr != { 10.128.0.0/14 } masquerade`},
	} {
		if !strings.Contains(r.table().text(), row.rule) {
			t.Errorf("%s: %q is missing in %s", row.why, row.rule, r.table().text())
		}
	}
	if strings.Contains(r.table().text(), "22623") {
		t.Error("ports of OpenShift are closed on plain Kubernetes")
	}
	s.Config.OpenShift = true
	if r := desiredRules(s.Config, netip.MustParsePrefix("10.128.2.0/23"), nil); !strings.Contains(r.table().text(), "iifname tun0 tcp dport { 22623, 22624 } drop") {
		t.Errorf("configurations of machines are open to pods: %s", r.table().text())
	}
}

func TestEgressRules(t *testing.T) {
	s := base(agentconfig.NetworkPolicy)
	r := egressRules{
		config: s.Config, block: netip.MustParsePrefix("10.128.2.0/23"), nodes: nodeAddresses(s),
		held: []egressip.Claim{{Address: netip.MustParseAddr("192.0.2.200"), VNID: 0x800013, Namespace: "a"}},
	}
	text := r.marks().text() + r.packets().text()
	for _, row := range []struct{ why, rule string }{
		{"packets for the egress IP of a VNID get its mark", `{key:[02:00:00:80:00:13] value:[0x02c80000]}`},
		{"so do those that the kernel gets for another reason", `{key:[02:00:01:80:00:13] value:[0x02c80000]}`},
		{"what another node sends gets the mark of the guard", `ether daddr & ff:ff:ff:00:00:00 == 02:00:01:00:00:00 meta mark set 0xffff0000 ether daddr set 0a:58:0a:80:02:01 meta pkttype set host`},
		{"a connection with an egress IP is none with the node's address", `iifname tun0 meta mark & 0xffff0000 == 0x02c80000 ct original zone set 712`},
		{"the egress IP is the source", `oifname != tun0 meta mark & 0xffff0000 == 0x02c80000 snat ip to 192.0.2.200`},
		{"and nothing else is", `oifname != tun0 meta mark & 0xffff0000 == 0x02c80000 ct direction original ip saddr != 192.0.2.200 counter drop`},
		{"nothing of the node is served at it", `ip daddr @addresses ct state new reject`},
		{"the Kubernetes API is reached with the node's address", `meta mark & 0xffff0000 == 0xffff0000 ct status dnat ct original ip daddr 172.30.0.1 meta mark set meta mark & 0x0000ffff return`},
		{"so are nodes by a Service", `ct status dnat ip daddr @nodes meta mark set meta mark & 0x0000ffff return`},
		{"nothing else is", `iifname tun0 oifname != tun0 ct direction original meta mark & 0xffff0000 == 0xffff0000 counter drop`},
		{"pods of other nodes leave with an egress IP alone", `iifname tun0 oifname != tun0 ct direction original ip saddr != 10.128.2.0/23 meta mark & 0xffff0000 == 0 counter drop`},
	} {
		if !strings.Contains(text, row.rule) {
			t.Errorf("%s: %q is missing in %s", row.why, row.rule, text)
		}
	}
}

// TestProblemsHaveAnOrder: problems in another order would be reported as other ones, each time.
func TestProblemsHaveAnOrder(t *testing.T) {
	s := base(agentconfig.NetworkPolicy)
	for _, name := range []string{"z", "y", "x", "w"} {
		s.HostSubnets = append(s.HostSubnets, hostSubnet(name, "192.0.2.77", "nonsense"))
	}
	first, err := desire(s)
	if err != nil || len(first.Problems) < 4 {
		t.Fatalf("%v, %v", first.Problems, err)
	}
	for range 20 {
		again, err := desire(s)
		if diff := cmp.Diff(first.Problems, again.Problems); err != nil || diff != "" {
			t.Fatalf("%v\n%s", err, diff)
		}
	}
}
