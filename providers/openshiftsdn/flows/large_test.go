package flows_test

import (
	"fmt"
	"net/netip"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/cluster-network-operator/cno/internal/netpolicy"
	sdn "github.com/cluster-network-operator/cno/providers/openshiftsdn/flows"
)

// client is the address of the i-th peer of rules, on another node.
func client(i int) netip.Addr { return netip.AddrFrom4([4]byte{10, 130, byte(i >> 8), byte(i)}) }

// policyOf returns a policy for a pod with rules that allow one client each, on one port.
func policyOf(pod sdn.Pod, rules int) netpolicy.Policy {
	p := netpolicy.Policy{ID: netpolicy.ID{Namespace: pod.Namespace, Name: "large"}, Pods: []netpolicy.ID{pod.ID}, Ingress: &netpolicy.Direction{}}
	for i := range rules {
		p.Ingress.Rules = append(p.Ingress.Rules, netpolicy.Rule{
			Index: i, Peers: &netpolicy.Peers{Blocks: []netpolicy.Block{{CIDR: netip.PrefixFrom(client(i), 32)}}},
			Ports: []netpolicy.Port{{Protocol: corev1.ProtocolTCP, First: 80, Last: 80}},
		})
	}
	return p
}

// withoutNamespace returns the flows that do not belong to policies of a namespace.
func withoutNamespace(r sdn.Result, namespace string) string {
	text := r.Flows.Explained()
	var out []string
	for line := range strings.Lines(text) {
		if !strings.Contains(line, "NetworkPolicies of namespace "+namespace) && !strings.Contains(line, "NetworkPolicy "+namespace+"/") {
			out = append(out, line)
		}
	}
	return strings.Join(out, "")
}

// TestPoliciesOfOneNamespaceAreLimited: the rules of a namespace need several priorities or are closed, and the flows of others do not depend on them.
func TestPoliciesOfOneNamespaceAreLimited(t *testing.T) {
	input := func(rules int) sdn.Input {
		in := nodeInput(1, sdn.NetworkPolicy)
		for i, ns := range []string{"large", "other"} {
			a := netip.AddrFrom4([4]byte{10, 128, 2, byte(5 + i)})
			p := sdn.Pod{ID: netpolicy.ID{Namespace: ns, Name: "web"}, Address: a, MAC: sdn.PodMAC(a), Port: uint32(10 + i), VNID: uint32(10 + i)}
			in.Pods, in.VNIDs[ns] = append(in.Pods, p), p.VNID
		}
		in.Policies = []netpolicy.Policy{policyOf(in.Pods[0], rules), policyOf(in.Pods[1], 3)}
		return in
	}
	others := withoutNamespace(desired(t, input(1)), "large")
	for _, row := range []struct {
		why    string
		rules  int
		levels int
		closed bool
	}{
		{"one rule", 1, 1, false},
		{"a flow has room for these", 4000, 1, false},
		{"and one more", 4001, 2, false},
		{"three priorities", 8001, 3, false},
		{"a pod, a peer and two parts of a port for each rule: at the limit", 25000, 7, false},
		{"above", 25001, 0, true},
	} {
		result := desired(t, input(row.rules))
		levels := map[string]bool{}
		for line := range strings.Lines(result.Flows.Owned(sdn.PolicyOwner("large"))) {
			if _, rest, found := strings.Cut(line, "priority="); found && strings.Contains(line, "conj_id=") {
				priority, _, _ := strings.Cut(rest, ",")
				levels[priority] = true
			}
		}
		if len(levels) != row.levels {
			t.Errorf("%s: %d priorities, want %d", row.why, len(levels), row.levels)
		}
		if reason := result.Closed[sdn.PolicyOwner("large")]; row.closed != strings.Contains(reason, "more than 100000 pods, peers and ports") || len(result.Closed) > 1 {
			t.Errorf("%s: closed are %v", row.why, result.Closed)
		}
		if got := withoutNamespace(result, "large"); got != others {
			t.Errorf("%s: the flows of others change", row.why)
		}
	}
}

// TestManyRulesOfOnePort: Open vSwitch takes the flows of more rules of one port than one flow has room for, each rule is enforced, and a namespace with too many
// is closed while another one is not.
func TestManyRulesOfOnePort(t *testing.T) {
	n := newSwitch(t).node(1, sdn.NetworkPolicy)
	large, other, excessive := n.pod("large", "web", 5, 10), n.pod("other", "web", 6, 11), n.pod("excessive", "web", 7, 12)
	for _, p := range n.input.Pods {
		n.input.VNIDs[p.Namespace] = p.VNID
	}
	n.input.Policies = []netpolicy.Policy{policyOf(large, 9000), policyOf(other, 2), policyOf(excessive, 26000)}
	n.apply()
	for _, row := range []struct {
		why    string
		to     sdn.Pod
		client int
		port   int
		passes bool
		reason string
	}{
		{"the first rule", large, 0, 80, true, "NetworkPolicy large/large, ingress rule 0"},
		{"the last rule of a flow", large, 3999, 80, true, "NetworkPolicy large/large, ingress rule 3999"},
		{"the first of the next flow", large, 4000, 80, true, "NetworkPolicy large/large, ingress rule 4000"},
		{"the last rule", large, 8999, 80, true, "NetworkPolicy large/large, ingress rule 8999"},
		{"no rule", large, 9000, 80, false, "pod large/web: no ingress rule of NetworkPolicy large/large allows it"},
		{"another port", large, 8999, 81, false, "pod large/web: no ingress rule of NetworkPolicy large/large allows it"},
		{"another namespace", other, 1, 80, true, "NetworkPolicy other/large, ingress rule 1"},
		{"a client of a rule of another namespace", other, 2, 80, false, "pod other/web: no ingress rule of NetworkPolicy other/large allows it"},
		{"a namespace with too many rules", excessive, 0, 80, false, "pod excessive/web: the NetworkPolicies of namespace excessive allow nothing: their rules have more than 100000 pods, peers and ports for the pods of one node"},
	} {
		o := n.send(fmt.Sprintf("in_port=1,tun_src=192.0.2.2,tun_id=99,tcp,nw_src=%s,nw_dst=%s,tp_dst=%d", client(row.client), row.to.Address, row.port))
		passes := len(o.ports) == 1 && o.ports[0] == row.to.Port
		if passes != row.passes || !row.passes && o.reason != row.reason {
			t.Errorf("%s: passes %t, %q\n%s", row.why, passes, o.reason, o.text)
		}
	}
}
