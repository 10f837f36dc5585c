package single

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

// Drift is repaired by watches, not by a poll: two seconds leave room for a busy machine.
const repaired = 2 * time.Second

func TestADeletedOperandComesBack(t *testing.T) {
	for _, o := range []client.Object{
		&appsv1.DaemonSet{ObjectMeta: metav1.ObjectMeta{Namespace: kit.FlannelNamespace, Name: "flanneld"}},
		&appsv1.DaemonSet{ObjectMeta: metav1.ObjectMeta{Namespace: kit.ProxyNamespace, Name: "openshift-kube-proxy"}},
		&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: kit.ProxyNamespace, Name: "proxy-config"}},
	} {
		key := client.ObjectKeyFromObject(o)
		t.Run(key.Name, func(t *testing.T) {
			if err := lab.Client.Get(t.Context(), key, o); err != nil {
				t.Fatal(err)
			}
			uid := o.GetUID()
			// Orphaned pods go on running, and are adopted by the new DaemonSet.
			if err := lab.Client.Delete(t.Context(), o, client.PropagationPolicy(metav1.DeletePropagationOrphan)); err != nil {
				t.Fatal(err)
			}
			kit.Eventually(t, repaired, key.String()+" is back", func(ctx context.Context) error {
				if err := lab.Client.Get(ctx, key, o); err != nil {
					return err
				}
				if o.GetUID() == uid {
					return fmt.Errorf("still the old one")
				}
				return nil
			})
		})
	}
	kit.Eventually(t, 2*time.Minute, "the network is settled again", lab.Settled)
}

func TestAnEditedOperandIsPutRight(t *testing.T) {
	ds := &appsv1.DaemonSet{}
	key := client.ObjectKey{Namespace: kit.FlannelNamespace, Name: "flanneld"}
	if err := lab.Client.Get(t.Context(), key, ds); err != nil {
		t.Fatal(err)
	}
	want := ds.Spec.Template.Spec.PriorityClassName
	patch := client.RawPatch("application/merge-patch+json", []byte(`{"spec":{"template":{"spec":{"priorityClassName":"system-cluster-critical"}}}}`))
	if err := lab.Client.Patch(t.Context(), ds, patch); err != nil {
		t.Fatal(err)
	}
	kit.Eventually(t, repaired, "the edit is undone", func(ctx context.Context) error {
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
