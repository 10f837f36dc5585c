package operator

import (
	"testing"

	osv1 "github.com/openshift/api/operator/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/cluster-network-operator/cno/internal/apitest"
)

// TestHostNetworkNamespaceIsLabeledWhenItAppears: some networks create the namespace, others never do.
func TestHostNetworkNamespaceIsLabeledWhenItAppears(t *testing.T) {
	c := newCluster(t, apitest.Options{OpenShift: []string{"ingresscontrollers.operator.openshift.io"}})
	c.create(&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "openshift-ingress-operator"}})
	router := &osv1.IngressController{ObjectMeta: metav1.ObjectMeta{Namespace: "openshift-ingress-operator", Name: "shard"}}
	c.create(router)
	router.Status.EndpointPublishingStrategy = &osv1.EndpointPublishingStrategy{Type: osv1.HostNetworkStrategyType}
	if err := c.Client.Status().Update(t.Context(), router); err != nil {
		t.Fatal(err)
	}
	c.create(newNetwork())
	c.start()
	c.eventually("the operator is at work", c.recorded)
	c.create(&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "openshift-host-network"}})
	labelled := func() bool {
		var ns corev1.Namespace
		if err := c.Client.Get(t.Context(), client.ObjectKey{Name: "openshift-host-network"}, &ns); err != nil {
			return false
		}
		_, ok := ns.Labels["policy-group.network.openshift.io/ingress"]
		return ok
	}
	c.eventually("the namespace has the labels", labelled)
	if err := c.Client.Delete(t.Context(), router); err != nil {
		t.Fatal(err)
	}
	c.eventually("without the last router it does not", func() bool { return !labelled() })
}
