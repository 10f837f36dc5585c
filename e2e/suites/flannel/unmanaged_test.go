package flannel

import (
	"context"
	"testing"
	"time"

	osv1 "github.com/openshift/api/operator/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	operatorv1 "github.com/cluster-network-operator/cno/api/operator/v1"
	"github.com/cluster-network-operator/cno/e2e/kit"
)

// quiet is the time for which nothing may change: longer than the repair of drift takes.
const quiet = kit.Repaired

// proxy is the DaemonSet of kube-proxy.
var proxy = client.ObjectKey{Namespace: kit.ProxyNamespace, Name: "openshift-kube-proxy"}

// staysAway fails the test if a deleted object is recreated.
func staysAway(t *testing.T, o client.Object) {
	t.Helper()
	err := kit.Poll(t.Context(), quiet, func(ctx context.Context) error {
		return lab.Client.Get(ctx, client.ObjectKeyFromObject(o), o)
	})
	if err == nil {
		t.Errorf("%s was recreated", o.GetName())
	}
}

func TestNothingIsChangedWhileUnmanaged(t *testing.T) {
	lab.Edit(t, func(s *operatorv1.NetworkSpec) { s.ManagementState = osv1.Unmanaged })
	kit.Eventually(t, time.Minute, "the status reports Unmanaged", func(ctx context.Context) error {
		return lab.HasCondition(ctx, "Upgradeable", "False", "Unmanaged")
	})
	ds := lab.Orphan(t, proxy)
	if err := lab.Update(t.Context(), func(s *operatorv1.NetworkSpec) { s.KubeProxyConfig = &osv1.ProxyConfig{IptablesSyncPeriod: "45s"} }); err != nil {
		t.Fatal(err)
	}
	staysAway(t, ds)
	kit.Eventually(t, time.Minute, "a workload that is missing is reported, and the network stays available", func(ctx context.Context) error {
		if err := lab.HasCondition(ctx, "Available", "True", "AsExpected"); err != nil {
			return err
		}
		return lab.HasCondition(ctx, "KubeProxyProgressing", "True", "Deploying", "openshift-kube-proxy", "does not exist")
	})
	if err := lab.Update(t.Context(), func(s *operatorv1.NetworkSpec) { s.ManagementState, s.KubeProxyConfig = "", nil }); err != nil {
		t.Fatal(err)
	}
	kit.Eventually(t, kit.Repaired, "the object is recreated once the network is managed again", func(ctx context.Context) error {
		return lab.Client.Get(ctx, client.ObjectKeyFromObject(ds), ds)
	})
	kit.Eventually(t, time.Minute, "the network is settled again", lab.Settled)
}
