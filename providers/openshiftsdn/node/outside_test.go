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
		{"a policy without rules", flows.NetworkPolicy, allow(), nil, [][]string{{"drop"}}},
		{"a rule for all", flows.NetworkPolicy, allow(netpolicy.Rule{}), nil, [][]string{{"return", "drop"}}},
		{"pods are inside: a rule for them allows nothing outside", flows.NetworkPolicy, allow(netpolicy.Rule{Peers: &netpolicy.Peers{Pods: []netpolicy.ID{id}, Namespaces: []string{"a"}}}), nil, [][]string{{"drop"}}},
		{"ranges with exceptions, and ports", flows.NetworkPolicy, allow(netpolicy.Rule{
			Peers: &netpolicy.Peers{Blocks: []netpolicy.Block{block("0.0.0.0/0", "10.0.0.0/8", "192.0.2.0/24"), block("fd00::/8")}}, Ports: []netpolicy.Port{tcp(443, 443), tcp(8000, 8100)},
		}), nil, [][]string{{
			"ip daddr 0.0.0.0/0 ip daddr != 10.0.0.0/8 ip daddr != 192.0.2.0/24 tcp dport 443 return", "ip daddr 0.0.0.0/0 ip daddr != 10.0.0.0/8 ip daddr != 192.0.2.0/24 tcp dport 8000-8100 return", "drop",
		}}},
		{"all ports of a protocol; a named port is one of pods", flows.NetworkPolicy, allow(netpolicy.Rule{Ports: []netpolicy.Port{tcp(1, 65535), {Protocol: corev1.ProtocolUDP, First: 53, Last: 53, Destinations: []netpolicy.ID{id}}}}), nil,
			[][]string{{"meta l4proto tcp return", "drop"}}},
		{"a rule whose ports are empty matches nothing", flows.NetworkPolicy, allow(netpolicy.Rule{Ports: []netpolicy.Port{}}), nil, [][]string{{"drop"}}},
		{"policies are not enforced in other modes", flows.Multitenant, allow(), nil, nil},
		{"a firewall: the first rule that matches decides", flows.Multitenant, nil, &flows.Firewall{VNID: 10, Rules: []flows.FirewallRule{
			{Destinations: []netip.Prefix{prefix("198.51.100.0/24")}}, {Deny: true}, {Deny: true, Destinations: []netip.Prefix{prefix("0.0.0.0/0")}},
		}}, [][]string{{dns, "ip daddr 198.51.100.0/24 return", "ip daddr 0.0.0.0/0 drop"}}},
		{"firewalls that contradict one another", flows.NetworkPolicy, nil, &flows.Firewall{VNID: 10, Closed: "two"}, [][]string{{dns, "drop"}}},
		{"the firewall of another VNID", flows.Multitenant, nil, &flows.Firewall{VNID: 11, Closed: "two"}, nil},
		{"both", flows.NetworkPolicy, allow(), &flows.Firewall{VNID: 10, Closed: "two"}, [][]string{{dns, "drop"}, {"drop"}}},
	} {
		in := flows.Input{Mode: row.mode, Address: netip.MustParseAddr("192.0.2.1"), Policies: row.policies, Pods: []flows.Pod{
			{ID: id, Address: netip.MustParseAddr("10.128.2.9"), VNID: 10}, {ID: netpolicy.ID{Namespace: "z", Name: "q"}, Address: netip.MustParseAddr("10.128.2.9"), VNID: 10},
		}}
		if row.firewall != nil {
			in.Firewalls = []flows.Firewall{*row.firewall}
		}
		table := outsideRules(in)
		var got [][]string
		elements := 0
		for _, c := range table.chains {
			if strings.HasPrefix(c.name, "policy-") || strings.HasPrefix(c.name, "firewall-") {
				got = append(got, c.rules)
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
