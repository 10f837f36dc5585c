package safety

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/cluster-network-operator/cno/e2e/kit"
)

// upgrade makes the operator use another image of flannel's agents, and restores the previous one when the test ends.
func upgrade(t *testing.T, image string) {
	t.Helper()
	set := func(ctx context.Context, value string) {
		if _, err := lab.Kubectl(ctx, "-n", kit.OperatorNamespace, "set", "env", "deployment/network-operator", "FLANNEL_IMAGE"+value); err != nil {
			t.Error(err)
		}
		if _, err := lab.Kubectl(ctx, "-n", kit.OperatorNamespace, "rollout", "status", "deployment/network-operator", "--timeout=1m"); err != nil {
			t.Error(err)
		}
	}
	set(t.Context(), "="+image)
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 3*time.Minute)
		defer cancel()
		set(ctx, "-")
		if err := kit.Poll(ctx, 2*time.Minute, lab.Settled); err != nil {
			t.Error(err)
		}
	})
}

// agents returns the images of flannel's pods, by node.
func agents(ctx context.Context) (map[string]string, error) {
	out, err := lab.Kubectl(ctx, "-n", kit.FlannelNamespace, "get", "pods", "-l", "app=flanneld",
		"-o", `jsonpath={range .items[*]}{.spec.nodeName}={.spec.containers[0].image}{"\n"}{end}`)
	found := map[string]string{}
	for line := range strings.Lines(out) {
		if node, image, ok := strings.Cut(strings.TrimSpace(line), "="); ok {
			found[node] = image
		}
	}
	return found, err
}

// broken is an image that no node has.
const broken = "localhost/cno/flannel:broken"

func brokenOn(ctx context.Context) (int, error) {
	images, err := agents(ctx)
	n := 0
	for _, image := range images {
		if image == broken {
			n++
		}
	}
	return n, err
}

func TestFailingUpgradeStopsAtTheFirstNode(t *testing.T) {
	pods := lab.ServerOnEachNode(t, lab.Namespace(t), nil)
	upgrade(t, broken)
	kit.Eventually(t, time.Minute, "the new image is rolled out to a node", func(ctx context.Context) error {
		if n, err := brokenOn(ctx); err != nil || n == 0 {
			return fmt.Errorf("it is on %d nodes: %w", n, err)
		}
		return nil
	})
	for range 20 {
		if n, err := brokenOn(t.Context()); err != nil || n != 1 {
			t.Fatalf("the bad image is on %d nodes: %v", n, err)
		}
		time.Sleep(time.Second)
	}
	if err := lab.Mesh(t.Context(), pods); err != nil {
		t.Errorf("traffic during a bad upgrade: %v", err)
	}
}

func TestStalledRolloutIsRolledBack(t *testing.T) {
	kit.Full(t)
	back(t)
	cno(t, 0, network("  rollout: {autoRollback: true, progressDeadlineSeconds: 30}\n", ""), "apply", "-f", "-", "--force-conflicts", "--watch")
	pods := lab.ServerOnEachNode(t, lab.Namespace(t), nil)
	upgrade(t, broken)
	kit.Eventually(t, 3*time.Minute, "the bad version is rolled back", func(ctx context.Context) error {
		return lab.HasCondition(ctx, "Degraded", "True", "RolledBack", "retried with the next version")
	})
	kit.Eventually(t, time.Minute, "all agents run the image that works", func(ctx context.Context) error {
		n, err := brokenOn(ctx)
		if err != nil || n > 0 {
			return fmt.Errorf("the bad image is on %d nodes: %w", n, err)
		}
		return lab.Mesh(ctx, pods)
	})
	if out := cno(t, 0, "", "history"); !strings.Contains(out, "rolled-back") {
		t.Errorf("the history does not report it:\n%s", out)
	}
}
