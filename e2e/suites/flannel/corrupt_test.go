package flannel

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/cluster-network-operator/cno/e2e/kit"
)

// restartOperator shuts the operator down, and waits until another one runs.
func restartOperator(t *testing.T) {
	t.Helper()
	labels := map[string]string{"name": kit.OperatorDeployment}
	if err := lab.Client.DeleteAllOf(t.Context(), &corev1.Pod{}, client.InNamespace(kit.OperatorNamespace), client.MatchingLabels(labels)); err != nil {
		t.Fatal(err)
	}
	kit.Eventually(t, time.Minute, "a new operator runs", func(ctx context.Context) error {
		pods := &corev1.PodList{}
		if err := lab.Client.List(ctx, pods, client.InNamespace(kit.OperatorNamespace), client.MatchingLabels(labels)); err != nil {
			return err
		}
		for _, p := range pods.Items {
			if p.DeletionTimestamp != nil || len(p.Status.ContainerStatuses) == 0 || !p.Status.ContainerStatuses[0].Ready {
				return fmt.Errorf("pod %s is not ready, or is terminating", p.Name)
			}
		}
		if len(pods.Items) == 0 {
			return fmt.Errorf("there is no pod")
		}
		return nil
	})
}

func TestUnreadableRecordStopsChangesButNotRepairs(t *testing.T) {
	pods := lab.ServerOnEachNode(t, lab.Namespace(t), nil)
	record, history := lab.ConfigMap(t, "applied-cluster"), lab.ConfigMap(t, "applied-history").Data
	write := func(ctx context.Context, data map[string]string) error {
		cm := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: record.Namespace, Name: record.Name}}
		return lab.Change(ctx, cm, func() { cm.Data = data })
	}
	restore := func(ctx context.Context) error { return write(ctx, record.Data) }
	t.Cleanup(func() {
		if err := restore(context.Background()); err != nil {
			t.Error(err)
		}
	})
	if err := write(t.Context(), map[string]string{"state": "applied", "applied": `{"clusterNetwork":`}); err != nil {
		t.Fatal(err)
	}
	reported := func(ctx context.Context) error {
		if err := lab.HasCondition(ctx, "Available", "True", "AsExpected"); err != nil {
			return err
		}
		return lab.HasCondition(ctx, "Degraded", "True", "CorruptAppliedConfig", "applied-cluster", "restore it", "applied-history")
	}
	kit.Eventually(t, time.Minute, "the condition has the error and the resolution", reported)
	restored := func(ds client.Object) {
		t.Helper()
		kit.Eventually(t, time.Minute, "the deleted object is restored from the history", func(ctx context.Context) error {
			return lab.Client.Get(ctx, client.ObjectKeyFromObject(ds), ds)
		})
	}
	restored(lab.Orphan(t, proxy))
	restartOperator(t)
	restored(lab.Orphan(t, proxy))
	kit.Eventually(t, time.Minute, "a restarted operator does not treat the cluster as a new one", reported)
	if diff := cmp.Diff(history, lab.ConfigMap(t, "applied-history").Data); diff != "" {
		t.Errorf("workloads were rolled out: %s", diff)
	}
	if err := lab.Mesh(t.Context(), pods); err != nil {
		t.Error(err)
	}
	if err := restore(t.Context()); err != nil {
		t.Fatal(err)
	}
	kit.Eventually(t, time.Minute, "the network is settled again", lab.Settled)
}
