package bench

import (
	"context"
	"encoding/json"
	"fmt"
	"net"
	"strconv"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	networkingv1 "k8s.io/api/networking/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"sigs.k8s.io/controller-runtime/pkg/client"

	operatorv1 "github.com/cluster-network-operator/cno/api/operator/v1"
	"github.com/cluster-network-operator/cno/e2e/kit"
	multinetpolicy "github.com/cluster-network-operator/cno/internal/multinet/policy"
	"github.com/cluster-network-operator/cno/internal/multinet/wire"
)

// times is what netbench prints of one way to add and delete networks.
type times struct{ Add, Del latency }

// furtherResult is what netbench prints of pods with further networks: by the node's configuration, the default network alone, and the same plugins by
// libcni with one write to the API.
type furtherResult struct{ Served, Plain, Floor times }

// BenchmarkFurtherNetworks measures additions and deletions of the networks of pods that ask for no, one or two further ones, of macvlan with static
// addresses, in turns with the default network alone and with the same plugins by libcni and one write to the API.
func BenchmarkFurtherNetworks(b *testing.B) {
	for _, networks := range []int{0, 1, 2} {
		b.Run(fmt.Sprintf("networks=%d", networks), func(b *testing.B) {
			file := requestingPods(b, cniPods, networks, static)
			warmUp(b, file)
			for _, parallel := range []int{1, 10, cniPods} {
				b.Run(fmt.Sprintf("parallel=%d", parallel), func(b *testing.B) {
					var r furtherResult
					for b.Loop() {
						r = further(b, file, parallel)
					}
					b.ReportMetric(0, "ns/op")
					for _, way := range []struct {
						prefix string
						times  times
					}{{"", r.Served}, {"plain-", r.Plain}, {"floor-", r.Floor}} {
						b.ReportMetric(way.times.Add.P50, way.prefix+"add-p50-ms")
						b.ReportMetric(way.times.Add.P99, way.prefix+"add-p99-ms")
						b.ReportMetric(way.times.Del.P50, way.prefix+"del-p50-ms")
					}
				})
			}
		})
	}
}

// BenchmarkFurtherAddresses measures additions of a further network to pods that all start at once, whose addresses whereabouts assigns, in turns with
// those whose addresses are static.
func BenchmarkFurtherAddresses(b *testing.B) {
	files := map[string]string{}
	for name, ipam := range map[string]ipam{"static": static, "whereabouts": whereabouts} {
		files[name] = requestingPods(b, cniPods, 1, ipam)
		warmUp(b, files[name])
	}
	for b.Loop() {
		for name, file := range files {
			add := further(b, file, cniPods).Served.Add
			b.ReportMetric(add.P50, name+"-p50-ms")
			b.ReportMetric(add.P99, name+"-p99-ms")
		}
	}
	b.ReportMetric(0, "ns/op")
}

// BenchmarkFurtherMemory measures the memory of the daemon of a node before two hundred pods with a further network start there at once, and the peak
// until they have ended.
func BenchmarkFurtherMemory(b *testing.B) {
	const pods = 200
	file := requestingPods(b, pods, 1, static)
	warmUp(b, file)
	out, err := lab.Lab(b.Context(), "exec", "worker-0", "--", "pgrep", "-f", "^/usr/bin/multus run")
	if err != nil {
		b.Fatal(err)
	}
	pid := strings.TrimSpace(out)
	for b.Loop() {
		// The kernel counts the peak from here on.
		if out, err := lab.Lab(b.Context(), "exec", "worker-0", "--", "sh", "-c", "echo 5 > /proc/"+pid+"/clear_refs"); err != nil {
			b.Fatal(err, out)
		}
		b.ReportMetric(memory(b, pid, "VmRSS"), "rest-MB")
		further(b, file, pods)
		b.ReportMetric(memory(b, pid, "VmHWM"), "peak-MB")
	}
	b.ReportMetric(0, "ns/op")
}

// memory returns a figure that the kernel keeps about the memory of a process on worker-0, in megabytes.
func memory(b *testing.B, pid, figure string) float64 {
	b.Helper()
	out, err := lab.Lab(b.Context(), "exec", "worker-0", "--", "cat", "/proc/"+pid+"/status")
	if err != nil {
		b.Fatal(err)
	}
	for line := range strings.Lines(out) {
		if rest, ok := strings.CutPrefix(line, figure+":"); ok {
			kib, err := strconv.Atoi(strings.Fields(rest)[0])
			if err != nil {
				b.Fatal(err)
			}
			return float64(kib) * 1024 / 1e6
		}
	}
	b.Fatalf("the kernel does not report %s of process %s: %s", figure, pid, out)
	return 0
}

// further measures the pods of a file on worker-0.
func further(b *testing.B, file string, parallel int) (r furtherResult) {
	b.Helper()
	if err := netbench(b.Context(), "worker-0", &r, "further", "--pods="+file, fmt.Sprintf("--parallel=%d", parallel)); err != nil {
		b.Fatal(err)
	}
	return r
}

