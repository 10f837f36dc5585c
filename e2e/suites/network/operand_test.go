package network

import (
	"context"
	"fmt"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/cluster-network-operator/cno/e2e/kit"
)

func TestDeletedOperandIsRecreated(t *testing.T) {
	var operands []client.Object
	for _, key := range network.Agents() {
		operands = append(operands, &appsv1.DaemonSet{ObjectMeta: metav1.ObjectMeta{Namespace: key.Namespace, Name: key.Name}})
	}
	if !network.Traits().ServiceProxy {
		operands = append(operands, &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: kit.ProxyNamespace, Name: "proxy-config"}})
	}
	for _, o := range operands {
		key := client.ObjectKeyFromObject(o)
		t.Run(key.Name, func(t *testing.T) {
			if err := lab.Client.Get(t.Context(), key, o); err != nil {
				t.Fatal(err)
			}
			uid := o.GetUID()
			// Orphaned pods continue to run, and are adopted by the new DaemonSet.
			if err := lab.Client.Delete(t.Context(), o, client.PropagationPolicy(metav1.DeletePropagationOrphan)); err != nil {
				t.Fatal(err)
			}
			kit.Eventually(t, kit.Repaired, key.String()+" is recreated", func(ctx context.Context) error {
				if err := lab.Client.Get(ctx, key, o); err != nil {
					return err
				}
				if o.GetUID() == uid {
					return fmt.Errorf("the old object still exists")
				}
				return nil
			})
		})
	}
	kit.Eventually(t, 2*time.Minute, "the network is settled again", lab.Settled)
}

func TestAnEditedOperandIsRestored(t *testing.T) {
	ds, key := &appsv1.DaemonSet{}, network.Agents()[0]
	if err := lab.Client.Get(t.Context(), key, ds); err != nil {
		t.Fatal(err)
	}
	want := ds.Spec.Template.Spec.PriorityClassName
	patch := client.RawPatch("application/merge-patch+json", []byte(`{"spec":{"template":{"spec":{"priorityClassName":"system-cluster-critical"}}}}`))
	if err := lab.Client.Patch(t.Context(), ds, patch); err != nil {
		t.Fatal(err)
	}
	kit.Eventually(t, kit.Repaired, "the edit is reverted", func(ctx context.Context) error {
		if err := lab.Client.Get(ctx, key, ds); err != nil {
			return err
		}
		if got := ds.Spec.Template.Spec.PriorityClassName; got != want {
			return fmt.Errorf("priority class is %q", got)
		}
		return nil
	})
	kit.Eventually(t, 2*time.Minute, "the network is settled again", lab.Settled)
}
