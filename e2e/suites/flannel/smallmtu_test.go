package flannel

import (
	"context"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/cluster-network-operator/cno/e2e/kit"
)

func TestNodeWithASmallerMTUIsNamedAndChangesNothing(t *testing.T) {
	kit.Full(t)
	before, record := operandPods(t), lab.ConfigMap(t, "applied-cluster").Data
	if _, err := lab.Lab(t.Context(), "add-node"); err != nil {
		t.Fatal(err)
	}
	const small = "worker-2"
	remove := func(ctx context.Context) error { _, err := lab.Lab(ctx, "remove-node", small); return err }
	t.Cleanup(func() { _ = remove(context.Background()) }) // harmless when the test has done it already
	if _, err := lab.Lab(t.Context(), "exec", small, "--", "ip", "link", "set", "eth0", "mtu", "1400"); err != nil {
		t.Fatal(err)
	}
	kit.Eventually(t, 2*time.Minute, "the condition names the node, its MTU and the network's", func(ctx context.Context) error {
		return lab.HasCondition(ctx, "NodeMTUDegraded", "True", "MTUTooSmall", small, "1400", "1500")
	})
	if err := lab.HasCondition(t.Context(), "Available", "True", "AsExpected"); err != nil {
		t.Error(err)
	}
	if diff := cmp.Diff(record, lab.ConfigMap(t, "applied-cluster").Data); diff != "" {
		t.Errorf("the network takes over the MTU of the node: %s", diff)
	}
	if err := remove(t.Context()); err != nil {
		t.Fatal(err)
	}
	kit.Eventually(t, time.Minute, "the node is deleted", func(ctx context.Context) error {
		return client.IgnoreNotFound(lab.Client.Get(ctx, client.ObjectKey{Name: small}, &corev1.Node{}))
	})
	// Kubernetes deletes the pods of a deleted node after a minute; until then a rollout waits for them.
	if _, err := lab.Kubectl(t.Context(), "delete", "pods", "-A", "--field-selector=spec.nodeName="+small, "--force", "--grace-period=0"); err != nil {
		t.Fatal(err)
	}
	kit.Eventually(t, time.Minute, "the network is available without the node", lab.Settled)
	if diff := cmp.Diff(before, operandPods(t)); diff != "" {
		t.Errorf("pods of the network have changed: %s", diff)
	}
}
