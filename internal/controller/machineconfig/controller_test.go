package machineconfig

import (
	"context"
	"log/slog"
	"testing"

	"github.com/google/go-cmp/cmp"
	machineconfigv1 "github.com/openshift/api/machineconfiguration/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/cluster-network-operator/cno/internal/apitest"
	"github.com/cluster-network-operator/cno/internal/manifest"
	"github.com/cluster-network-operator/cno/internal/report"
)

func TestMain(m *testing.M) {
	apitest.Main(m, apitest.Options{OpenShift: []string{
		"machineconfigs.machineconfiguration.openshift.io", "machineconfigpools.machineconfiguration.openshift.io"}})
}

// selecting reads as the loop's cache does, which holds the operator's MachineConfigs only.
type selecting struct{ client.Client }

func (s selecting) List(ctx context.Context, list client.ObjectList, options ...client.ListOption) error {
	if _, ok := list.(*metav1.PartialObjectMetadataList); ok {
		options = append(options, client.MatchingLabelsSelector{Selector: managedSelector()})
	}
	return s.Client.List(ctx, list, options...)
}

func TestRemovalOfConfigsSurvivesARestart(t *testing.T) {
	server := apitest.Shared(t)
	namespace := server.Namespace(t)
	expected := func() []string {
		t.Helper()
		// A new controller each time: its state is in the cluster.
		c := &Controller{Client: selecting{server.Client}, Namespace: namespace, Board: &report.Board{}, Log: slog.New(slog.DiscardHandler)}
		if _, err := c.Reconcile(t.Context(), reconcile.Request{}); err != nil {
			t.Fatal(err)
		}
		var all []string
		found, _, _ := c.Board.Snapshot()
		for _, f := range found {
			all = append(all, string(f.Effect)+": "+f.Message)
		}
		return all
	}
	want := func(when string, want ...string) {
		t.Helper()
		if diff := cmp.Diff(want, expected()); diff != "" {
			t.Errorf("%s (-want +got):\n%s", when, diff)
		}
	}
	pool := poolFor("worker")
	pool.Spec.Configuration, pool.Status = machineconfigv1.MachineConfigPoolStatusConfiguration{}, machineconfigv1.MachineConfigPoolStatus{}
	server.Create(t, &pool)
	finish := func(sources ...string) {
		t.Helper()
		pool.Status = poolFor("worker", sources...).Status
		pool.Status.Conditions = []machineconfigv1.MachineConfigPoolCondition{}
		pool.Status.CertExpirys = []machineconfigv1.CertExpiry{}
		if err := server.Client.Status().Update(t.Context(), &pool); err != nil {
			t.Fatal(err)
		}
	}
	foreign := &machineconfigv1.MachineConfig{ObjectMeta: metav1.ObjectMeta{Name: "99-foreign", Labels: map[string]string{roleLabel: "worker"}}}
	server.Create(t, foreign)
	want("with a foreign MachineConfig only")
	if err := server.Client.Get(t.Context(), client.ObjectKey{Namespace: namespace, Name: ConfigMapName}, &corev1.ConfigMap{}); client.IgnoreNotFound(err) != nil || err == nil {
		t.Errorf("without anything to follow there is a record: %v", err)
	}

	own := &machineconfigv1.MachineConfig{ObjectMeta: metav1.ObjectMeta{Name: "10-br-ex-worker",
		Labels: map[string]string{roleLabel: "worker", manifest.LabelManagedBy: manifest.ManagedBy}}}
	server.Create(t, own)
	const processing = "Progressing: worker machine config pool is still processing 10-br-ex-worker machine config"
	want("new", processing)
	finish("10-br-ex-worker")
	want("on all nodes")
	if err := server.Client.Delete(t.Context(), own); err != nil {
		t.Fatal(err)
	}
	want("deleted", processing)
	finish()
	want("gone from all nodes")
	finish("10-br-ex-worker")
	want("a third party's of that name")
}
