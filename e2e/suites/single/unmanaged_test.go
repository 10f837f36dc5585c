package single

import (
	"context"
	"errors"
	"testing"
	"time"

	osv1 "github.com/openshift/api/operator/v1"
	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	operatorv1 "github.com/cluster-network-operator/cno/api/operator/v1"
	"github.com/cluster-network-operator/cno/e2e/kit"
)

// quiet is how long nothing may happen: longer than it takes to repair drift.
const quiet = repaired

// orphanProxy deletes the DaemonSet of kube-proxy, not its pods, and waits until the one that was is gone.
func orphanProxy(t *testing.T) *appsv1.DaemonSet {
	t.Helper()
	ds := &appsv1.DaemonSet{}
	key := client.ObjectKey{Namespace: kit.ProxyNamespace, Name: "openshift-kube-proxy"}
	if err := lab.Client.Get(t.Context(), key, ds); err != nil {
		t.Fatal(err)
	}
	old := ds.DeepCopy()
	if err := lab.Client.Delete(t.Context(), old, client.PropagationPolicy(metav1.DeletePropagationOrphan)); err != nil {
		t.Fatal(err)
	}
	kit.Eventually(t, time.Minute, "the DaemonSet is deleted", func(ctx context.Context) error {
		if err := lab.Client.Get(ctx, key, ds); err != nil || ds.UID != old.UID {
			return client.IgnoreNotFound(err)
		}
		return errors.New("it is still being deleted")
	})
	return old
}

// staysAway fails the test if a deleted object is made again.
func staysAway(t *testing.T, o client.Object) {
	t.Helper()
	err := kit.Poll(t.Context(), quiet, func(ctx context.Context) error {
		return lab.Client.Get(ctx, client.ObjectKeyFromObject(o), o)
	})
	if err == nil {
		t.Errorf("%s was made again", o.GetName())
	}
}

func TestNothingIsChangedWhileUnmanaged(t *testing.T) {
	edit(t, func(s *operatorv1.NetworkSpec) { s.ManagementState = osv1.Unmanaged })
	kit.Eventually(t, time.Minute, "the status says so", func(ctx context.Context) error {
		return lab.Says(ctx, "Upgradeable", "False", "Unmanaged")
	})
	ds := orphanProxy(t)
	if err := update(t.Context(), func(s *operatorv1.NetworkSpec) { s.KubeProxyConfig = &osv1.ProxyConfig{IptablesSyncPeriod: "45s"} }); err != nil {
		t.Fatal(err)
	}
	staysAway(t, ds)
	kit.Eventually(t, time.Minute, "a workload that is missing is reported, and the network stays available", func(ctx context.Context) error {
		if err := lab.Says(ctx, "Available", "True", "AsExpected"); err != nil {
			return err
		}
		return lab.Says(ctx, "KubeProxyProgressing", "True", "Deploying", "openshift-kube-proxy", "does not exist")
	})
	if err := update(t.Context(), func(s *operatorv1.NetworkSpec) { s.ManagementState, s.KubeProxyConfig = "", nil }); err != nil {
		t.Fatal(err)
	}
	kit.Eventually(t, repaired, "managed again, it is back", func(ctx context.Context) error {
		return lab.Client.Get(ctx, client.ObjectKeyFromObject(ds), ds)
	})
	kit.Eventually(t, time.Minute, "the network is settled again", lab.Settled)
}
