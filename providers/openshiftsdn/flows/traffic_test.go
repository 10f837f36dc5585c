package flows_test

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"testing"

	sdn "github.com/cluster-network-operator/cno/providers/openshiftsdn/flows"
)

// TestMultitenantMatrix is who reaches whom in mode Multitenant: five relations of VNIDs, pod and Service, one node and two, both directions.
func TestMultitenantMatrix(t *testing.T) {
	v := newSwitch(t)
	c := v.cluster(sdn.Multitenant)
	cells := 0
	for _, relation := range []struct {
		why                string
		before, one, other uint32
		connect            bool
	}{
		{"pods of one namespace", 11, 11, 11, true},
		{"pods of two namespaces", 12, 11, 12, false},
		{"after join the VNIDs are equal", 12, 11, 11, true},
		{"after isolate they differ again", 11, 11, 13, false},
		{"a global namespace", 12, 11, sdn.Global, true},
	} {
		for _, n := range c {
			n.input.Pods = nil
		}
		// Nothing is left of earlier flows.
		c[0].pod("other", "near", 6, relation.before)
		c[1].pod("other", "far", 6, relation.before)
		c.apply()
		for _, n := range c {
			n.input.Pods = nil
		}
		one := c[0].pod("one", "client", 5, relation.one)
		near, far := c[0].pod("other", "near", 6, relation.other), c[1].pod("other", "far", 6, relation.other)
		c.apply()
		for _, other := range []sdn.Pod{near, far} {
			for _, service := range []bool{false, true} {
				for _, ends := range [][2]sdn.Pod{{one, other}, {other, one}} {
					cells++
					connect, reason := c.delivered(ends[0], ends[1], "tcp,tp_dst=80", service)
					if connect != relation.connect {
						t.Errorf("%s: %s to %s, Service %t: connected is %t: %s", relation.why, ends[0].ID, ends[1].ID, service, connect, reason)
					}
					if !connect && reason != "the VNIDs of source and destination differ" {
						t.Errorf("%s: the reason is %q", relation.why, reason)
					}
				}
			}
		}
	}
	if cells != 40 {
		t.Errorf("the matrix has %d cells", cells)
	}
}

// TestSubnetIsolatesNothing: VNIDs make no difference in mode Subnet.
func TestSubnetIsolatesNothing(t *testing.T) {
	v := newSwitch(t)
	c := v.cluster(sdn.Subnet)
	one, near, far := c[0].pod("one", "a", 5, 0), c[0].pod("two", "b", 6, 0), c[1].pod("three", "c", 7, 0)
	c.apply()
	for _, ends := range [][2]sdn.Pod{{one, near}, {near, one}, {one, far}, {far, one}} {
		for _, service := range []bool{false, true} {
			if connect, reason := c.delivered(ends[0], ends[1], "udp,udp_dst=53", service); !connect {
				t.Errorf("%s to %s, Service %t: %s", ends[0].ID, ends[1].ID, service, reason)
			}
		}
	}
}

