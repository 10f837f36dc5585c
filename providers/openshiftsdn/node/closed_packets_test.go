package node_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/cluster-network-operator/cno/internal/testing/eventually"
	"github.com/cluster-network-operator/cno/internal/testing/nodetest"
	"github.com/cluster-network-operator/cno/providers/openshiftsdn/agentconfig"
)

// TestOneNamespaceDoesNotDegradeOthers: a namespace whose policies have more rules than a node takes is closed, with an Event, while pods of others start, and
// their policies change. It is open again once the policy is deleted.
func TestOneNamespaceDoesNotDegradeOthers(t *testing.T) {
	c, one, two := running(t, agentconfig.NetworkPolicy)
	pod := one.pod("one", "pod", nil)
	client := two.pod("two", "client", nil)
	nodetest.Serve(t, pod.Namespace, ":8080")
	nodetest.Answers(t, client.Namespace, pod.address.String()+":8080")
	excessive := &networkingv1.NetworkPolicy{ObjectMeta: metav1.ObjectMeta{Namespace: "one", Name: "excessive"}, Spec: networkingv1.NetworkPolicySpec{
		PolicyTypes: []networkingv1.PolicyType{networkingv1.PolicyTypeIngress},
	}}
	for range 4000 { // each range of ports has 31 parts
		excessive.Spec.Ingress = append(excessive.Spec.Ingress, networkingv1.NetworkPolicyIngressRule{
			Ports: []networkingv1.NetworkPolicyPort{{Protocol: new(corev1.ProtocolTCP), Port: new(intstr.FromInt32(2)), EndPort: new(int32(65534))}},
		})
	}
	c.create(excessive)
	eventually.Holds(t, "the namespace is closed", func() (string, bool) {
		answer, err := nodetest.Ask(client.Namespace, pod.address.String()+":8080", time.Second)
		return answer, err != nil
	})
	eventually.Holds(t, "an Event on the policy reports it", func() (string, bool) {
		var all corev1.EventList
		err := c.client.List(t.Context(), &all)
		for _, e := range all.Items {
			if e.InvolvedObject.Name == "excessive" && e.Reason == "ClosedOnNode" && strings.Contains(e.Message, "node node1 drops all packets that the NetworkPolicies of namespace one would allow: ") {
				return "", true
			}
		}
		return fmt.Sprint(len(all.Items), err), false
	})
	if err := pod.check(); err != nil {
		t.Errorf("CHECK of a pod in the closed namespace: %v", err)
	}
	other := one.pod("two", "other", map[string]string{"app": "web"})
	nodetest.Serve(t, other.Namespace, ":8080")
	nodetest.Answers(t, client.Namespace, other.address.String()+":8080")
	c.create(&networkingv1.NetworkPolicy{ObjectMeta: metav1.ObjectMeta{Namespace: "two", Name: "deny"}, Spec: networkingv1.NetworkPolicySpec{
		PodSelector: metav1.LabelSelector{MatchLabels: map[string]string{"app": "web"}}, PolicyTypes: []networkingv1.PolicyType{networkingv1.PolicyTypeIngress},
	}})
	eventually.Holds(t, "a policy of another namespace takes effect", func() (string, bool) {
		answer, err := nodetest.Ask(client.Namespace, other.address.String()+":8080", time.Second)
		return answer, err != nil
	})
	if err := c.client.Delete(t.Context(), excessive); err != nil {
		t.Fatal(err)
	}
	nodetest.Answers(t, client.Namespace, pod.address.String()+":8080")
}
