package network

import (
	"context"
	"fmt"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/cluster-network-operator/cno/e2e/kit"
)

// multicastGroup is the group of the test.
const multicastGroup = "239.255.7.7"

// Multicast reaches the pods of a namespace on all nodes while it is enabled, and no pod of another namespace.
func TestMulticastReachesItsNamespace(t *testing.T) {
	if !network.NetNamespaces {
		return
	}
	member := func(ns, name, node string) *corev1.Pod {
		pod := kit.ServerPod(ns, name, node, nil)
		pod.Spec.Containers[0].Args = []string{"pause"}
		pod, err := lab.RunPod(t.Context(), pod)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := lab.Exec(t.Context(), pod, "nohup iperf -s -u -B "+multicastGroup+" > /tmp/received 2>&1 &"); err != nil {
			t.Fatal(err)
		}
		return pod
	}
	ns, other := lab.Namespace(t), lab.Namespace(t)
	sender, near, far, stranger := member(ns, "sender", "worker-0"), member(ns, "near", "worker-0"), member(ns, "far", "worker-1"), member(other, "stranger", "worker-1")
	received := func(ctx context.Context, pod *corev1.Pod) (bool, error) {
		out, err := lab.Exec(ctx, pod, "grep -c connected /tmp/received || true")
		return out != "" && out != "0", err
	}
	send := func(ctx context.Context) error {
		_, err := lab.Exec(ctx, sender, "iperf -c "+multicastGroup+" -u -t 1 -b 100k")
		return err
	}
	if err := send(t.Context()); err != nil {
		t.Fatal(err)
	}
	for _, pod := range []*corev1.Pod{near, far} {
		if got, err := received(t.Context(), pod); got || err != nil {
			t.Errorf("multicast is off, and pod %s receives: %t, %v", pod.Name, got, err)
		}
	}
	kubectl(t, "annotate", "netnamespace", ns, "netnamespace.network.openshift.io/multicast-enabled=true")
	kubectl(t, "annotate", "netnamespace", other, "netnamespace.network.openshift.io/multicast-enabled=true")
	kit.Eventually(t, time.Minute, "both pods of the namespace receive", func(ctx context.Context) error {
		if err := send(ctx); err != nil {
			return err
		}
		for _, pod := range []*corev1.Pod{near, far} {
			if got, err := received(ctx, pod); !got || err != nil {
				return fmt.Errorf("pod %s: %t, %w", pod.Name, got, err)
			}
		}
		return nil
	})
	if got, err := received(t.Context(), stranger); got || err != nil {
		t.Errorf("a pod of another namespace receives: %t, %v", got, err)
	}
}
