package network

import (
	"context"
	"fmt"
	"net"
	"net/netip"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/cluster-network-operator/cno/e2e/kit"
)

// block returns the block of the pools from which the pod's node assigns addresses, if the network assigns one to each node.
func block(t *testing.T, pod *corev1.Pod) netip.Prefix {
	t.Helper()
	n, err := lab.Network(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	address := netip.MustParseAddr(pod.Status.PodIP)
	for _, pool := range n.Spec.ClusterNetwork {
		if netip.MustParsePrefix(pool.CIDR).Contains(address) {
			return netip.PrefixFrom(address, int(pool.HostPrefix)).Masked()
		}
	}
	t.Fatalf("pod %s has %s, which is outside the cluster network", pod.Name, address)
	return netip.Prefix{}
}

func TestEveryPodReachesEveryPodByAddress(t *testing.T) {
	pods := lab.ServerOnEachNode(t, lab.Namespace(t), nil)
	for fromNode, from := range pods {
		for toNode, to := range pods {
			if err := lab.Ping(t.Context(), from, to.Status.PodIP); err != nil {
				t.Errorf("pod on %s to pod on %s: %v", fromNode, toNode, err)
			}
			seen, err := lab.Get(t.Context(), from, "http://"+net.JoinHostPort(to.Status.PodIP, "8080")+"/clientip")
			if err != nil {
				t.Errorf("pod on %s to pod on %s: %v", fromNode, toNode, err)
				continue
			}
			if client, err := netip.ParseAddrPort(seen); err != nil || client.Addr().String() != from.Status.PodIP {
				t.Errorf("pod on %s sees its peer on %s as %q; pods keep their address %s", toNode, fromNode, seen, from.Status.PodIP)
			}
		}
	}
}

func TestPodsOfOneNodeShareItsBlockAndNoOtherNodeHasIt(t *testing.T) {
	if !network.Traits().HostPrefix {
		t.Skip("the network gives nodes no blocks")
	}
	ns := lab.Namespace(t)
	pods := lab.ServerOnEachNode(t, ns, nil)
	owner := map[netip.Prefix]string{}
	for node, pod := range pods {
		b := block(t, pod)
		if other, taken := owner[b]; taken {
			t.Errorf("nodes %s and %s both assign addresses from %s", node, other, b)
		}
		owner[b] = node
	}
	second, err := lab.RunPod(t.Context(), kit.ServerPod(ns, "second", "worker-0", nil))
	if err != nil {
		t.Fatal(err)
	}
	if got, want := block(t, second), block(t, pods["worker-0"]); got != want {
		t.Errorf("a second pod on worker-0 has an address of %s, the first one of %s", got, want)
	}
}

func TestPodsReachTheNodes(t *testing.T) {
	pods := lab.ServerOnEachNode(t, lab.Namespace(t), nil)
	for node, target := range pods {
		kit.Eventually(t, time.Minute, "the kubelet of "+node+" answers a pod on worker-0", func(ctx context.Context) error {
			out, err := lab.Exec(ctx, pods["worker-0"], "curl -sk -o /dev/null -w '%{http_code}' --max-time 20 https://"+net.JoinHostPort(target.Status.HostIP, "10250")+"/healthz")
			if err == nil && out != "401" {
				err = fmt.Errorf("status %s, want 401", out)
			}
			return err
		})
	}
}
