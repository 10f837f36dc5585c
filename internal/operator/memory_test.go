package operator

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/cluster-network-operator/cno/internal/apitest"
)

// BenchmarkMemoryWith5000Nodes is the most resident memory of the program with 5,000 nodes, each with fifty images
// as a real one has, from its start until it has been idle for a while.
func BenchmarkMemoryWith5000Nodes(b *testing.B) {
	const nodes, peer = 5000, 387
	root, err := apitest.RepositoryRoot()
	if err != nil {
		b.Fatal(err)
	}
	program := filepath.Join(b.TempDir(), "cluster-network-operator")
	build := exec.Command("go", "build", "-ldflags=-s -w", "-o", program, "./cmd/cluster-network-operator")
	build.Dir = root
	if out, err := build.CombinedOutput(); err != nil {
		b.Fatalf("build: %v\n%s", err, out)
	}
	c := newCluster(b, apitest.Options{})
	c.createNodes(nodes)
	n := newNetwork()
	n.Spec.DefaultNetwork.Type = "SomebodyElses"
	c.create(n)
	for b.Loop() {
		operator := exec.Command(program, "start", "--kubeconfig", c.Kubeconfig, "--without-lease", "--metrics-address=", "--health-address=")
		operator.Env = append(os.Environ(), "KUBE_PROXY_IMAGE=k:v1", "NETWORK_OPERATOR_IMAGE=o:v1")
		if err := operator.Start(); err != nil {
			b.Fatal(err)
		}
		c.eventually("the network is recorded", c.recorded)
		time.Sleep(5 * time.Second)
		status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", operator.Process.Pid))
		if err != nil {
			b.Fatal(err)
		}
		b.ReportMetric(megabytes(b, string(status), "VmHWM:"), "peak-MB")
		b.ReportMetric(megabytes(b, string(status), "VmRSS:"), "resident-MB")
		b.ReportMetric(megabytes(b, string(status), "RssAnon:"), "anonymous-MB")
		b.ReportMetric(peer, "peer-MB")
		if err := operator.Process.Kill(); err != nil {
			b.Fatal(err)
		}
		_ = operator.Wait() // it was killed
	}
}

// createNodes makes nodes that look like real ones.
func (c *cluster) createNodes(n int) {
	c.t.Helper()
	var group errgroup.Group
	group.SetLimit(16)
	for i := range n {
		group.Go(func() error {
			node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("node-%04d", i), Labels: labels.Set{"kubernetes.io/os": "linux", "kubernetes.io/hostname": fmt.Sprintf("node-%04d", i)}}}
			if err := c.Client.Create(c.t.Context(), node); err != nil {
				return err
			}
			node.Status.NodeInfo.KernelVersion = "6.1.0"
			node.Status.Addresses = []corev1.NodeAddress{{Type: corev1.NodeInternalIP, Address: fmt.Sprintf("192.0.%d.%d", i/250, i%250+1)}}
			node.Status.Conditions = []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue}}
			for image := range 50 {
				node.Status.Images = append(node.Status.Images, corev1.ContainerImage{SizeBytes: 1 << 28, Names: []string{
					fmt.Sprintf("registry.example/some/longer/path/image-%d@sha256:%064d", image, image), fmt.Sprintf("registry.example/some/longer/path/image-%d:v1.2.3", image)}})
			}
			return c.Client.Status().Update(c.t.Context(), node)
		})
	}
	if err := group.Wait(); err != nil {
		c.t.Fatal(err)
	}
}

// megabytes reads a line of /proc/<pid>/status, which is in kibibytes.
func megabytes(b *testing.B, status, key string) float64 {
	b.Helper()
	_, rest, ok := strings.Cut(status, key)
	if !ok {
		b.Fatalf("no %s", key)
	}
	n, err := strconv.Atoi(strings.Fields(rest)[0])
	if err != nil {
		b.Fatal(err)
	}
	return float64(n) * 1024 / 1e6
}
