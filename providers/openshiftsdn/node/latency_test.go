package node_test

import (
	"strings"
	"testing"

	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/cluster-network-operator/cno/internal/testing/eventually"
	"github.com/cluster-network-operator/cno/providers/openshiftsdn/agentconfig"
)

// TestProgrammingLatencyIsCounted: for changes that change flows of the node, by the kind of the object, and not for those that exist at the start.
func TestProgrammingLatencyIsCounted(t *testing.T) {
	c, one, _ := running(t, agentconfig.NetworkPolicy)
	one.pod("one", "a", nil)
	count := func(kind string) string {
		out, _ := one.at.Try("curl", "-s", "http://"+one.config.NodeHealthAddress+"/metrics")
		for line := range strings.Lines(out) {
			if rest, is := strings.CutPrefix(line, `openshift_sdn_programming_seconds_count{kind="`+kind+`"} `); is {
				return strings.TrimSpace(rest)
			}
		}
		return "0"
	}
	if before := count("networkpolicy"); before != "0" {
		t.Errorf("%s changes of policies are counted before there was one", before)
	}
	c.create(&networkingv1.NetworkPolicy{ObjectMeta: metav1.ObjectMeta{Namespace: "one", Name: "deny"}, Spec: networkingv1.NetworkPolicySpec{PolicyTypes: []networkingv1.PolicyType{networkingv1.PolicyTypeIngress}}})
	eventually.Holds(t, "the change is counted", func() (string, bool) {
		now := count("networkpolicy")
		return now, now == "1"
	})
	// It selects no pod of this node.
	c.create(&networkingv1.NetworkPolicy{ObjectMeta: metav1.ObjectMeta{Namespace: "two", Name: "deny"}, Spec: networkingv1.NetworkPolicySpec{PolicyTypes: []networkingv1.PolicyType{networkingv1.PolicyTypeIngress}}})
	one.pod("one", "b", nil) // its flows come after those of the policy
	if after := count("networkpolicy"); after != "1" {
		t.Errorf("%s changes of policies are counted, one has an effect", after)
	}
}
