package multinetwork

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/cluster-network-operator/cno/e2e/kit"
)

const macvlanIPs = `{"cniVersion":"1.0.0","type":"macvlan","master":"eth1","mode":"bridge","capabilities":{"ips":true},"ipam":{"type":"static"}}`

// bridgeLocal is the network local, whose addresses each node assigns itself.
const bridgeLocal = `{"cniVersion":"1.0.0","plugins":[{"type":"bridge","bridge":"br-local","ipam":{"type":"host-local","subnet":"198.51.100.0/24"}}]}`

// Pods of two nodes and a host outside talk on the further network, in both IP families, and the packets are on that link.
func TestPodsTalkOnTheNetworksTheyRequest(t *testing.T) {
	ns := lab.Namespace(t)
	define(t, ns, "link", macvlanIPs)
	define(t, ns, "local", bridgeLocal)
	a := asking(ns, "a", "worker-0", `[{"name":"link","ips":["10.90.1.21/24","fd90:1::21/64"],"mac":"02:00:00:00:00:21"},{"name":"local","interface":"data"}]`)
	a.Spec.Volumes = []corev1.Volume{{Name: "status", VolumeSource: corev1.VolumeSource{DownwardAPI: &corev1.DownwardAPIVolumeSource{Items: []corev1.DownwardAPIVolumeFile{
		{Path: "networks", FieldRef: &corev1.ObjectFieldSelector{FieldPath: "metadata.annotations['" + annotationStatus + "']"}},
	}}}}}
	a.Spec.Containers[0].VolumeMounts = []corev1.VolumeMount{{Name: "status", MountPath: "/status"}}
	define(t, ns, "link", strings.Replace(macvlanIPs, `"ips":true`, `"ips":true,"mac":true`, 1))
	a = run(t, a)
	b := run(t, asking(ns, "b", "worker-1", `[{"name":"link","ips":["10.90.1.22/24","fd90:1::22/64"]}]`))
	for _, address := range []string{"10.90.1.22", "fd90:1::22", outside4, outside6} {
		kit.Eventually(t, time.Minute, "a reaches "+address, func(ctx context.Context) error { return lab.Ping(ctx, a, address) })
	}
	before := packets(t, a)
	if err := lab.Ping(t.Context(), a, "10.90.1.22"); err != nil {
		t.Error(err)
	}
	if after := packets(t, a); after <= before {
		t.Errorf("net1 has sent %d packets, then %d: they took another interface", before, after)
	}
	if err := lab.Ping(t.Context(), a, b.Status.PodIP); err != nil {
		t.Errorf("the pod network does not work: %v", err)
	}
	var names []string
	for _, s := range statusOf(t, a) {
		names = append(names, fmt.Sprintf("%s %s %v %v", s.Name, s.Interface, s.Default, s.MTU > 0))
	}
	want := []string{"flannel eth0 true true", ns + "/link net1 false true", ns + "/local data false true"}
	if diff := cmp.Diff(want, names); diff != "" {
		t.Error(diff)
	}
	// Kubelet writes such files again within a minute or two; they are not read from the API when the container starts.
	kit.Eventually(t, 3*time.Minute, "the downward API has the status", func(ctx context.Context) error {
		out, err := lab.Exec(ctx, a, "cat /status/networks")
		if err == nil && !strings.Contains(out, "02:00:00:00:00:21") {
			err = errors.New(out)
		}
		return err
	})
	kit.Eventually(t, time.Minute, "an event names the interface", hasEvent(a, "AddedInterface", "net1", "10.90.1.21/24", ns+"/link"))
	// The NetworkAttachmentDefinitions are deleted before the pods.
	if _, err := lab.Kubectl(t.Context(), "delete", "net-attach-def", "-n", ns, "--all"); err != nil {
		t.Fatal(err)
	}
	remove(t, a)
	remove(t, b)
	left(t, "worker-0")
	if out, err := lab.Lab(t.Context(), "exec", "worker-0", "--", "sh", "-c", "ls /var/lib/cni/networks/local | grep 198; true"); err != nil || strings.TrimSpace(out) != "" {
		t.Errorf("addresses stay reserved: %s %v", out, err)
	}
}

func packets(t *testing.T, pod *corev1.Pod) (n int) {
	t.Helper()
	out, err := lab.Exec(t.Context(), pod, "cat /sys/class/net/net1/statistics/tx_packets")
	if err == nil {
		_, err = fmt.Sscan(out, &n)
	}
	if err != nil {
		t.Fatal(err)
	}
	return n
}

func TestPodWithoutFurtherNetworksHasAStatus(t *testing.T) {
	pod := run(t, kit.ServerPod(lab.Namespace(t), "plain", "worker-1", nil))
	all := statusOf(t, pod)
	if len(all) != 1 || all[0].Name != "flannel" || !all[0].Default || len(all[0].IPs) != 1 || all[0].IPs[0] != pod.Status.PodIP {
		t.Errorf("%+v", all)
	}
}

