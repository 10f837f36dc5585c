package controller

import (
	"fmt"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	sdnv1 "github.com/cluster-network-operator/cno/api/sdn/v1"
	"github.com/cluster-network-operator/cno/providers/openshiftsdn/agentconfig"
)

// TestFirewallsThatAreNotApplied: each has the reason, and none once it is resolved.
func TestFirewallsThatAreNotApplied(t *testing.T) {
	policy := func(namespace, name string) *sdnv1.EgressNetworkPolicy {
		return &sdnv1.EgressNetworkPolicy{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}, Spec: sdnv1.EgressNetworkPolicySpec{
			Egress: []sdnv1.EgressNetworkPolicyRule{{Type: sdnv1.EgressNetworkPolicyRuleDeny, To: sdnv1.EgressNetworkPolicyPeer{CIDRSelector: "0.0.0.0/0"}}},
		}}
	}
	namespace := func(name string, vnid uint32) *sdnv1.NetNamespace {
		return &sdnv1.NetNamespace{ObjectMeta: metav1.ObjectMeta{Name: name}, NetName: name, NetID: vnid}
	}
	a, b, global := namespace("a", 10), namespace("b", 11), namespace("c", 0)
	const two = "EgressNetworkPolicyNotApplied: namespace a has 2 EgressNetworkPolicies: all that its pods send outside of the cluster is dropped; delete all but one"
	for _, row := range []struct {
		why        string
		mode       agentconfig.Mode
		policies   []*sdnv1.EgressNetworkPolicy
		namespaces []*sdnv1.NetNamespace
		want       []string
	}{
		{"one in a namespace", agentconfig.NetworkPolicy, []*sdnv1.EgressNetworkPolicy{policy("a", "x"), policy("b", "x")}, []*sdnv1.NetNamespace{a, b}, nil},
		{"a second one", agentconfig.NetworkPolicy, []*sdnv1.EgressNetworkPolicy{policy("a", "x"), policy("a", "y"), policy("b", "x")}, []*sdnv1.NetNamespace{a, b},
			[]string{"a/x " + two, "a/y " + two}},
		{"the second one is deleted", agentconfig.NetworkPolicy, []*sdnv1.EgressNetworkPolicy{policy("a", "x"), policy("b", "x")}, []*sdnv1.NetNamespace{a, b}, nil},
		{"VNID 0", agentconfig.Multitenant, []*sdnv1.EgressNetworkPolicy{policy("c", "x")}, []*sdnv1.NetNamespace{global},
			[]string{"c/x EgressNetworkPolicyNotApplied: namespace c is global (VNID 0): it is not applied; isolate the namespace, or delete this object"}},
		{"a shared VNID", agentconfig.Multitenant, []*sdnv1.EgressNetworkPolicy{policy("a", "x")}, []*sdnv1.NetNamespace{a, namespace("b", 10)},
			[]string{"a/x EgressNetworkPolicyNotApplied: namespace a shares VNID 10 with others: all that their pods send outside of the cluster is dropped; isolate the namespace, or delete this object"}},
		{"it is isolated again", agentconfig.Multitenant, []*sdnv1.EgressNetworkPolicy{policy("a", "x")}, []*sdnv1.NetNamespace{a, b}, nil},
		{"mode Subnet", agentconfig.Subnet, []*sdnv1.EgressNetworkPolicy{policy("a", "x")}, nil, []string{"a/x NotSupportedInMode: mode Subnet has no egress firewall: it is not applied"}},
	} {
		var got []string
		for _, p := range firewallProblems(row.mode, row.policies, row.namespaces) {
			object := p.Object.(*sdnv1.EgressNetworkPolicy)
			got = append(got, fmt.Sprintf("%s/%s %s: %s", object.Namespace, object.Name, p.Reason, p.Message))
		}
		slices.Sort(got)
		if diff := cmp.Diff(row.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", row.why, diff)
		}
	}
}
