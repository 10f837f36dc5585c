package network

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

// force deletes the applied record, which makes the operator apply a change that it refuses.
func force(ctx context.Context) error {
	return lab.Client.Delete(ctx, &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: kit.OperatorNamespace, Name: "applied-cluster"}})
}

// editAndForceBack makes an unsafe change, and forces the reverse one, which is unsafe, too, when the test ends.
func editAndForceBack(t *testing.T, unsafe func(*operatorv1.NetworkSpec)) {
	t.Helper()
	n, err := lab.Network(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	lab.EditUnsafe(t, unsafe)
	// EditUnsafe restores the specification and waits, after this has forced it.
	t.Cleanup(func() {
		err := lab.Update(context.Background(), func(s *operatorv1.NetworkSpec) { *s = n.Spec })
		if err == nil {
			err = force(context.Background())
		}
		if err != nil {
			t.Error(err)
		}
	})
}

func TestDeletingTheRecordForcesAPendingChange(t *testing.T) {
	kit.Full(t)
	if network.Unsafe == nil {
		t.Skipf("%s has no setting that is unsafe to change", network.Name())
	}
	ns := lab.Namespace(t)
	editAndForceBack(t, network.Unsafe)
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
	kit.Eventually(t, time.Minute, "the history has the change as forced", func(ctx context.Context) error {
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
		kit.Eventually(t, time.Minute, "new pods talk with the forced setting from "+node, func(ctx context.Context) error {
			return lab.Ping(ctx, pod, pods["worker-1"].Status.PodIP)
		})
	}
}