// An error is reported as an event with its cause, and the pod does not start without its networks.
func TestPodsThatCannotHaveTheirNetworksDoNotStart(t *testing.T) {
	ns, other := lab.Namespace(t), lab.Namespace(t)
	define(t, other, "theirs", macvlanIPs)
	define(t, ns, "uplink", `{"cniVersion":"1.0.0","type":"host-device","device":"eth0"}`)
	define(t, ns, "podnet", `{"cniVersion":"1.0.0","type":"bridge","bridge":"cni0","ipam":{"type":"static","addresses":[{"address":"10.244.1.77/24"}]}}`)
	define(t, ns, "taken", `{"cniVersion":"1.0.0","type":"macvlan","master":"eth1","mode":"none","ipam":{"type":"static","addresses":[{"address":"10.90.1.31/24"}]}}`)
	define(t, ns, "nolink", `{"cniVersion":"1.0.0","type":"macvlan","master":"eth7","ipam":{"type":"static","addresses":[{"address":"10.90.1.31/24"}]}}`)
	rows := []struct {
		name, networks, reason string
		words                  []string
	}{
		{"isolated", `[{"name":"theirs","namespace":"` + other + `"}]`, "InvalidNetworks", []string{"namespaceIsolation"}},
		{"missing", "nothing", "NoNetworkFound", []string{"nothing"}},
		{"uplink", "uplink", "InvalidNetworks", []string{"eth0", "would lose it"}},
		{"podnet", "podnet", "InvalidNetworks", []string{"cni0", "pod network"}},
		{"nolink", "nolink", "InvalidNetworks", []string{ns + "/nolink", "worker-0", "eth7"}},
		{"taken", "taken", "FailedAttachNetworks", []string{ns + "/taken", "macvlan", "unknown macvlan mode"}},
	}
	// The API server can read the short form.
	if err := lab.Client.Create(t.Context(), asking(ns, "foreign", "worker-0", other+"/theirs")); err == nil || !strings.Contains(err.Error(), "further-networks-isolation") {
		t.Errorf("a pod that asks for the network of another namespace: %v", err)
	}
	var pods []*corev1.Pod
	for _, row := range rows {
		pod := asking(ns, row.name, "worker-0", row.networks)
		if err := lab.Client.Create(t.Context(), pod); err != nil {
			t.Fatal(err)
		}
		pods = append(pods, pod)
	}
	for i, row := range rows {
		kit.Eventually(t, starts, row.name+" has its event", hasEvent(pods[i], row.reason, row.words...))
		if err := lab.Client.Get(t.Context(), client.ObjectKeyFromObject(pods[i]), pods[i]); err != nil || pods[i].Status.Phase != corev1.PodPending {
			t.Errorf("%s: %s %v", row.name, pods[i].Status.Phase, err)
		}
	}
	// The node has its interface, and its pods have their network.
	if out, err := lab.Lab(t.Context(), "exec", "worker-0", "--", "ip", "-o", "link", "show", "eth0"); err != nil {
		t.Errorf("%s %v", out, err)
	}
	for _, pod := range pods {
		remove(t, pod)
	}
	left(t, "worker-0")
}

// While the daemon is unavailable, a pod without further networks starts and ends; one with them waits, and starts when it is available. A daemon that is
// killed is started again.
func TestDaemonIsUnavailable(t *testing.T) {
	ns := lab.Namespace(t)
	define(t, ns, "link", macvlanIPs)
	before := run(t, asking(ns, "before", "worker-0", `[{"name":"link","ips":["10.90.1.41/24"]}]`))
	signal := func(name string) {
		t.Helper()
		if out, err := lab.Lab(t.Context(), "exec", "worker-0", "--", "pkill", "-"+name, "-f", "^/usr/bin/multus run"); err != nil {
			t.Fatalf("%s: %v", out, err)
		}
	}
	signal("STOP")
	waits := asking(ns, "waits", "worker-0", `[{"name":"link","ips":["10.90.1.42/24"]}]`)
	if err := lab.Client.Create(t.Context(), waits); err != nil {
		t.Fatal(err)
	}
	plain := run(t, kit.ServerPod(ns, "plain", "worker-0", nil))
	remove(t, plain)
	remove(t, before)
	if err := lab.Client.Get(t.Context(), client.ObjectKeyFromObject(waits), waits); err != nil || waits.Status.Phase != corev1.PodPending {
		t.Errorf("the pod with a further network does not wait: %s %v", waits.Status.Phase, err)
	}
	signal("CONT")
	kit.Eventually(t, starts, "the pod starts with its network", func(ctx context.Context) error {
		return lab.Ping(ctx, waits, outside4)
	})
	signal("KILL")
	killed := run(t, asking(ns, "killed", "worker-0", `[{"name":"link","ips":["10.90.1.43/24"]}]`))
	if err := lab.Ping(t.Context(), killed, outside4); err != nil {
		t.Errorf("a pod that starts after the daemon was killed: %v", err)
	}
	remove(t, killed)
	remove(t, waits)
	left(t, "worker-0")
}

// After a power failure nothing of the earlier boot is left, of the default network either.
func TestNodeIsCleanedUpAfterAPowerCut(t *testing.T) {
	ns := lab.Namespace(t)
	define(t, ns, "local", bridgeLocal)
	var pods []*corev1.Pod
	for i := range 5 {
		pods = append(pods, run(t, asking(ns, fmt.Sprintf("p%d", i), "worker-1", "local")))
	}
	for _, verb := range []string{"stop", "start"} {
		if out, err := lab.Lab(t.Context(), verb, "worker-1"); err != nil {
			t.Fatalf("%s: %v", out, err)
		}
	}
	kit.Eventually(t, 4*time.Minute, "the node is ready", func(ctx context.Context) error { return lab.NodeReady(ctx, "worker-1") })
	attached(t, "worker-1", 4*time.Minute, len(pods))
	for _, pod := range pods {
		remove(t, pod)
	}
	left(t, "worker-1")
}