// BenchmarkFurtherPolicy measures from a write of a MultiNetworkPolicy until a client on worker-0 sees its effect on connections to the further network
// of a pod on worker-1: the first blocked connection after one that denies all, and the first answered one after one that allows the client.
func BenchmarkFurtherPolicy(b *testing.B) {
	enforce := func(on bool) {
		if err := lab.Update(b.Context(), func(spec *operatorv1.NetworkSpec) { spec.UseMultiNetworkPolicy = &on }); err != nil {
			b.Fatal(err)
		}
		if err := lab.WaitSettled(b.Context(), 5*time.Minute); err != nil {
			b.Fatal(err)
		}
	}
	enforce(true)
	b.Cleanup(func() {
		off := false
		if err := lab.Update(context.Background(), func(spec *operatorv1.NetworkSpec) { spec.UseMultiNetworkPolicy = &off }); err != nil {
			b.Error(err)
		}
	})
	ns := lab.Namespace(b)
	definition(b, ns, "link", static(0))
	run := func(name, node, address string) *corev1.Pod {
		pod := kit.ServerPod(ns, name, node, map[string]string{role: name})
		pod.Annotations = map[string]string{wire.AnnotationNetworks: fmt.Sprintf(`[{"name":"link","ips":["%s/24"]}]`, address)}
		pod, err := lab.RunPod(b.Context(), pod)
		if err != nil {
			b.Fatal(err)
		}
		return pod
	}
	const address = "10.91.0.1"
	server, from := run("server", "worker-1", address), run("client", "worker-0", "10.91.0.2")
	probe, err := newProber(from)
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() {
		if err := probe.close(); err != nil {
			b.Error(err)
		}
	})
	clients, err := dynamic.NewForConfig(lab.Config)
	if err != nil {
		b.Fatal(err)
	}
	kind := schema.GroupVersionKind{Group: "k8s.cni.cncf.io", Version: "v1beta1", Kind: "MultiNetworkPolicy"}
	policies := clients.Resource(kind.GroupVersion().WithResource("multi-networkpolicies")).Namespace(ns)
	c := &change{
		namespace: ns, address: net.JoinHostPort(address, "8080"), probe: probe, policies: watchArrivals(b, policies.Watch, client.Object.GetName),
		policyFor: func(name string, peers ...networkingv1.NetworkPolicyPeer) (client.Object, error) {
			fields, err := runtime.DefaultUnstructuredConverter.ToUnstructured(policy(ns, name, server.Labels, peers...))
			object := &unstructured.Unstructured{Object: fields}
			object.SetGroupVersionKind(kind)
			object.SetAnnotations(map[string]string{multinetpolicy.AnnotationFor: "link"})
			return object, err
		},
	}
	r := changes{}
	for b.Loop() {
		for range *samples {
			if err := c.policy(b.Context(), r); err != nil {
				b.Fatal(err)
			}
		}
	}
	r.report(b, "blocked", "watch-blocked", "answered", "watch-answered")
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

// ipam returns the address management of a network with a number.
type ipam func(network int) map[string]any

// static has the addresses that pods bring.
func static(int) map[string]any { return map[string]any{"type": "static"} }

func whereabouts(network int) map[string]any {
	return map[string]any{"type": "whereabouts", "range": fmt.Sprintf("10.9%d.128.0/22", 1+network)}
}

// definition creates a network of macvlan, and returns its configuration.
func definition(b *testing.B, ns, name string, ipam map[string]any) json.RawMessage {
	b.Helper()
	list, err := json.Marshal(map[string]any{"cniVersion": "1.0.0", "name": name, "plugins": []any{map[string]any{
		"type": "macvlan", "master": "eth1", "mode": "bridge", "capabilities": map[string]bool{"ips": true}, "ipam": ipam,
	}}})
	if err != nil {
		b.Fatal(err)
	}
	object, err := json.Marshal(map[string]any{
		"apiVersion": "k8s.cni.cncf.io/v1", "kind": "NetworkAttachmentDefinition",
		"metadata": map[string]any{"namespace": ns, "name": name}, "spec": map[string]any{"config": string(list)},
	})
	if err != nil {
		b.Fatal(err)
	}
	if _, err := lab.KubectlInput(b.Context(), string(object), "apply", "-f", "-"); err != nil {
		b.Fatal(err)
	}
	return list
}

// requestingPods creates pods that ask for networks, each of them with addresses of its own if they are static, and returns the file that describes
// them for netbench.
func requestingPods(b *testing.B, count, networks int, ipam ipam) string {
	b.Helper()
	ns := lab.Namespace(b)
	file := podsFile{Kubeconfig: lab.Kubeconfig(), Server: apiServerOfNodes(b)}
	for n := range networks {
		file.Lists = append(file.Lists, definition(b, ns, networkName(n), ipam(n)))
	}
	file.Pods = waitingPods(b, ns, count, func(i int) (string, []map[string]any) {
		var selected, capabilities []map[string]any
		for n := range networks {
			asked, runtime := map[string]any{"name": networkName(n)}, map[string]any{}
			if ipam(n)["type"] == "static" {
				runtime["ips"] = []string{fmt.Sprintf("10.9%d.1.%d/16", 1+n, 1+i)}
				asked["ips"] = runtime["ips"]
			}
			selected, capabilities = append(selected, asked), append(capabilities, runtime)
		}
		if networks == 0 {
			return "", nil
		}
		annotation, err := json.Marshal(selected)
		if err != nil {
			b.Fatal(err)
		}
		return string(annotation), capabilities
	})
	return file.write(b, "netbench-"+ns+".json")
}

func networkName(n int) string { return fmt.Sprintf("macvlan%d", n) }
