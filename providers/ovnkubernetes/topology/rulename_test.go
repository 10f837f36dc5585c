package topology

import (
	"testing"

	"github.com/cluster-network-operator/cno/internal/netpolicy"
)

// TestExplain: the keys of access rules are read as what they stand for, also those of objects whose names are words of other keys.
func TestExplain(t *testing.T) {
	for _, row := range []struct{ why, key, want string }{
		{"a rule of a policy", RuleKey(netpolicy.ID{Namespace: "shop", Name: "only-web"}, netpolicy.Ingress, 2), "NetworkPolicy shop/only-web, ingress rule 2, allows it"},
		{"one of its named ports", RuleKey(netpolicy.ID{Namespace: "shop", Name: "only-web"}, netpolicy.Egress, 0) + " TCP http 80", "NetworkPolicy shop/only-web, egress rule 0, allows it"},
		{"the isolation of a namespace", IsolationKey("shop", netpolicy.Egress) + " drop", "no egress rule of a NetworkPolicy that isolates the pod in namespace shop allows it"},
		{"what it lets pass", IsolationKey("shop", netpolicy.Ingress) + " neighbours", "ARP and neighbour discovery pass under any NetworkPolicy"},
		{"a node", NodeKey("worker-0"), "node worker-0 reaches its own pods"},
		{"a policy in a namespace called node", RuleKey(netpolicy.ID{Namespace: "node", Name: "x"}, netpolicy.Ingress, 0), "NetworkPolicy node/x, ingress rule 0, allows it"},
		{"multicast", MulticastKey("stream") + " send", "the pods of namespace stream may send multicast to one another"},
		{"no multicast", NoMulticastKey + " receive", "the namespace has no multicast: it lacks the annotation k8s.ovn.org/multicast-enabled"},
		{"the hairpin", HairpinKey, "a pod reaches itself through a Service"},
		{"a key of another version", "something new", `access rule "something new"`},
	} {
		if got := Explain(row.key); got != row.want {
			t.Errorf("%s: %q is %q, want %q", row.why, row.key, got, row.want)
		}
	}
}
