package network

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/cluster-network-operator/cno/e2e/kit"
)

// assigned is a further network whose addresses are assigned for the whole cluster.
const assigned = `{"apiVersion":"k8s.cni.cncf.io/v1","kind":"NetworkAttachmentDefinition","metadata":{"namespace":%q,"name":"assigned"},
"spec":{"config":"{\"cniVersion\":\"1.0.0\",\"type\":\"bridge\",\"bridge\":\"br-assigned\",\"ipam\":{\"type\":\"whereabouts\",\"range\":\"198.51.100.0/24\"}}"}}`

// networkNode returns nil if the object of a node has this reason; otherwise the error has its columns.
func networkNode(ctx context.Context, node, reason string) error {
	out, err := lab.Kubectl(ctx, "get", "networknode", node, "-o", "wide", "--no-headers")
	if err == nil && !slices.Contains(strings.Fields(out), reason) {
		err = errors.New(out)
	}
	return err
}

func TestJoiningNodeHasNetworkAndLeavingNodeReleasesItsBlock(t *testing.T) {
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
	kit.Eventually(t, time.Minute, "its object is ready", func(ctx context.Context) error { return networkNode(ctx, joined, "AsExpected") })
	if testing.Short() || !network.Traits().HostPrefix {
		return
	}
	given := block(t, pods[joined]).String()
	if blocks := kubectl(t, "get", "networknode", joined, "-o", "jsonpath={.status.blocks}"); !strings.Contains(blocks, given) {
		t.Errorf("the object of the node has the blocks %s, and its pods have addresses from %s", blocks, given)
	}
	if _, err := lab.Lab(t.Context(), "remove-node", joined); err != nil {
		t.Fatal(err)
	}
	kit.Eventually(t, time.Minute, "its object is deleted", func(ctx context.Context) error {
		out, err := lab.Kubectl(ctx, "get", "networknode", joined, "--ignore-not-found", "-o", "name")
		if err == nil && out != "" {
			err = errors.New(out)
		}
		return err
	})
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

func TestPoweredOffNodeReturnsWithItsNetwork(t *testing.T) {
	kit.Full(t)
	ns := lab.Namespace(t)
	before, err := lab.RunPod(t.Context(), kit.ServerPod(ns, "before", "worker-1", nil))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := lab.Lab(t.Context(), "stop", "worker-1"); err != nil {
		t.Fatal(err)
	}
	kit.Eventually(t, 3*time.Minute, "the object of the node names the cause", func(ctx context.Context) error { return networkNode(ctx, "worker-1", "NodeNotReady") })
	if _, err := lab.Lab(t.Context(), "start", "worker-1"); err != nil {
		t.Fatal(err)
	}
	kit.Eventually(t, 2*time.Minute, "the node is ready again", lab.NodesReady)
	kit.Eventually(t, 2*time.Minute, "its object, too", func(ctx context.Context) error { return networkNode(ctx, "worker-1", "AsExpected") })
	after, err := lab.RunPod(t.Context(), kit.ServerPod(ns, "after", "worker-1", nil))
	if err != nil {
		t.Fatal(err)
	}
	if network.Traits().HostPrefix {
		if old, now := block(t, before), block(t, after); old != now {
			t.Errorf("the node assigned addresses from %s before it was powered off, and now from %s", old, now)
		}
	}
	kit.Eventually(t, time.Minute, "pods reach the node again", func(ctx context.Context) error {
		_, err := lab.Lab(ctx, "exec", "worker-0", "--", "ping", "-c1", "-W1", after.Status.PodIP)
		return err
	})
	kit.Eventually(t, 2*time.Minute, "the network is settled again", lab.Settled)
}

// A node that loses power, whose Node is deleted, and that joins again with its name, has nothing of the former one: neither its pods, nor
// their further networks, nor their addresses.
func TestRecreatedNodeHasNothingOfTheFormer(t *testing.T) {
	kit.Full(t)
	ns := lab.Namespace(t)
	if _, err := lab.KubectlInput(t.Context(), fmt.Sprintf(assigned, ns), "apply", "-f", "-"); err != nil {
		t.Fatal(err)
	}
	asking := func(name string) *corev1.Pod {
		pod := kit.ServerPod(ns, name, "worker-1", nil)
		pod.Annotations = map[string]string{"k8s.v1.cni.cncf.io/networks": "assigned"}
		pod, err := lab.RunPod(t.Context(), pod)
		if err != nil {
			t.Fatalf("%v\n%s", err, kubectl(t, "get", "events", "-n", ns))
		}
		return pod
	}
	other, err := lab.RunPod(t.Context(), kit.ServerPod(ns, "other", "worker-0", nil))
	if err != nil {
		t.Fatal(err)
	}
	asking("before")
	if _, err := lab.Lab(t.Context(), "stop", "worker-1"); err != nil {
		t.Fatal(err)
	}
	kubectl(t, "delete", "node", "worker-1")
	if _, err := lab.Lab(t.Context(), "start", "worker-1"); err != nil {
		t.Fatal(err)
	}
	kit.Eventually(t, 4*time.Minute, "the node is ready again", lab.NodesReady)
	kit.Eventually(t, 4*time.Minute, "the pod of the former node is deleted", func(ctx context.Context) error {
		out, err := lab.Kubectl(ctx, "get", "pods", "-n", ns, "before", "--ignore-not-found", "-o", "name")
		if err == nil && out != "" {
			err = errors.New(out)
		}
		return err
	})
	after := asking("after")
	kit.Eventually(t, 2*time.Minute, "pods of other nodes reach the new one", func(ctx context.Context) error { return lab.Ping(ctx, other, after.Status.PodIP) })
	kit.Eventually(t, 10*time.Minute, "only the new pod has an address of the further network, and a sandbox", func(ctx context.Context) error {
		pools, err := lab.Kubectl(ctx, "get", "ippools.whereabouts.cni.cncf.io", "-n", "openshift-multus", "-o", "jsonpath={.items[*].spec.allocations.*.podref}")
		if err != nil {
			return err
		}
		sandboxes, err := lab.Lab(ctx, "exec", "worker-1", "--", "sh", "-c", "ls /var/lib/cno/multus/sandboxes | grep -c json; true")
		if err != nil {
			return err
		}
		if pools, sandboxes = strings.TrimSpace(pools), strings.TrimSpace(sandboxes); pools != ns+"/after" || sandboxes != "1" {
			return fmt.Errorf("addresses of %s, %s sandboxes", pools, sandboxes)
		}
		return nil
	})
	kit.Eventually(t, 2*time.Minute, "the network is settled again", lab.Settled)
}
