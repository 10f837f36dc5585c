// Package ha has the tests that need more than one control-plane node.
package ha

import (
	"context"
	"fmt"
	"os"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/cluster-network-operator/cno/e2e/kit"
)

var lab *kit.Kit

func TestMain(m *testing.M) {
	os.Exit(kit.Main(m, &lab, "network-flannel.yaml", "--control-planes", "3", "--workers", "1"))
}

// members returns nil if flannel's etcd has three members and all are available.
func members(ctx context.Context) error {
	list := &appsv1.DeploymentList{}
	if err := lab.Client.List(ctx, list, client.InNamespace(kit.FlannelNamespace)); err != nil {
		return err
	}
	all, up := 0, 0
	for _, d := range list.Items {
		if d.Spec.Template.Labels["app"] != "flannel-etcd" { // those of its snapshots
			continue
		}
		all++
		if d.Status.AvailableReplicas == 1 {
			up++
		}
	}
	if up != 3 || all != 3 {
		return fmt.Errorf("%d of %d members of etcd are up, want 3 of 3", up, all)
	}
	return nil
}

// used returns the control-plane node whose API server operands use, or cp-2 if that is cp-0: the lab's own programs on
// workers use the latter.
func used(t *testing.T) string {
	t.Helper()
	d := &appsv1.DaemonSet{}
	if err := lab.Client.Get(t.Context(), client.ObjectKey{Namespace: kit.FlannelNamespace, Name: "flanneld"}, d); err != nil {
		t.Fatal(err)
	}
	n := &corev1.Node{}
	if err := lab.Client.Get(t.Context(), client.ObjectKey{Name: "cp-1"}, n); err != nil {
		t.Fatal(err)
	}
	for _, e := range d.Spec.Template.Spec.Containers[0].Env {
		if e.Name == "KUBERNETES_SERVICE_HOST" && e.Value == n.Status.Addresses[0].Address {
			return n.Name
		}
	}
	return "cp-2"
}

func TestEtcdGrowsToThreeMembersAndOneMayBeLost(t *testing.T) {
	kit.Eventually(t, 3*time.Minute, "etcd has a member on each of three control-plane nodes", members)
	ns := lab.Namespace(t)
	pods := lab.ServerOnEachNode(t, ns, nil)

	// As config/default has it: a node that joins needs the operator, which may have run on the node that is lost.
	if _, err := lab.Kubectl(t.Context(), "-n", kit.OperatorNamespace, "scale", "deployment/network-operator", "--replicas=2"); err != nil {
		t.Fatal(err)
	}
	kit.Eventually(t, 2*time.Minute, "two replicas of the operator are available", func(ctx context.Context) error {
		d := &appsv1.Deployment{}
		if err := lab.Client.Get(ctx, client.ObjectKey{Namespace: kit.OperatorNamespace, Name: "network-operator"}, d); err != nil {
			return err
		}
		if d.Status.AvailableReplicas != 2 {
			return fmt.Errorf("%d of 2 are available", d.Status.AvailableReplicas)
		}
		return nil
	})

	lost := used(t)
	if _, err := lab.Lab(t.Context(), "stop", lost); err != nil {
		t.Fatal(err)
	}
	for from, pod := range pods {
		for to, peer := range pods {
			if from != lost && to != lost {
				if err := lab.Ping(t.Context(), pod, peer.Status.PodIP); err != nil {
					t.Errorf("%s to %s while a member is lost: %v", from, to, err)
				}
			}
		}
	}
	// A node that joins needs a write to etcd, which needs a quorum.
	if _, err := lab.Lab(t.Context(), "add-node"); err != nil {
		t.Fatal(err)
	}
	// Operands may have to move to another API server first, which takes more than a minute.
	kit.Eventually(t, 4*time.Minute, "a node can join while a member is lost", func(ctx context.Context) error { return lab.NodeReady(ctx, "worker-1") })
	joined, err := lab.RunPod(t.Context(), kit.ServerPod(ns, "joined", "worker-1", nil))
	if err != nil {
		t.Fatal(err)
	}
	if err := lab.Ping(t.Context(), pods["worker-0"], joined.Status.PodIP); err != nil {
		t.Error(err)
	}
	if _, err := lab.Lab(t.Context(), "start", lost); err != nil {
		t.Fatal(err)
	}
	kit.Eventually(t, 3*time.Minute, "the lost member is available again", members)
	kit.Eventually(t, 2*time.Minute, "the network is settled again", lab.Settled)
}
