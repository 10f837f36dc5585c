package flannel

import (
	"context"
	"fmt"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/cluster-network-operator/cno/e2e/kit"
)

// loseEtcd ends the only member of flannel's etcd, and the kubelet that would restart it.
func loseEtcd(t *testing.T) (restore func(context.Context) error) {
	t.Helper()
	restore = func(ctx context.Context) error { _, err := lab.Lab(ctx, "start", "cp-0/kubelet"); return err }
	if _, err := lab.Lab(t.Context(), "stop", "cp-0/kubelet"); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = restore(context.Background()) }) // harmless when the test has done it already
	killed, err := lab.Kill(t.Context(), "/usr/bin/etcd --config-file /etc/flannel-etcd")
	if err != nil || !killed {
		t.Fatalf("no etcd is running: %v", err)
	}
	return restore
}

func TestNetworkContinuesWithoutEtcdAndKeepsItsData(t *testing.T) {
	ns := lab.Namespace(t)
	pods := lab.ServerOnEachNode(t, ns, nil)
	const key = "/e2e/kept"
	if _, err := lab.Etcdctl(t.Context(), "cp-0", "put", key, ns); err != nil {
		t.Fatal(err)
	}
	routes, err := lab.Routes(t.Context(), "worker-0")
	if err != nil {
		t.Fatal(err)
	}
	restore := loseEtcd(t)

	// Commands cannot be run in a pod of a node without a kubelet.
	unreachable := pods["cp-0"]
	delete(pods, "cp-0")
	if err := lab.Mesh(t.Context(), pods); err != nil {
		t.Errorf("without etcd: %v", err)
	}
	if err := lab.Ping(t.Context(), pods["worker-0"], unreachable.Status.PodIP); err != nil {
		t.Errorf("without etcd, to its own node: %v", err)
	}
	restartAgent(t, "worker-1")
	pods["later"], err = lab.RunPod(t.Context(), kit.ServerPod(ns, "later", "worker-1", nil))
	if err != nil {
		t.Fatalf("a pod that starts without etcd: %v", err)
	}
	if err := lab.Mesh(t.Context(), pods); err != nil {
		t.Errorf("without etcd, after a restart of an agent: %v", err)
	}
	if err := restore(t.Context()); err != nil {
		t.Fatal(err)
	}
	kit.Eventually(t, time.Minute, "etcd has its previous data", func(ctx context.Context) error {
		got, err := lab.Etcdctl(ctx, "cp-0", "get", "--print-value-only", key)
		if err != nil || got != ns {
			return fmt.Errorf("got %q, %w", got, err)
		}
		_, err = lab.Etcdctl(ctx, "cp-0", "del", key)
		return err
	})
	kit.Eventually(t, time.Minute, "the network is settled again", lab.Settled)
	after, err := lab.Routes(t.Context(), "worker-0")
	if err != nil || after != routes {
		t.Errorf("routes before:\n%safter (%v):\n%s", routes, err, after)
	}
}

// restartAgent replaces the pod of flanneld on a node, and waits until the new one is ready.
func restartAgent(t *testing.T, node string) {
	t.Helper()
	agents := func(ctx context.Context) ([]corev1.Pod, error) {
		all, found := &corev1.PodList{}, []corev1.Pod{}
		err := lab.Client.List(ctx, all, client.InNamespace(kit.FlannelNamespace), client.MatchingLabels{"app": "flanneld"})
		for _, p := range all.Items {
			if p.Spec.NodeName == node {
				found = append(found, p)
			}
		}
		return found, err
	}
	old, err := agents(t.Context())
	if err != nil || len(old) != 1 {
		t.Fatalf("%d agents on %s: %v", len(old), node, err)
	}
	if err := lab.Client.Delete(t.Context(), &old[0]); err != nil {
		t.Fatal(err)
	}
	kit.Eventually(t, time.Minute, "an agent that starts without etcd becomes ready", func(ctx context.Context) error {
		now, err := agents(ctx)
		if err != nil || len(now) != 1 || now[0].UID == old[0].UID {
			return fmt.Errorf("%d agents, %w", len(now), err)
		}
		if s := now[0].Status.ContainerStatuses; len(s) == 0 || !s[0].Ready {
			return fmt.Errorf("it is %s and not ready", now[0].Status.Phase)
		}
		return nil
	})
}
