package flannel

import (
	"context"
	"fmt"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	networkv1 "github.com/cluster-network-operator/cno/api/network/v1"
	"github.com/cluster-network-operator/cno/e2e/kit"
)

// hostNetworkNamespace is the namespace of host-network-sync, of the files that it copies to nodes, and of the nodes' reports.
const hostNetworkNamespace = "openshift-host-network"

// hostNetwork configures a bridge with its own address on each worker: it can be applied, and no other process on a node of the lab uses it.
const hostNetwork = `
role: worker
withoutBridge: true
template:
  interfaces:
  - name: hn0
    type: linux-bridge
    state: up
    bridge: {options: {stp: {enabled: false}}, port: []}
    ipv4: {enabled: true, address: [{ip: "${address.ip}", prefix-length: "${address.prefix}"}]}
hosts:
- {name: worker-0, values: {address: 198.18.0.10/24}}
- {name: worker-1, values: {address: 198.18.0.11/24}}
`

// workers is a HostNetworkConfig in the lab.
type workers struct {
	t    *testing.T
	name string
}

func newWorkers(t *testing.T) *workers {
	t.Helper()
	w := &workers{t: t, name: "workers"}
	config := &networkv1.HostNetworkConfig{ObjectMeta: metav1.ObjectMeta{Name: w.name}}
	if err := yaml.UnmarshalStrict([]byte(hostNetwork), &config.Spec); err != nil {
		t.Fatal(err)
	}
	if err := lab.Client.Create(t.Context(), config); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := client.IgnoreNotFound(lab.Client.Delete(context.Background(), config)); err != nil {
			t.Error(err)
		}
		for _, node := range []string{"worker-0", "worker-1"} {
			_, err := lab.Lab(context.Background(), "exec", node, "--", "sh", "-c",
				"ip link delete hn0; rm -rf /var/lib/host-network /run/host-network/report.json /etc/nmstate/openshift/applied")
			if err != nil {
				t.Error(err)
			}
		}
	})
	return w
}

func (w *workers) get(ctx context.Context) (*networkv1.HostNetworkConfig, error) {
	config := &networkv1.HostNetworkConfig{}
	return config, lab.Client.Get(ctx, client.ObjectKey{Name: w.name}, config)
}

// give sets the address of a host.
func (w *workers) give(host int, address string) {
	w.t.Helper()
	config := &networkv1.HostNetworkConfig{ObjectMeta: metav1.ObjectMeta{Name: w.name}}
	if err := lab.Change(w.t.Context(), config, func() { config.Spec.Hosts[host].Values["address"] = address }); err != nil {
		w.t.Fatal(err)
	}
}

// has polls until the file of a worker on its disk contains a text.
func (w *workers) has(node, text string) {
	w.t.Helper()
	kit.Eventually(w.t, 2*time.Minute, node+" has "+text, func(ctx context.Context) error {
		out, err := lab.Lab(ctx, "exec", node, "--", "cat", "/etc/nmstate/openshift/"+node+".yml")
		if err == nil && !strings.Contains(out, text) {
			err = fmt.Errorf("it has\n%s", out)
		}
		return err
	})
}

// boot applies the file of a node as its boot does.
func (w *workers) boot(node string) {
	w.t.Helper()
	program := filepath.Join(lab.Root, "_output/linux", runtime.GOARCH, "host-network")
	if out, err := lab.Lab(w.t.Context(), "exec", node, "--", program, "run", "--backend=netlink", "--automatic=false"); err != nil {
		w.t.Fatalf("%v\n%s", err, out)
	}
}

// reports polls until the status has a result for each worker.
func (w *workers) reports(results ...networkv1.Result) {
	w.t.Helper()
	kit.Eventually(w.t, time.Minute, fmt.Sprintf("the status has %v", results), func(ctx context.Context) error {
		config, err := w.get(ctx)
		if err != nil {
			return err
		}
		hosts := config.Status.Hosts
		if len(hosts) != len(results) {
			return fmt.Errorf("hosts are %+v", hosts)
		}
		for n, want := range results {
			if hosts[n].Node != fmt.Sprintf("worker-%d", n) || hosts[n].Result != want {
				return fmt.Errorf("%s is %s (%s)", hosts[n].Node, hosts[n].Result, hosts[n].Message)
			}
		}
		return nil
	})
}

