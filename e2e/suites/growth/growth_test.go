// Package growth tests pools that grow while the network is in use. Pools cannot shrink again, hence the suite has its own lab.
package growth

import (
	"context"
	"fmt"
	"net/netip"
	"os"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/cluster-network-operator/cno/e2e/kit"
)

var lab *kit.Kit

func TestMain(m *testing.M) {
	os.Exit(kit.Main(m, &lab, "../../e2e/suites/growth/network.yaml"))
}

// network is the network of the lab with other pools and services.
func network(t *testing.T, change ...string) string {
	t.Helper()
	data, err := os.ReadFile("network.yaml")
	if err != nil {
		t.Fatal(err)
	}
	return strings.NewReplacer(change...).Replace(string(data))
}

// cno runs cno, and fails the test unless it has the expected exit status and prints the expected words.
func cno(t *testing.T, status int, input string, words []string, args ...string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Minute)
	defer cancel()
	out, got, err := lab.CNO(ctx, input, args...)
	if err != nil || got != status {
		t.Fatalf("cno %v ends with status %d, want %d: %v\n%s", args, got, status, err, out)
	}
	for _, w := range words {
		if !strings.Contains(out, w) {
			t.Errorf("cno %v does not print %q:\n%s", args, w, out)
		}
	}
}

func TestOnlyGrowthIsAdmitted(t *testing.T) {
	for _, tt := range []struct {
		why    string
		input  string
		status int
		words  []string
	}{
		{"it grows", network(t, "10.244.0.0/16", "10.244.0.0/15"), 0, []string{"spec.clusterNetwork[0].cidr", "safe", "pods restart", "nodes keep their blocks"}},
		{"it shrinks", network(t, "10.244.0.0/16", "10.244.0.0/17", "hostPrefix: 18", "hostPrefix: 19"), 1, []string{"put back 10.244.0.0/16", "nodes hold blocks of the old length; put the old value back"}},
		{"it begins elsewhere", network(t, "10.244.0.0/16", "10.240.0.0/12"), 1, []string{"pods would keep their old addresses; put the old value back, or, where the network's pools can grow, write a shorter prefix that begins at the same address"}},
		{"it grows into the services", network(t, "10.244.0.0/16", "10.0.0.0/8"), 1, []string{"10.96.0.0/16", "overlap"}},
		{"it gets a second family", network(t, "hostPrefix: 18", "hostPrefix: 18\n  - cidr: fd01::/48\n    hostPrefix: 64", "10.96.0.0/16", "10.96.0.0/16\n  - fd02::/112"), 1,
			[]string{"assigns pods IPv4 addresses only; remove the IPv6 networks"}},
	} {
		t.Run(tt.why, func(t *testing.T) { cno(t, tt.status, tt.input, tt.words, "plan", "-f", "-") })
	}
}

// TestThePoolGrowsWhilePodsTalk fills the pool, makes it grow while pods talk and the operator is killed, and adds a node whose block is in
// the new part.
func TestThePoolGrowsWhilePodsTalk(t *testing.T) {
	ns := lab.Namespace(t)
	pods := lab.ServerOnEachNode(t, ns, nil)
	one, two, three := pods["cp-0"], pods["worker-0"], pods["worker-1"]
	var ends []func()
	for _, pair := range [][2]*corev1.Pod{{one, two}, {two, three}, {three, one}} {
		ends = append(ends, lab.Talk(t, pair[0], pair[1].Status.PodIP))
	}
	cno(t, 0, network(t, "10.244.0.0/16", "10.244.0.0/15"), nil, "apply", "-f", "-", "--force-conflicts")
	if _, err := lab.Kubectl(t.Context(), "-n", kit.OperatorNamespace, "delete", "pods", "--all", "--grace-period=0", "--force"); err != nil {
		t.Fatal(err)
	}
	kit.Eventually(t, 3*time.Minute, "the network has grown in etcd", func(ctx context.Context) error {
		out, err := lab.Etcdctl(ctx, "cp-0", "get", "--print-value-only", "/coreos.com/network/config")
		if err != nil {
			return err
		}
		if !strings.Contains(out, `"Network":"10.244.0.0/15"`) {
			return fmt.Errorf("etcd has %s", out)
		}
		return nil
	})
	if err := lab.WaitSettled(t.Context(), 3*time.Minute); err != nil {
		t.Fatal(err)
	}

	const joined = "worker-2"
	if _, err := lab.Lab(t.Context(), "add-node"); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _, _ = lab.Lab(context.Background(), "remove-node", joined) })
	kit.Eventually(t, 2*time.Minute, "a node with a block in the new part joins", func(ctx context.Context) error { return lab.NodeReady(ctx, joined) })
	pod, err := lab.RunPod(t.Context(), kit.ServerPod(ns, "joined", joined, nil))
	if err != nil {
		t.Fatal(err)
	}
	if old := netip.MustParsePrefix("10.244.0.0/16"); old.Contains(netip.MustParseAddr(pod.Status.PodIP)) {
		t.Errorf("the pod has %s", pod.Status.PodIP)
	}
	pods[joined] = pod
	kit.Eventually(t, time.Minute, "all pods reach one another", func(ctx context.Context) error { return lab.Mesh(ctx, pods) })
	// Pods in the old part see the addresses of pods in the new part, not those of their nodes.
	if seen, err := lab.Get(t.Context(), pod, "http://"+two.Status.PodIP+":8080/clientip"); err != nil || !strings.HasPrefix(seen, pod.Status.PodIP+":") {
		t.Errorf("the pod %s is seen as %s, %v", pod.Status.PodIP, seen, err)
	}
	if seen, err := lab.Get(t.Context(), two, "http://"+pod.Status.PodIP+":8080/clientip"); err != nil || !strings.HasPrefix(seen, two.Status.PodIP+":") {
		t.Errorf("the pod %s is seen as %s, %v", two.Status.PodIP, seen, err)
	}
	for _, end := range ends {
		end()
	}
}
