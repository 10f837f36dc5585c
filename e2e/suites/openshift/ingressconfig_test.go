package openshift

import (
	"context"
	"fmt"
	"testing"
	"time"

	osv1 "github.com/openshift/api/operator/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/cluster-network-operator/cno/e2e/kit"
)

// TestIngressOnTheHostNetworkIsRecognised tests the labels of the namespace from the first to the last ingress controller on the host network.
func TestIngressOnTheHostNetworkIsRecognised(t *testing.T) {
	host := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "openshift-host-network"}}
	if err := lab.Client.Create(t.Context(), host); client.IgnoreAlreadyExists(err) != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		allow := []byte(`{"metadata":{"annotations":{"networkoperator.openshift.io/allow-deletion":"true"}}}`)
		if err := lab.Client.Patch(context.Background(), host, client.RawPatch(types.MergePatchType, allow)); err != nil {
			t.Error(err)
		}
		if err := lab.Client.Delete(context.Background(), host); client.IgnoreNotFound(err) != nil {
			t.Error(err)
		}
	})
	labelled := func(want bool) func(context.Context) error {
		return func(ctx context.Context) error {
			if err := lab.Client.Get(ctx, client.ObjectKeyFromObject(host), host); err != nil {
				return err
			}
			_, ok := host.Labels["policy-group.network.openshift.io/ingress"]
			if legacy := host.Labels["network.openshift.io/policy-group"] == "ingress"; ok != want || legacy != want {
				return fmt.Errorf("the labels are %v", host.Labels)
			}
			return nil
		}
	}
	var routers []*osv1.IngressController
	for _, name := range []string{"shard-a", "shard-b"} {
		router := &osv1.IngressController{ObjectMeta: metav1.ObjectMeta{Namespace: "openshift-ingress-operator", Name: name}}
		if err := lab.Client.Create(t.Context(), router); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = lab.Client.Delete(context.Background(), router) })
		router.Status.EndpointPublishingStrategy = &osv1.EndpointPublishingStrategy{Type: osv1.HostNetworkStrategyType}
		if err := lab.Client.Status().Update(t.Context(), router); err != nil {
			t.Fatal(err)
		}
		routers = append(routers, router)
	}
	kit.Eventually(t, time.Minute, "the namespace is labelled", labelled(true))
	for i, router := range routers {
		if err := lab.Client.Delete(t.Context(), router); err != nil {
			t.Fatal(err)
		}
		kit.Eventually(t, time.Minute, "the namespace is labelled as long as an ingress controller uses the host network", labelled(i == 0))
	}
	settled(t)
}
