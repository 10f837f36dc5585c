package network

import (
	"context"
	"fmt"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	operatorv1 "github.com/cluster-network-operator/cno/api/operator/v1"
	"github.com/cluster-network-operator/cno/e2e/kit"
)

// conversionLimit is the time limit of a conversion in the lab: the agents are rolled out, then the master and kube-proxy.
const conversionLimit = 6 * time.Minute

// TestSecondIPFamilyIsRemovedAndAddedAgain converts a network of both IP families to one and back. Pods that run meanwhile keep their first addresses and reach
// one another; new ones have the addresses of the pools.
func TestSecondIPFamilyIsRemovedAndAddedAgain(t *testing.T) {
	kit.Full(t)
	both, err := lab.Network(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if len(both.Spec.ClusterNetwork) < 2 || !network.Traits().ConvertDualStack {
		t.Skip("the network has one IP family, or cannot be converted")
	}
	ns := lab.Namespace(t)
	running := lab.ServerOnEachNode(t, ns, nil)
	lab.Edit(t, func(s *operatorv1.NetworkSpec) {
		s.ClusterNetwork, s.ServiceNetwork = s.ClusterNetwork[:1], s.ServiceNetwork[:1]
	})
	converted(t, ns, "one", running, 1)
	if err := lab.Update(t.Context(), func(s *operatorv1.NetworkSpec) {
		s.ClusterNetwork, s.ServiceNetwork = both.Spec.ClusterNetwork, both.Spec.ServiceNetwork
	}); err != nil {
		t.Fatal(err)
	}
	converted(t, ns, "two", running, 2)
}

// converted waits until the network has a number of IP families. Then pods that ran before reach one another, and new ones, whose names have a prefix, by the
// addresses of all families.
func converted(t *testing.T, ns, prefix string, running map[string]*corev1.Pod, families int) {
	t.Helper()
	if err := lab.WaitSettled(t.Context(), conversionLimit); err != nil {
		t.Fatal(err)
	}
	kit.Eventually(t, time.Minute, "pods that ran before the conversion reach one another", func(ctx context.Context) error { return lab.Mesh(ctx, running) })
	added := map[string]*corev1.Pod{}
	for _, node := range []string{"worker-0", "worker-1"} {
		pod, err := lab.RunPod(t.Context(), kit.ServerPod(ns, prefix+"-"+node, node, nil))
		if err != nil {
			t.Fatal(err)
		}
		if len(pod.Status.PodIPs) != families {
			t.Errorf("a new pod on %s has the addresses %v, and the network %d families", node, pod.Status.PodIPs, families)
		}
		added[node] = pod
	}
	kit.Eventually(t, time.Minute, "new pods and those that ran before reach one another", func(ctx context.Context) error {
		for _, ip := range added["worker-1"].Status.PodIPs {
			if err := lab.Ping(ctx, added["worker-0"], ip.IP); err != nil {
				return fmt.Errorf("%s: %w", ip.IP, err)
			}
		}
		return lab.Ping(ctx, running["worker-0"], added["worker-1"].Status.PodIP)
	})
}
