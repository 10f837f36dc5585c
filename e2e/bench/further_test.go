package bench

import (
	"context"
	"encoding/json"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/cluster-network-operator/cno/e2e/kit"
	"github.com/cluster-network-operator/cno/internal/multinet/wire"
)

// furtherPods is how many pods have further networks. A node runs 110 at most, and those of one benchmark may still end while the next begins.
const furtherPods = 40

// BenchmarkCNIFurtherNetworks measures additions and deletions of the networks of pods that ask for one or two further ones, of macvlan
// with static addresses, next to the same plugins called directly and one write to the API in the same run. The pods run; what is measured are more sandboxes of theirs,
// as after a restart.
func BenchmarkCNIFurtherNetworks(b *testing.B) {
	for _, networks := range []int{1, 2} {
		b.Run(fmt.Sprintf("networks=%d", networks), func(b *testing.B) {
			file := requestingPods(b, networks)
			for _, parallel := range []int{1, 10, furtherPods} {
				b.Run(fmt.Sprintf("parallel=%d", parallel), func(b *testing.B) {
					var r cniResult
					for b.Loop() {
						if err := netbench(b.Context(), "worker-0", &r, "cni", "--pods="+file, fmt.Sprintf("--parallel=%d", parallel)); err != nil {
							b.Fatal(err)
						}
					}
					r.report(b)
				})
			}
		})
	}
}

// apiServerOfNodes returns the URL of an API server that nodes reach: that of the kubeconfig is on the loopback of the machine.
func apiServerOfNodes(b *testing.B) string {
	b.Helper()
	slice := &discoveryv1.EndpointSlice{}
	if err := lab.Client.Get(b.Context(), client.ObjectKey{Namespace: "default", Name: "kubernetes"}, slice); err != nil {
		b.Fatal(err)
	}
	if len(slice.Endpoints) == 0 || len(slice.Ports) == 0 {
		b.Fatal("the Service kubernetes has no endpoints")
	}
	return "https://" + net.JoinHostPort(slice.Endpoints[0].Addresses[0], strconv.Itoa(int(*slice.Ports[0].Port)))
}

// requestingPods runs pods that request networks, and returns the file that lists them for netbench.
func requestingPods(b *testing.B, networks int) string {
	b.Helper()
	ns := lab.Namespace(b)
	var asked struct {
		Pods               []struct{ Namespace, Name, UID string }
		Annotation         string
		Plugins            []map[string]any
		Kubeconfig, Server string
	}
	asked.Kubeconfig, asked.Server = lab.Kubeconfig(), apiServerOfNodes(b)
	var names []string
	for i := range networks {
		name := fmt.Sprintf("macvlan%d", i)
		config := map[string]any{
			"cniVersion": "1.0.0", "name": name, "type": "macvlan", "master": "eth1", "mode": "bridge",
			"ipam": map[string]any{"type": "static", "addresses": []any{map[string]any{"address": fmt.Sprintf("10.90.1.%d/24", 60+i)}}},
		}
		asked.Plugins, names = append(asked.Plugins, config), append(names, name)
		raw, err := json.Marshal(config)
		if err != nil {
			b.Fatal(err)
		}
		object, err := json.Marshal(map[string]any{
			"apiVersion": "k8s.cni.cncf.io/v1", "kind": "NetworkAttachmentDefinition",
			"metadata": map[string]any{"namespace": ns, "name": name}, "spec": map[string]any{"config": string(raw)},
		})
		if err != nil {
			b.Fatal(err)
		}
		if _, err := lab.KubectlInput(b.Context(), string(object), "apply", "-f", "-"); err != nil {
			b.Fatal(err)
		}
	}
	asked.Annotation = strings.Join(names, ",")
	for i := range furtherPods {
		pod := kit.ServerPod(ns, fmt.Sprintf("p%d", i), "worker-0", nil)
		pod.Annotations = map[string]string{wire.AnnotationNetworks: asked.Annotation}
		pod.Spec.Containers[0].Args = []string{"pause"}
		pod.Spec.Containers[0].StartupProbe = nil
		if err := lab.Client.Create(b.Context(), pod); err != nil {
			b.Fatal(err)
		}
	}
	kit.Eventually(b, 5*time.Minute, "all pods run", func(ctx context.Context) error {
		pods := &corev1.PodList{}
		if err := lab.Client.List(ctx, pods, client.InNamespace(ns)); err != nil {
			return err
		}
		asked.Pods = nil
		for _, pod := range pods.Items {
			if pod.Status.Phase != corev1.PodRunning {
				return fmt.Errorf("%s is %s", pod.Name, pod.Status.Phase)
			}
			asked.Pods = append(asked.Pods, struct{ Namespace, Name, UID string }{ns, pod.Name, string(pod.UID)})
		}
		return nil
	})
	raw, err := json.Marshal(asked)
	if err != nil {
		b.Fatal(err)
	}
	file := filepath.Join(lab.Root, "_output", fmt.Sprintf("netbench-pods-%d.json", networks))
	if err := os.WriteFile(file, raw, 0o600); err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = os.Remove(file) })
	return file
}
