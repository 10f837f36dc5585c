package openshift

import (
	"context"
	"fmt"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/cluster-network-operator/cno/e2e/kit"
)

func TestConsoleHasItsDashboards(t *testing.T) {
	for _, name := range []string{"network-stats", "network-operator"} {
		cm := &corev1.ConfigMap{}
		right := func(ctx context.Context) error {
			key := client.ObjectKey{Namespace: "openshift-config-managed", Name: "grafana-dashboard-" + name}
			*cm = corev1.ConfigMap{}
			if err := lab.Client.Get(ctx, key, cm); err != nil {
				return err
			}
			if cm.Labels["console.openshift.io/dashboard"] != "true" || len(cm.Data[name+".json"]) < 1000 {
				return fmt.Errorf("%s has the labels %v and %d bytes", name, cm.Labels, len(cm.Data[name+".json"]))
			}
			return nil
		}
		kit.Eventually(t, time.Minute, "the dashboard exists", right)
		if err := lab.Change(t.Context(), cm, func() { cm.Data[name+".json"] = "{}" }); err != nil {
			t.Fatal(err)
		}
		kit.Eventually(t, time.Minute, "an edit is reverted", right)
		if err := lab.Client.Delete(t.Context(), cm); err != nil {
			t.Fatal(err)
		}
		kit.Eventually(t, time.Minute, "a deleted one is recreated", right)
	}
}
