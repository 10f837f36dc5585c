package multinetwork

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	operatorv1 "github.com/cluster-network-operator/cno/api/operator/v1"
	"github.com/cluster-network-operator/cno/e2e/kit"
	"github.com/cluster-network-operator/cno/internal/multinet/definition/definitiontest"
	"github.com/cluster-network-operator/cno/providers/multus/agentconfig"
)

// Definitions that try to get more than their authors may have are refused, all at once, each with its reason: the nodes and other pods are as before.
func TestHostileDefinitions(t *testing.T) {
	kit.Full(t)
	ns := lab.Namespace(t)
	define(t, ns, "link", macvlanIPs)
	a := run(t, asking(ns, "a", "worker-0", `[{"name":"link","ips":["10.90.1.71/24"]}]`))
	b := run(t, asking(ns, "b", "worker-1", `[{"name":"link","ips":["10.90.1.72/24"]}]`))
	node := &corev1.Node{}
	if err := lab.Client.Get(t.Context(), client.ObjectKey{Name: "worker-1"}, node); err != nil {
		t.Fatal(err)
	}
	config := daemonConfig(t)
	cluster := definitiontest.Cluster{
		Namespace: ns, Network: "flannel", Bridge: "cni0", Plugin: config.ReservedPlugins[0], Uplink: "eth0", Master: "eth1",
		Pod: b.Status.PodIP, Service: "10.96.0.1", Node: node.Status.Addresses[0].Address,
	}
	before := nodeState(t)
	var open, restricted []definitiontest.Row
	for _, row := range definitiontest.Hostile(cluster) {
		if row.Restricted {
			restricted = append(restricted, row)
		} else {
			open = append(open, row)
		}
	}
	refused(t, ns, open)
	lab.Edit(t, func(s *operatorv1.NetworkSpec) {
		s.MultiNetwork = &operatorv1.MultiNetworkConfig{
			Attachments: operatorv1.AttachmentsRestricted, Restricted: &operatorv1.RestrictedAttachments{Masters: []string{cluster.Master}},
		}
	})
	configure(t, func(c agentconfig.Config) bool { return c.Attachments == agentconfig.Restricted })
	refused(t, ns, restricted)
	if diff := cmp.Diff(before, nodeState(t)); diff != "" {
		t.Errorf("the node is not as before (-before +after):\n%s", diff)
	}
	for _, address := range []string{"10.90.1.72", outside4, b.Status.PodIP, cluster.Node} {
		if err := lab.Ping(t.Context(), a, address); err != nil {
			t.Errorf("another pod does not reach %s: %v", address, err)
		}
	}
	remove(t, a)
	remove(t, b)
	left(t, "worker-0")
}

// refused creates definitions and a pod on worker-0 for each. The API server refuses a definition, or the pod does not start, and an event has the reason.
func refused(t *testing.T, ns string, rows []definitiontest.Row) {
	t.Helper()
	const label = "hostile"
	pods := map[string]*corev1.Pod{}
	for i, row := range rows {
		name := fmt.Sprintf("hostile-%d", i)
		object := &unstructured.Unstructured{Object: map[string]any{"spec": map[string]any{"config": row.Config}}}
		object.SetAPIVersion("k8s.cni.cncf.io/v1")
		object.SetKind("NetworkAttachmentDefinition")
		object.SetNamespace(ns)
		object.SetName(name)
		switch err := lab.Client.Create(t.Context(), object); {
		case apierrors.IsInvalid(err):
			continue
		case err != nil:
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = lab.Client.Delete(t.Context(), object) })
		pod := asking(ns, name, "worker-0", name)
		pod.Labels = map[string]string{"app": label}
		if err := lab.Client.Create(t.Context(), pod); err != nil {
			t.Fatal(err)
		}
		pods[row.Config] = pod
	}
	for _, row := range rows {
		pod, created := pods[row.Config]
		if !created {
			continue
		}
		kit.Eventually(t, starts, row.Why+": the pod has an event", hasEvent(pod, "InvalidNetworks", row.Want))
		if err := lab.Client.Get(t.Context(), client.ObjectKeyFromObject(pod), pod); err != nil || pod.Status.Phase != corev1.PodPending {
			t.Errorf("%s: the pod is %s, %v", row.Why, pod.Status.Phase, err)
		}
	}
	for _, args := range [][]string{{"pods", "-l", "app=" + label}, {"net-attach-def", "--field-selector", "metadata.name!=link"}} {
		if _, err := lab.Kubectl(t.Context(), append([]string{"delete", "-n", ns, "--timeout", ends.String()}, args...)...); err != nil {
			t.Fatal(err)
		}
	}
}

// daemonConfig returns the configuration of the daemons.
func daemonConfig(t *testing.T) agentconfig.Config {
	t.Helper()
	cm := &corev1.ConfigMap{}
	if err := lab.Client.Get(t.Context(), client.ObjectKey{Namespace: "openshift-multus", Name: "multus-config"}, cm); err != nil {
		t.Fatal(err)
	}
	var config agentconfig.Config
	if err := json.Unmarshal([]byte(cm.Data["multus.json"]), &config); err != nil {
		t.Fatal(err)
	}
	return config
}

// nodeState returns what a hostile definition could change on worker-0: interfaces but those of pods, their addresses, routes, and files.
func nodeState(t *testing.T) []string {
	t.Helper()
	const script = `ls /sys/class/net | grep -v ^veth; ip -br address | grep -v ^veth; ip route; ip -6 route | grep -v veth
		ls -R /etc/cron.d /etc/cni /run/cni /var/lib/cni/networks 2>/dev/null | grep -v '^[0-9.]*$'; sha256sum /etc/passwd /etc/shadow /etc/resolv.conf`
	out, err := lab.Lab(t.Context(), "exec", "worker-0", "--", "sh", "-c", script)
	if err != nil {
		t.Fatal(err)
	}
	return strings.Split(out, "\n")
}

// configure waits until all daemons have a configuration.
func configure(t *testing.T, configured func(agentconfig.Config) bool) {
	t.Helper()
	kit.Eventually(t, time.Minute, "the daemons are configured", func(context.Context) error {
		if config := daemonConfig(t); !configured(config) {
			return fmt.Errorf("%+v", config)
		}
		return nil
	})
	if _, err := lab.Kubectl(t.Context(), "rollout", "status", "daemonset/multus", "-n", "openshift-multus", "--timeout=4m"); err != nil {
		t.Fatal(err)
	}
}