// TestPackets is what becomes of single packets of a node: each row is one that must pass, or an attempt that must not.
func TestPackets(t *testing.T) {
	v := newSwitch(t)
	n := v.node(1, sdn.NetworkPolicy)
	n.pod("shop", "web", 5, 10) // port 15
	n.pod("shop", "db", 6, 10)  // port 16
	n.pod("other", "x", 7, 11)  // port 17
	n.pod("stream", "y", 8, 12) // port 18
	n.pod("egress", "z", 9, 0x800013)
	n.pod("shared", "s", 11, 14)
	n.pod("beside", "t", 12, 14)
	n.pod("several", "u", 13, 15)
	n.input.Multicast = []uint32{10, 12}
	n.input.Firewalls = []sdn.Firewall{
		{VNID: 11, Name: "EgressNetworkPolicy other/default", Rules: []sdn.FirewallRule{
			{Deny: false, Destinations: []netip.Prefix{netip.MustParsePrefix("198.51.100.0/28")}},
			{Deny: true, Destinations: []netip.Prefix{netip.MustParsePrefix("0.0.0.0/0")}},
		}},
		{VNID: 12, Name: "EgressNetworkPolicy stream/a", Closed: "the namespace has two"},
	}
	n.input.EgressIPs = []sdn.EgressIP{
		{VNID: 0x800013, Name: "namespace egress", Local: true, Nodes: []netip.Addr{address(2)}},
		{VNID: 10, Name: "namespace shop", Nodes: []netip.Addr{address(2)}},
		{VNID: 99, Name: "namespace lost"},
		{VNID: 14, Name: "namespace shared", Dropped: "it shares its VNID", Only: []netip.Addr{netip.MustParseAddr("10.128.2.11")}},
		{VNID: 15, Name: "namespace several", Nodes: []netip.Addr{address(2), address(3)}},
	}
	n.apply()
	const pod, toKernel = "nw_src=10.128.2.5", "kernel"
	for _, row := range []struct {
		why, packet, tracked string
		// want is "kernel", "port N", "tunnel VNID", or the reason for which it is dropped.
		want string
	}{
		{"a pod's own address", "in_port=15,tcp,nw_src=10.128.2.5,nw_dst=10.128.2.6,tp_dst=80", "", "port 16"},
		{"the address of another pod", "in_port=15,tcp,nw_src=10.128.2.7,nw_dst=10.128.2.6,tp_dst=80", "", "the source address is not the pod's"},
		{"the node's address", "in_port=15,tcp,nw_src=10.128.2.1,nw_dst=10.128.2.6,tp_dst=80", "", "the source address is not the pod's"},
		{"a Service's address", "in_port=15,tcp,nw_src=172.30.0.10,nw_dst=10.128.2.6,tp_dst=80", "", "the source address is not the pod's"},
		{"ARP of a pod", "in_port=15,arp,arp_spa=10.128.2.5,arp_tpa=10.128.2.6,arp_sha=0a:58:0a:80:02:05", "", "port 16"},
		{"ARP for the next hop", "in_port=15,arp,arp_spa=10.128.2.5,arp_tpa=10.128.2.1,arp_sha=0a:58:0a:80:02:05", "", toKernel},
		{"ARP for a pod of another node", "in_port=15,arp,arp_spa=10.128.2.5,arp_tpa=10.128.4.9,arp_sha=0a:58:0a:80:02:05", "", "tunnel 10"},
		{"ARP for a node that does not exist", "in_port=15,arp,arp_spa=10.128.2.5,arp_tpa=10.129.0.9,arp_sha=0a:58:0a:80:02:05", "", "no node has the address in its block"},
		{"ARP outside of the cluster", "in_port=15,arp,arp_spa=10.128.2.5,arp_tpa=192.0.2.1,arp_sha=0a:58:0a:80:02:05", "", "ARP for an address outside of the cluster network"},
		{"ARP in the name of another pod", "in_port=15,arp,arp_spa=10.128.2.6,arp_tpa=10.128.2.7,arp_sha=0a:58:0a:80:02:05", "", "the source address is not the pod's"},
		{"ARP with another hardware address", "in_port=15,arp,arp_spa=10.128.2.5,arp_tpa=10.128.2.7,arp_sha=0a:58:0a:80:02:06", "", "the source address is not the pod's"},
		{"VXLAN of a pod", "in_port=15,udp,nw_src=10.128.2.5,nw_dst=192.0.2.2,udp_dst=4789", "", "pods do not send to the UDP port of tunnels"},
		{"IPv6 of a pod", "in_port=15,ipv6", "", "neither IPv4 nor ARP"},
		{"the local port of the bridge", "in_port=LOCAL,ip," + pod, "", "the local port of the bridge sends nothing"},

		{"from a node", "in_port=1,tun_src=192.0.2.2,tun_id=10,tcp,nw_src=10.128.4.5,nw_dst=10.128.2.5", "", "port 15"},
		{"from a host that is no node", "in_port=1,tun_src=192.0.2.9,tun_id=10,tcp,nw_src=10.128.4.5,nw_dst=10.128.2.5", "", "the sender of the tunnel packet is no node"},
		{"an answer from outside by another node's egress IP", "in_port=1,tun_src=192.0.2.2,tun_id=0,tcp,nw_src=198.51.100.1,nw_dst=10.128.2.5", "trk,est,rpl", "port 15"},
		{"from outside to outside by the tunnel", "in_port=1,tun_src=192.0.2.2,tun_id=10,tcp,nw_src=198.51.100.1,nw_dst=198.51.100.2", "", "packets by the tunnel that are not of the cluster network"},
		{"by the tunnel for a third node", "in_port=1,tun_src=192.0.2.2,tun_id=10,tcp,nw_src=10.128.4.5,nw_dst=10.129.0.5", "", "packets of another node for a third one"},
		{"by the tunnel to a Service", "in_port=1,tun_src=192.0.2.2,tun_id=10,tcp,nw_src=10.128.4.5,nw_dst=172.30.0.10", "", "packets to a Service that the kernel has not translated do not go back to it, and other nodes send none"},
		{"by the tunnel to no pod", "in_port=1,tun_src=192.0.2.2,tun_id=10,tcp,nw_src=10.128.4.5,nw_dst=10.128.2.99", "", "no pod of this node has the address"},

		{"the node to its pod", "in_port=2,tcp,nw_src=10.128.2.1,nw_dst=10.128.2.5", "", "port 15"},
		{"the node to a pod of another", "in_port=2,tcp,nw_src=10.128.2.1,nw_dst=10.128.4.5", "", "tunnel 0"},
		{"a pod to the node", "in_port=15,tcp,nw_src=10.128.2.5,nw_dst=10.128.2.1", "", toKernel},
		{"a pod to a Service", "in_port=15,tcp,nw_src=10.128.2.5,nw_dst=172.30.0.10,tp_dst=80", "", toKernel},
		{"a Service that the kernel did not translate", "in_port=2,tcp,nw_src=10.128.2.1,nw_dst=172.30.0.10,tp_dst=80", "", "packets to a Service that the kernel has not translated do not go back to it, and other nodes send none"},
		{"a translated packet of a pod of the node", "in_port=2,tcp,nw_src=10.128.2.5,nw_dst=10.128.4.6", "", "tunnel 10"},
		{"a translated packet of no pod of the node", "in_port=2,tcp,nw_src=10.128.2.99,nw_dst=10.128.4.6", "", "the source is no pod of this node"},
		{"a pod's address from outside", "in_port=2,tcp,nw_src=10.128.4.5,nw_dst=10.128.2.5", "", "packets by the node whose source is a pod's address, but not one of this node's pods"},
		{"an answer of a Service that the kernel has translated back", "in_port=2,tcp,nw_src=172.30.0.10,nw_dst=10.128.2.5", "", "port 15"},
		{"a client that keeps its address", "in_port=2,tcp,nw_src=198.51.100.1,nw_dst=10.128.2.5", "", "port 15"},
		{"multicast of the node", "in_port=2,udp,nw_src=10.128.2.1,nw_dst=239.1.1.1", "", "multicast does not leave or enter by the node"},
		{"ARP of the node with another address", "in_port=2,arp,arp_spa=192.0.2.1,arp_tpa=10.128.2.5", "", "everything else by the node is neither IP nor ARP of its own address"},

		{"an answer of a connection by a Service", "in_port=16,ct_state=trk|est|rpl,ct_mark=1,tcp,nw_src=10.128.2.6,nw_dst=10.128.2.5", "", toKernel},
		{"an answer of a connection by a Service, from another node", "in_port=1,tun_src=192.0.2.2,tun_id=10,ct_state=trk|est|rpl,ct_mark=1,tcp,nw_src=10.128.4.6,nw_dst=10.128.2.5", "", toKernel},
		{"an answer of a direct connection", "in_port=16,ct_state=trk|est|rpl,tcp,nw_src=10.128.2.6,nw_dst=10.128.2.5", "", "port 15"},
		{"the opener's own packets of a connection by a Service", "in_port=2,ct_state=trk|est,ct_mark=1,tcp,nw_src=10.128.2.5,nw_dst=10.128.2.6", "", "port 16"},

		{"out with the egress IP of this node", "in_port=19,tcp,nw_src=10.128.2.9,nw_dst=198.51.100.1,tp_dst=80", "", "kernel 02:00:00:80:00:13"},
		{"DNS to the own node leaves with the node's address", "in_port=19,udp,nw_src=10.128.2.9,nw_dst=192.0.2.1,udp_dst=53", "", toKernel},
		{"out with the egress IP of another node", "in_port=15,tcp,nw_src=10.128.2.5,nw_dst=198.51.100.1,tp_dst=80", "", "tunnel 10"},
		{"answers to clients outside leave as they came", "in_port=15,ct_state=trk|est|rpl,tcp,nw_src=10.128.2.5,nw_dst=198.51.100.1", "", toKernel},
		{"a pod of another node with the egress IP of this one", "in_port=1,tun_src=192.0.2.2,tun_id=0x800013,tcp,nw_src=10.128.4.5,nw_dst=198.51.100.1", "", "kernel 02:00:00:80:00:13"},
		{"a pod of another node whose egress IP this one does not have", "in_port=1,tun_src=192.0.2.2,tun_id=77,tcp,nw_src=10.128.4.5,nw_dst=198.51.100.1", "", "another node takes this one for the node of an egress IP that it does not have"},
		{"an answer to a client outside, of a pod with egress IPs: the kernel knows that no connection may begin so", "in_port=15,ct_state=trk|est|rpl,tcp,nw_src=10.128.2.5,nw_dst=198.51.100.1", "", "kernel 02:00:01:00:00:0a"},
		{"to a Service, of a pod with egress IPs: its endpoint may be outside", "in_port=15,tcp,nw_src=10.128.2.5,nw_dst=172.30.0.10,tp_dst=80", "", "kernel 02:00:01:00:00:0a"},
		{"what looks like a reply because connection tracking has lost its state, from another node, leaves by the egress IP", "in_port=1,tun_src=192.0.2.2,tun_id=0x800013,ct_state=trk|est|rpl,tcp,nw_src=10.128.4.5,nw_dst=198.51.100.1", "", "kernel 02:00:00:80:00:13"},
		{"and not at all without one", "in_port=1,tun_src=192.0.2.2,tun_id=77,ct_state=trk|est|rpl,tcp,nw_src=10.128.4.5,nw_dst=198.51.100.1", "", "another node takes this one for the node of an egress IP that it does not have"},
		{"DNS of another node's pod to this node", "in_port=1,tun_src=192.0.2.2,tun_id=77,udp,nw_src=10.128.4.5,nw_dst=192.0.2.1,udp_dst=53", "", "another node takes this one for the node of an egress IP that it does not have"},
		{"a pod claims another VNID's egress IP, to a Service", "in_port=17,dl_dst=02:00:00:80:00:13,tcp,nw_src=10.128.2.7,nw_dst=172.30.0.10,tp_dst=80", "", "kernel 0a:58:0a:80:02:01"},
		{"a pod claims another VNID's egress IP, to outside", "in_port=17,dl_dst=02:00:00:80:00:13,tcp,nw_src=10.128.2.7,nw_dst=198.51.100.1,tp_dst=80", "", "kernel 0a:58:0a:80:02:01"},
		{"a pod claims another VNID's egress IP, to the node", "in_port=17,dl_dst=02:00:00:80:00:13,tcp,nw_src=10.128.2.7,nw_dst=10.128.2.1,tp_dst=80", "", "kernel 0a:58:0a:80:02:01"},
		{"a namespace that shares its VNID", "in_port=21,tcp,nw_src=10.128.2.11,nw_dst=198.51.100.1,tp_dst=80", "", "namespace shared: it shares its VNID"},
		{"another one of the VNID asks for nothing", "in_port=22,tcp,nw_src=10.128.2.12,nw_dst=198.51.100.1,tp_dst=80", "", "kernel 0a:58:0a:80:02:01"},
		{"one of several egress IPs", "in_port=23,tcp,nw_src=10.128.2.13,nw_dst=198.51.100.1,tp_dst=80", "", "tunnel 15"},
		{"the firewall's first rule", "in_port=17,tcp,nw_src=10.128.2.7,nw_dst=198.51.100.1,tp_dst=80", "", toKernel},
		{"the firewall's second rule", "in_port=17,tcp,nw_src=10.128.2.7,nw_dst=198.51.100.17,tp_dst=80", "", "EgressNetworkPolicy other/default, rule 1: Deny 0.0.0.0/0"},
		{"DNS to the own node passes the firewall", "in_port=17,udp,nw_src=10.128.2.7,nw_dst=192.0.2.1,udp_dst=53", "", toKernel},
		{"an answer to a client outside passes the firewall", "in_port=17,ct_state=trk|est|rpl,tcp,nw_src=10.128.2.7,nw_dst=198.51.100.17", "", toKernel},
		{"inside of the cluster there is no firewall", "in_port=17,tcp,nw_src=10.128.2.7,nw_dst=10.128.2.6,tp_dst=80", "", "port 16"},
		{"contradicting firewalls", "in_port=18,tcp,nw_src=10.128.2.8,nw_dst=198.51.100.1,tp_dst=80", "", "EgressNetworkPolicy stream/a: the namespace has two"},

		{"multicast in a namespace that has it", "in_port=15,udp,nw_src=10.128.2.5,nw_dst=239.1.1.1", "", "port 15 16 tunnel 10"},
		{"multicast in one that has not", "in_port=17,udp,nw_src=10.128.2.7,nw_dst=239.1.1.1", "", "multicast is not enabled for the namespace"},
		{"multicast of another node reaches pods of its VNID", "in_port=1,tun_src=192.0.2.2,tun_id=12,udp,nw_src=10.128.4.5,nw_dst=239.1.1.1", "", "port 18"},
		{"multicast of another node in a VNID without", "in_port=1,tun_src=192.0.2.2,tun_id=11,udp,nw_src=10.128.4.5,nw_dst=239.1.1.1", "", "no pod of this node has multicast enabled in the VNID"},
	} {
		var tracked []string
		if row.tracked != "" {
			tracked = []string{row.tracked, row.tracked}
		}
		o := n.send(row.packet, tracked...)
		if got := describe(o); got != row.want && !(o.kernel && strings.HasPrefix(row.want, "kernel ") && strings.Contains(o.text, "dl_dst="+strings.TrimPrefix(row.want, "kernel "))) {
			t.Errorf("%s: %q, want %q\n%s", row.why, got, row.want, o.text)
		}
	}
}

func describe(o outcome) string {
	if o.dropped() {
		return o.reason
	}
	var parts []string
	slices.Sort(o.ports)
	if len(o.ports) > 0 {
		parts = append(parts, "port "+strings.Trim(fmt.Sprint(o.ports), "[]"))
	}
	if o.kernel {
		parts = append(parts, "kernel")
	}
	for range o.tunnels {
		parts = append(parts, fmt.Sprintf("tunnel %d", o.vnid))
	}
	return strings.Join(parts, " ")
}