func TestFilesAndReportsOfHostsAreCopied(t *testing.T) {
	kit.Full(t)
	w := newWorkers(t)
	w.has("worker-0", "198.18.0.10")
	w.has("worker-1", "198.18.0.11")
	if out, err := lab.Lab(t.Context(), "exec", "cp-0", "--", "ls", "/etc/nmstate/openshift"); err == nil {
		t.Errorf("the files of workers are on a control-plane node: %s", out)
	}
	w.reports(networkv1.Pending, networkv1.Pending)
	w.boot("worker-0")
	w.reports(networkv1.Applied, networkv1.Pending)
	w.boot("worker-1")
	w.reports(networkv1.Applied, networkv1.Applied)

	w.give(1, "198.18.0.12/24")
	w.has("worker-1", "198.18.0.12")
	w.reports(networkv1.Applied, networkv1.Pending)
	w.boot("worker-1")
	w.reports(networkv1.Applied, networkv1.Applied)
	out, err := lab.Lab(t.Context(), "exec", "worker-1", "--", "ip", "-4", "-brief", "address", "show", "dev", "hn0")
	if err != nil || !strings.Contains(out, "198.18.0.12/24") || strings.Contains(out, "198.18.0.11/24") {
		t.Errorf("the node has %q: %v", out, err)
	}

	w.give(1, "198.18.0.10/24")
	kit.Eventually(t, time.Minute, "an address of two hosts is refused", func(ctx context.Context) error {
		config, err := w.get(ctx)
		if err != nil {
			return err
		}
		for _, c := range config.Status.Conditions {
			if c.Type == networkv1.ConditionValid && c.Status == metav1.ConditionFalse && strings.Contains(c.Message, "198.18.0.10 is the address of") {
				return nil
			}
		}
		return fmt.Errorf("conditions are %+v", config.Status.Conditions)
	})
	w.has("worker-1", "198.18.0.12")
	w.gone()
}

// gone deletes the config, and fails the test unless only the applied configuration of hosts is left.
func (w *workers) gone() {
	w.t.Helper()
	config, err := w.get(w.t.Context())
	if err != nil {
		w.t.Fatal(err)
	}
	if err := lab.Client.Delete(w.t.Context(), config); err != nil {
		w.t.Fatal(err)
	}
	kit.Eventually(w.t, 2*time.Minute, "the sync agents and the files that they copied are deleted", func(ctx context.Context) error {
		pods, maps := &corev1.PodList{}, &corev1.ConfigMapList{}
		for _, list := range []client.ObjectList{pods, maps} {
			if err := lab.Client.List(ctx, list, client.InNamespace(hostNetworkNamespace)); err != nil {
				return err
			}
		}
		for _, cm := range maps.Items {
			if cm.Name != "kube-root-ca.crt" {
				return fmt.Errorf("ConfigMap %s still exists", cm.Name)
			}
		}
		if len(pods.Items) > 0 {
			return fmt.Errorf("pod %s still exists", pods.Items[0].Name)
		}
		for _, node := range []string{"worker-0", "worker-1"} {
			if out, err := lab.Lab(ctx, "exec", node, "--", "sh", "-c", "ls /etc/nmstate/openshift/*.yml"); err == nil {
				return fmt.Errorf("%s has %s", node, out)
			}
			if _, err := lab.Lab(ctx, "exec", node, "--", "ip", "link", "show", "hn0"); err != nil {
				return fmt.Errorf("%s has lost its applied configuration: %w", node, err)
			}
		}
		return nil
	})
	if _, err := w.get(w.t.Context()); !apierrors.IsNotFound(err) {
		w.t.Errorf("the config still exists: %v", err)
	}
}
