package bench

import (
	"encoding/json"
	"fmt"
	"net"
	"strconv"
	"strings"
	"testing"

	discoveryv1 "k8s.io/api/discovery/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/cluster-network-operator/cno/internal/multinet/wire"
)

// furtherPods is how many pods have further networks.
const furtherPods = 40

// BenchmarkCNIFurtherNetworks measures additions and deletions of the networks of pods that ask for one or two further ones, of macvlan
// with static addresses, beside the plugins of flannel and those of the networks called directly and one write to the API in the same run.
func BenchmarkCNIFurtherNetworks(b *testing.B) {
	for _, networks := range []int{1, 2} {
		b.Run(fmt.Sprintf("networks=%d", networks), func(b *testing.B) {
			file := requestingPods(b, networks)
			warmUp(b, file)
			for _, parallel := range []int{1, 10, furtherPods} {
				b.Run(fmt.Sprintf("parallel=%d", parallel), func(b *testing.B) {
					var r cniResult
					for b.Loop() {
						if err := netbench(b.Context(), "worker-0", &r, "cni", "--pods="+file, chainPlugins(), fmt.Sprintf("--parallel=%d", parallel)); err != nil {
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

// requestingPods creates pods that ask for networks, and returns the file that describes them for netbench.
func requestingPods(b *testing.B, networks int) string {
	b.Helper()
	ns := lab.Namespace(b)
	var asked podsFile
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
	asked.Pods = waitingPods(b, ns, furtherPods, map[string]string{wire.AnnotationNetworks: asked.Annotation})
	return asked.write(b, fmt.Sprintf("netbench-pods-%d.json", networks))
}
