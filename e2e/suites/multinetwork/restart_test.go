package multinetwork

import (
	"context"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"

	"github.com/cluster-network-operator/cno/e2e/kit"
)

// Pods keep their further networks while kubelet and containerd are stopped. A pod that is created meanwhile starts with its networks afterwards, and one that
// is deleted is detached.
func TestKubeletAndContainerdAreRestarted(t *testing.T) {
	kit.Full(t)
	const node = "worker-0"
	ns := lab.Namespace(t)
	define(t, ns, "link", macvlanIPs)
	define(t, ns, "local", bridgeLocal)
	pod := func(name, number string) *corev1.Pod {
		return asking(ns, name, node, `[{"name":"link","ips":["10.90.1.`+number+`/24"]},{"name":"local"}]`)
	}
	stays, deleted := run(t, pod("stays", "71")), run(t, pod("deleted", "72"))
	before := statusOf(t, stays)

	start := func(ctx context.Context) error {
		for _, component := range []string{"containerd", "kubelet"} {
			if _, err := lab.Lab(ctx, "start", node+"/"+component); err != nil {
				return err
			}
		}
		return nil
	}
	t.Cleanup(func() { _ = start(context.Background()) }) // harmless when the test has done it already
	for _, component := range []string{"kubelet", "containerd"} {
		if _, err := lab.Lab(t.Context(), "stop", node+"/"+component); err != nil {
			t.Fatal(err)
		}
	}
	if err := fromOutside(t.Context(), "10.90.1.71"); err != nil {
		t.Errorf("without kubelet and containerd: %v", err)
	}
	created := pod("created", "73")
	if err := lab.Client.Create(t.Context(), created); err != nil {
		t.Fatal(err)
	}
	if err := lab.Client.Delete(t.Context(), deleted); err != nil {
		t.Fatal(err)
	}
	if err := start(t.Context()); err != nil {
		t.Fatal(err)
	}

	kit.Eventually(t, starts, "the pod that was created meanwhile starts with its networks", func(ctx context.Context) error { return lab.Ping(ctx, created, outside4) })
	attached(t, node, ends, 2) // those of stays and created
	if err := fromOutside(t.Context(), "10.90.1.71"); err != nil {
		t.Errorf("after the restart: %v", err)
	}
	if diff := cmp.Diff(before, statusOf(t, stays)); diff != "" {
		t.Errorf("the pod has other networks than before: %s", diff)
	}
	if restarts := stays.Status.ContainerStatuses[0].RestartCount; restarts != 0 {
		t.Errorf("the pod was restarted %d times", restarts)
	}
	after := run(t, pod("after", "72"))
	for _, p := range []*corev1.Pod{stays, created, after} {
		remove(t, p)
	}
	left(t, node)
}

// fromOutside sends echo requests from the host outside to an address of a pod.
func fromOutside(ctx context.Context, address string) error {
	return kit.Poll(ctx, time.Minute, func(ctx context.Context) error {
		_, err := lab.Lab(ctx, "exec", "outside1", "--", "ping", "-c1", "-W2", address)
		return err
	})
}
