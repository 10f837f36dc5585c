package network

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/cluster-network-operator/cno/e2e/kit"
)

func TestANodeThatJoinsHasNetworkAndOneThatGoesGivesItsBlockBack(t *testing.T) {
	ns := lab.Namespace(t)
	name, err := lab.Lab(t.Context(), "add-node")
	if err != nil {
		t.Fatal(err)
	}
	joined := strings.TrimSpace(name)
	t.Cleanup(func() {
		// Harmless when the test has removed it already.
		_, _ = lab.Lab(context.Background(), "remove-node", joined)
	})
	kit.Eventually(t, 2*time.Minute, "the new node becomes ready", func(ctx context.Context) error { return lab.NodeReady(ctx, joined) })
	pods := lab.ServerOnEachNode(t, ns, nil)
	if network.Joins > 0 {
		kit.Eventually(t, network.Joins, "pods of the node talk to all others", func(ctx context.Context) error { return lab.Mesh(ctx, pods) })
	} else if err := lab.Mesh(t.Context(), pods); err != nil {
		t.Error(err)
	}
	if testing.Short() || !network.Traits().HostPrefix {
		return
	}
	given := block(t, pods[joined]).String()
	if _, err := lab.Lab(t.Context(), "remove-node", joined); err != nil {
		t.Fatal(err)
	}
	kit.Eventually(t, 3*time.Minute, "no other node has a route to the block of the node that was removed", func(ctx context.Context) error {
		for _, node := range []string{"cp-0", "worker-0", "worker-1"} {
			out, err := lab.Lab(ctx, "exec", node, "--", "ip", "route", "show", given)
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

func TestANodeThatWasOffComesBackWithItsNetwork(t *testing.T) {
	full(t)
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
	if network.Traits().HostPrefix {
		if old, now := block(t, before), block(t, after); old != now {
			t.Errorf("before it was off the node gave addresses of %s, now it gave one of %s", old, now)
		}
	}
	kit.Eventually(t, time.Minute, "pods reach the node again", func(ctx context.Context) error {
		_, err := lab.Lab(ctx, "exec", "worker-0", "--", "ping", "-c1", "-W1", after.Status.PodIP)
		return err
	})
	kit.Eventually(t, 2*time.Minute, "the network is settled again", lab.Settled)
}
