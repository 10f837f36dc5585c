package flannel

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	operatorv1 "github.com/cluster-network-operator/cno/api/operator/v1"
	"github.com/cluster-network-operator/cno/e2e/kit"
)

// force deletes the record of what was applied, which makes the operator apply a change that it refuses.
func force(ctx context.Context) error {
	return lab.Client.Delete(ctx, &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: kit.OperatorNamespace, Name: "applied-cluster"}})
}

func TestDeletingTheRecordForcesAPendingChange(t *testing.T) {
	ns := lab.Namespace(t)
	lab.EditUnsafe(t, func(s *operatorv1.NetworkSpec) {
		s.DefaultNetwork.FlannelConfig = &operatorv1.FlannelConfig{Backend: operatorv1.FlannelBackendVXLAN}
	})
	// The way back is unsafe too, and is forced before edit puts the old spec back and waits.
	t.Cleanup(func() {
		n, err := lab.Network(context.Background())
		if err == nil {
			before := n.DeepCopy()
			n.Spec.DefaultNetwork.FlannelConfig = nil
			err = lab.Client.Patch(context.Background(), n, client.MergeFrom(before))
		}
		if err == nil {
			err = force(context.Background())
		}
		if err != nil {
			t.Error(err)
		}
	})
	kit.Eventually(t, time.Minute, "the change is refused first", func(ctx context.Context) error {
		n, err := lab.Network(ctx)
		if err != nil {
			return err
		}
		if c := kit.Condition(n, "Degraded"); c.Reason != "InvalidOperatorConfig" {
			return fmt.Errorf("Degraded is %s %s", c.Status, c.Reason)
		}
		return nil
	})
	if err := force(t.Context()); err != nil {
		t.Fatal(err)
	}
	kit.Eventually(t, 2*time.Minute, "the forced change is rolled out", lab.Settled)
	kit.Eventually(t, time.Minute, "the history says that it was forced", func(ctx context.Context) error {
		cm := &corev1.ConfigMap{}
		if err := lab.Client.Get(ctx, client.ObjectKey{Namespace: kit.OperatorNamespace, Name: "applied-history"}, cm); err != nil {
			return err
		}
		for _, v := range cm.Data {
			if strings.Contains(v, `"forced":true`) {
				return nil
			}
		}
		return fmt.Errorf("history: %v", cm.Data)
	})
	pods := lab.ServerOnEachNode(t, ns, nil)
	for node, pod := range pods {
		kit.Eventually(t, time.Minute, "pods talk over vxlan from "+node, func(ctx context.Context) error {
			return lab.Ping(ctx, pod, pods["worker-1"].Status.PodIP)
		})
	}
}
