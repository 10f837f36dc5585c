package node

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"testing"

	"github.com/containernetworking/plugins/pkg/ns"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/knftables"

	"github.com/cluster-network-operator/cno/internal/netpolicy"
	"github.com/cluster-network-operator/cno/internal/testing/netns"
	"github.com/cluster-network-operator/cno/providers/openshiftsdn/flows"
)

// inside calls a function in a network namespace of its own.
func inside(t *testing.T, do func() error) {
	t.Helper()
	if err := ns.WithNetNSPath(netns.New(t, "tables").Path(), func(ns.NetNS) error { return do() }); err != nil {
		t.Fatal(err)
	}
}

// large is the input of a node with pods of namespaces a and b, of which all of a are selected by the same rule with addresses and ports, and each by one more.
func large(pods, addresses, portCount int) flows.Input {
	in := flows.Input{Mode: flows.NetworkPolicy, Address: netip.MustParseAddr("192.0.2.1")}
	rule := netpolicy.Rule{Peers: &netpolicy.Peers{}}
	for i := range addresses {
		a := netip.AddrFrom4([4]byte{198, 18, byte(i >> 7), byte(i << 1)})
		rule.Peers.Blocks = append(rule.Peers.Blocks, netpolicy.Block{CIDR: netip.PrefixFrom(a, 32)})
	}
	for i := range portCount {
		rule.Ports = append(rule.Ports, netpolicy.Port{Protocol: corev1.ProtocolTCP, First: uint16(1000 + 2*i), Last: uint16(1000 + 2*i)})
	}
	all := netpolicy.Policy{ID: netpolicy.ID{Namespace: "a", Name: "all"}, Egress: &netpolicy.Direction{Rules: []netpolicy.Rule{rule}}}
	for i := range pods {
		p := flows.Pod{ID: netpolicy.ID{Namespace: "a", Name: fmt.Sprint("pod-", i)}, Address: netip.AddrFrom4([4]byte{10, 128, 2, byte(3 + i)}), VNID: 10}
		in.Pods, all.Pods = append(in.Pods, p), append(all.Pods, p.ID)
		in.Policies = append(in.Policies, netpolicy.Policy{ID: netpolicy.ID{Namespace: "a", Name: fmt.Sprint("one-", i)}, Pods: []netpolicy.ID{p.ID}, Egress: &netpolicy.Direction{
			Rules: []netpolicy.Rule{{Peers: &netpolicy.Peers{Blocks: []netpolicy.Block{{CIDR: netip.PrefixFrom(p.Address, 32)}}}}},
		}})
	}
	other := flows.Pod{ID: netpolicy.ID{Namespace: "b", Name: "other"}, Address: netip.MustParseAddr("10.128.3.3"), VNID: 11}
	in.Pods = append(in.Pods, other)
	in.Policies = append(in.Policies, all, netpolicy.Policy{ID: netpolicy.ID{Namespace: "b", Name: "few"}, Pods: []netpolicy.ID{other.ID}, Egress: &netpolicy.Direction{
		Rules: []netpolicy.Rule{{Peers: &netpolicy.Peers{Blocks: []netpolicy.Block{{CIDR: netip.MustParsePrefix("203.0.113.0/24")}}}}},
	}})
	return in
}

// rulesOf returns the number of rules of a table, and of the elements of their sets after the first ones.
func rulesOf(t nftTable) (rules, elements int) {
	for _, c := range t.chains {
		rules += len(c.rules)
		for _, r := range c.rules {
			elements += strings.Count(r, ", ")
		}
	}
	return rules, elements
}

// TestOutsideRulesGrowWithAddressesPlusPorts: and not with their product, nor with pods times rules. The kernel has the table as it was written.
func TestOutsideRulesGrowWithAddressesPlusPorts(t *testing.T) {
	for _, row := range []struct {
		why                    string
		pods, addresses, ports int
		rules, elements        int
	}{
		{"a few", 2, 3, 3, 16, 4},
		{"1,000 addresses and 1,000 ports", 1, 1000, 1000, 12, 1998},
		{"200 pods, each with a policy of its own", 200, 1000, 1000, 808, 1998},
		{"as many as a node takes for a namespace", 1, 20000, 20000, 12, 39998},
	} {
		table := outsideRules(large(row.pods, row.addresses, row.ports))
		if rules, elements := rulesOf(table); rules != row.rules || elements != row.elements {
			t.Errorf("%s: %d rules with %d further elements, want %d with %d", row.why, rules, elements, row.rules, row.elements)
		}
		inside(t, func() error {
			var managed managedTable
			if _, err := managed.ensure(t.Context(), table); err != nil {
				return fmt.Errorf("%s: %w", row.why, err)
			}
			if desired, _ := managed.last(); desired == "" {
				t.Errorf("%s: the kernel lists another table than was written", row.why)
			}
			return nil
		})
	}
}

// TestRefusedRulesCloseTheirNamespace: rules that nftables refuses close the policies of their namespace, which are named, and the rules of others are applied.
func TestRefusedRulesCloseTheirNamespace(t *testing.T) {
	inside(t, func() error {
		table := outsideRules(large(3, 2, 2))
		var broken []string
		for i, c := range table.chains {
			if table.owners[c.name] == flows.PolicyOwner("a") && len(broken) < 2 {
				table.chains[i].rules = append(slices.Clone(c.rules), "jump no-such-chain")
				broken = append(broken, c.name)
			}
		}
		var problem error
		var closed map[string]string
		restored := 0
		k := newTableController(func(string) { restored++ }, func(err error) { problem = err }, func(owners map[string]string) { closed = owners })
		applied := k.set(table)
		for range 2 { // the second time, the refused chains are known
			if err := k.apply(t.Context()); err != nil {
				return err
			}
		}
		select {
		case <-applied:
		default:
			t.Error("pods wait for rules that nftables refuses")
		}
		if problem == nil || !strings.Contains(problem.Error(), "NetworkPolicies of namespace a") || restored != 0 {
			t.Errorf("the problem is %v, and %d changes of third parties were undone", problem, restored)
		}
		if reason := closed[flows.PolicyOwner("a")]; len(closed) != 1 || !strings.Contains(reason, "nftables refuses their rules: ") {
			t.Errorf("closed are %v", closed)
		}
		list, err := listTable(t.Context(), knftables.IPv4Family, outsideTable)
		if err != nil {
			return err
		}
		blocks := tableBlocks(list)
		for _, c := range table.chains {
			got := blocks["chain "+c.name].lines
			if slices.Contains(broken, c.name) {
				if !slices.Equal(got, []string{"drop"}) {
					t.Errorf("the refused chain %s has %q", c.name, got)
				}
			} else if len(got) != len(c.rules) {
				t.Errorf("chain %s has %q, want %q", c.name, got, c.rules)
			}
		}
		correct := k.set(outsideRules(large(3, 2, 2)))
		if err := k.apply(t.Context()); err != nil {
			return err
		}
		<-correct
		if problem != nil || len(closed) != 0 {
			t.Errorf("with correct rules, the problem is %v, and closed are %v", problem, closed)
		}
		return nil
	})
}
