package node

import (
	"net/netip"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"

	"github.com/cluster-network-operator/cno/internal/netpolicy"
	"github.com/cluster-network-operator/cno/providers/openshiftsdn/flows"
)

// TestOutsideRules: the chain of a pod for what Services translate to addresses outside.
func TestOutsideRules(t *testing.T) {
	id := netpolicy.ID{Namespace: "a", Name: "p"}
	prefix := netip.MustParsePrefix
	block := func(cidr string, except ...string) netpolicy.Block {
		b := netpolicy.Block{CIDR: prefix(cidr)}
		for _, e := range except {
			b.Except = append(b.Except, prefix(e))
		}
		return b
	}
	allow := func(rules ...netpolicy.Rule) []netpolicy.Policy {
		return []netpolicy.Policy{{ID: netpolicy.ID{Namespace: "a", Name: "x"}, Pods: []netpolicy.ID{id}, Egress: &netpolicy.Direction{Rules: rules}}}
	}
	tcp := func(first, last uint16) netpolicy.Port {
		return netpolicy.Port{Protocol: corev1.ProtocolTCP, First: first, Last: last}
	}
	const dns = "ip daddr 192.0.2.1 meta l4proto { tcp, udp } th dport 53 return"
	for _, row := range []struct {
		why      string
		mode     flows.Mode
		policies []netpolicy.Policy
		firewall *flows.Firewall
		want     [][]string
	}{
		{"nothing isolates the pod", flows.NetworkPolicy, nil, nil, nil},
		{"a policy for ingress only", flows.NetworkPolicy, []netpolicy.Policy{{Pods: []netpolicy.ID{id}, Ingress: &netpolicy.Direction{}}}, nil, nil},
		{"a policy for other pods", flows.NetworkPolicy, []netpolicy.Policy{{Egress: &netpolicy.Direction{}}}, nil, nil},
		{"policies that are closed isolate, and allow nothing", flows.NetworkPolicy, []netpolicy.Policy{
			{ID: netpolicy.ID{Namespace: "closed", Name: "x"}, Pods: []netpolicy.ID{id}, Egress: &netpolicy.Direction{Rules: []netpolicy.Rule{{}}}},
		}, nil, [][]string{{"drop"}}},
		{"a policy without rules", flows.NetworkPolicy, allow(), nil, [][]string{{"drop"}}},
		{"a rule for all", flows.NetworkPolicy, allow(netpolicy.Rule{}), nil, [][]string{{"accept", "drop"}}},
		{"pods are inside: a rule for them allows nothing outside", flows.NetworkPolicy, allow(netpolicy.Rule{Peers: &netpolicy.Peers{Pods: []netpolicy.ID{id}, Namespaces: []string{"a"}}}), nil, [][]string{{"drop"}}},
		{"a range with an exception, and ports", flows.NetworkPolicy, allow(netpolicy.Rule{
			Peers: &netpolicy.Peers{Blocks: []netpolicy.Block{block("198.51.100.0/24", "198.51.100.128/25", "198.51.100.0/26"), block("fd00::/8")}}, Ports: []netpolicy.Port{tcp(443, 443), tcp(8000, 8100)},
		}), nil, [][]string{{"ip daddr 198.51.100.64/26 tcp dport { 443, 8000-8100 } accept", "drop"}}},
		{"ranges that overlap are one: sets have no such intervals", flows.NetworkPolicy, allow(netpolicy.Rule{
			Peers: &netpolicy.Peers{Blocks: []netpolicy.Block{block("198.51.100.0/24"), block("198.51.100.7/32"), block("198.51.100.0/25"), block("203.0.113.0/24", "203.0.113.128/25")}},
			Ports: []netpolicy.Port{tcp(80, 90), tcp(85, 100), tcp(101, 101), tcp(80, 80), {Protocol: corev1.ProtocolUDP, First: 53, Last: 53}, {Protocol: corev1.ProtocolSCTP, First: 5, Last: 9}},
		}), nil, [][]string{{
			"ip daddr { 198.51.100.0/24, 203.0.113.0/25 } sctp dport 5-9 accept", "ip daddr { 198.51.100.0/24, 203.0.113.0/25 } tcp dport 80-101 accept",
			"ip daddr { 198.51.100.0/24, 203.0.113.0/25 } udp dport 53 accept", "drop",
		}}},
		{"all addresses need no match", flows.NetworkPolicy, allow(netpolicy.Rule{
			Peers: &netpolicy.Peers{Blocks: []netpolicy.Block{block("10.0.0.0/8"), block("0.0.0.0/0")}}, Ports: []netpolicy.Port{tcp(443, 443)},
		}), nil, [][]string{{"tcp dport 443 accept", "drop"}}},
		{"a range that its exceptions cover matches nothing", flows.NetworkPolicy, allow(netpolicy.Rule{
			Peers: &netpolicy.Peers{Blocks: []netpolicy.Block{block("198.51.100.0/24", "198.51.0.0/16")}},
		}), nil, [][]string{{"drop"}}},
		{"all ports of a protocol; a named port is one of pods", flows.NetworkPolicy, allow(netpolicy.Rule{Ports: []netpolicy.Port{tcp(1, 65535), {Protocol: corev1.ProtocolUDP, First: 53, Last: 53, Destinations: []netpolicy.ID{id}}}}), nil,
			[][]string{{"meta l4proto tcp accept", "drop"}}},
		{"a rule whose ports are empty matches nothing", flows.NetworkPolicy, allow(netpolicy.Rule{Ports: []netpolicy.Port{}}), nil, [][]string{{"drop"}}},
		{"policies are not enforced in other modes", flows.Multitenant, allow(), nil, nil},
		{"a firewall: the first rule that matches decides", flows.Multitenant, nil, &flows.Firewall{VNID: 10, Rules: []flows.FirewallRule{
			{Destinations: []netip.Prefix{prefix("198.51.100.0/24")}}, {Deny: true}, {Deny: true, Destinations: []netip.Prefix{prefix("0.0.0.0/0")}},
		}}, [][]string{{dns, "ip daddr 198.51.100.0/24 return", "ip daddr 0.0.0.0/0 drop"}}},
		{"firewalls that contradict one another", flows.NetworkPolicy, nil, &flows.Firewall{VNID: 10, Closed: "two"}, [][]string{{dns, "drop"}}},
		{"the firewall of another VNID", flows.Multitenant, nil, &flows.Firewall{VNID: 11, Closed: "two"}, nil},
		{"a firewall that Open vSwitch refuses", flows.NetworkPolicy, nil, &flows.Firewall{VNID: 10, Name: "refused", Rules: []flows.FirewallRule{{Destinations: []netip.Prefix{prefix("0.0.0.0/0")}}}}, [][]string{{dns, "drop"}}},
		{"both", flows.NetworkPolicy, allow(), &flows.Firewall{VNID: 10, Closed: "two"}, [][]string{{dns, "drop"}, {"drop"}}},
	} {
		in := flows.Input{Mode: row.mode, Address: netip.MustParseAddr("192.0.2.1"), Policies: row.policies, Pods: []flows.Pod{
			{ID: id, Address: netip.MustParseAddr("10.128.2.9"), VNID: 10}, {ID: netpolicy.ID{Namespace: "z", Name: "q"}, Address: netip.MustParseAddr("10.128.2.9"), VNID: 10},
		}}
		in.Closed = map[string]string{"refused": "a reason", flows.PolicyOwner("closed"): "a reason"}
		if row.firewall != nil {
			in.Firewalls = []flows.Firewall{*row.firewall}
		}
		table := outsideRules(in)
		var got [][]string
		elements := 0
		rules := map[string][]string{}
		for _, c := range table.chains {
			rules[c.name] = c.rules
		}
		for _, c := range table.chains {
			if strings.HasPrefix(c.name, "policy-") || strings.HasPrefix(c.name, "firewall-") {
				var all []string
				for _, r := range c.rules {
					if to, jumps := strings.CutPrefix(r, "jump "); jumps {
						all = append(all, rules[to]...)
					} else {
						all = append(all, r)
					}
				}
				got = append(got, all)
			}
		}
		for _, c := range table.collections {
			elements += len(c.elements)
		}
		if diff := cmp.Diff(row.want, got); diff != "" || elements != len(got) {
			t.Errorf("%s: %d elements, %s", row.why, elements, diff)
		}
	}
}
