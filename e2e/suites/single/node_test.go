package single

import (
	"context"
	"fmt"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/cluster-network-operator/cno/e2e/kit"
)

func TestANodeThatJoinsHasNetworkAndOneThatGoesGivesItsSubnetBack(t *testing.T) {
	ns := lab.Namespace(t)
	if _, err := lab.Lab(t.Context(), "add-node"); err != nil {
		t.Fatal(err)
	}
	const joined = "worker-2"
	t.Cleanup(func() {
		// Harmless when the test has removed it already.
		_, _ = lab.Lab(context.Background(), "remove-node", joined)
	})
	kit.Eventually(t, 2*time.Minute, "the new node becomes ready", func(ctx context.Context) error { return lab.NodeReady(ctx, joined) })
	pods := lab.ServerOnEachNode(t, ns, nil)
	for node, pod := range pods {
		if err := lab.Ping(t.Context(), pod, pods[joined].Status.PodIP); err != nil {
			t.Errorf("pod on %s to pod on the new node: %v", node, err)
		}
	}
	subnet := netip.PrefixFrom(netip.MustParseAddr(pods[joined].Status.PodIP), 24).Masked().String()

	if _, err := lab.Lab(t.Context(), "remove-node", joined); err != nil {
		t.Fatal(err)
	}
	kit.Eventually(t, 3*time.Minute, "no other node has a route to the subnet of the node that went", func(ctx context.Context) error {
		for _, node := range []string{"cp-0", "worker-0", "worker-1"} {
			out, err := lab.Lab(ctx, "exec", node, "--", "ip", "route", "show", subnet)
			if err != nil {
				return err
			}
			if strings.TrimSpace(out) != "" {
				return fmt.Errorf("%s: %s", node, out)
			}
		}
		return nil
	})
}

func TestANodeThatWasOffComesBackWithItsSubnet(t *testing.T) {
	ns := lab.Namespace(t)
	before, err := lab.RunPod(t.Context(), kit.ServerPod(ns, "before", "worker-1", nil))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := lab.Lab(t.Context(), "stop", "worker-1"); err != nil {
		t.Fatal(err)
	}
	if _, err := lab.Lab(t.Context(), "start", "worker-1"); err != nil {
		t.Fatal(err)
	}
	kit.Eventually(t, 2*time.Minute, "the node is ready again", lab.NodesReady)
	after, err := lab.RunPod(t.Context(), kit.ServerPod(ns, "after", "worker-1", nil))
	if err != nil {
		t.Fatal(err)
	}
	old := netip.PrefixFrom(netip.MustParseAddr(before.Status.PodIP), 24).Masked()
	if !old.Contains(netip.MustParseAddr(after.Status.PodIP)) {
		t.Errorf("before it was off the node gave addresses of %s, now it gave %s", old, after.Status.PodIP)
	}
	kit.Eventually(t, time.Minute, "pods reach the node again", func(ctx context.Context) error {
		_, err := lab.Lab(ctx, "exec", "worker-0", "--", "ping", "-c1", "-W1", after.Status.PodIP)
		return err
	})
	kit.Eventually(t, 2*time.Minute, "the network is settled again", lab.Settled)
}
