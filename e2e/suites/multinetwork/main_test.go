// Package multinetwork tests pods with further networks, in a lab whose nodes have a further link with a host outside
// (outside1, 10.90.1.1 and fd90:1::1, with DHCP from 10.90.1.100). The tests share one lab; each restores it.
package multinetwork

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/cluster-network-operator/cno/e2e/kit"
)

// outside4 and outside6 are the addresses of the host outside.
const (
	outside4 = "10.90.1.1"
	outside6 = "fd90:1::1"
)

const (
	annotationNetworks = "k8s.v1.cni.cncf.io/networks"
	annotationStatus   = "k8s.v1.cni.cncf.io/network-status"
)

// starts is the time limit for the start of a pod, and ends that for its deletion.
const (
	starts = 2 * time.Minute
	ends   = 2 * time.Minute
)

var lab *kit.Kit

func TestMain(m *testing.M) {
	os.Exit(kit.Main(m, &lab, "network-flannel.yaml", "--links=1", "--dhcp=1"))
}

// define creates a NetworkAttachmentDefinition.
func define(t *testing.T, namespace, name, config string) {
	t.Helper()
	object := map[string]any{
		"apiVersion": "k8s.cni.cncf.io/v1", "kind": "NetworkAttachmentDefinition",
		"metadata": map[string]any{"namespace": namespace, "name": name}, "spec": map[string]any{"config": config},
	}
	raw, err := json.Marshal(object)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := lab.KubectlInput(t.Context(), string(raw), "apply", "-f", "-"); err != nil {
		t.Fatal(err)
	}
}

// asking creates a pod on a node that requests networks.
func asking(namespace, name, node, networks string) *corev1.Pod {
	pod := kit.ServerPod(namespace, name, node, nil)
	pod.Annotations = map[string]string{annotationNetworks: networks}
	return pod
}

func run(t *testing.T, pod *corev1.Pod) *corev1.Pod {
	t.Helper()
	pod, err := lab.RunPod(t.Context(), pod)
	if err != nil {
		events, _ := lab.Kubectl(t.Context(), "get", "events", "-n", pod.Namespace, "--field-selector", "involvedObject.name="+pod.Name)
		t.Fatalf("%v\n%s", err, events)
	}
	return pod
}

// interfaceStatus is an entry of the status annotation.
type interfaceStatus struct {
	Name, Interface, MAC string
	IPs                  []string
	Default              bool
	MTU                  int
}

func statusOf(t *testing.T, pod *corev1.Pod) []interfaceStatus {
	t.Helper()
	var all []interfaceStatus
	kit.Eventually(t, time.Minute, "the pod has a network status", func(ctx context.Context) error {
		if err := lab.Client.Get(ctx, client.ObjectKeyFromObject(pod), pod); err != nil {
			return err
		}
		return json.Unmarshal([]byte(pod.Annotations[annotationStatus]), &all)
	})
	return all
}

// hasEvent returns nil if a pod has an event with a reason and some words.
func hasEvent(pod *corev1.Pod, reason string, words ...string) func(context.Context) error {
	return func(ctx context.Context) error {
		out, err := lab.Kubectl(ctx, "get", "events", "-n", pod.Namespace, "--field-selector", "involvedObject.name="+pod.Name, "-o", `jsonpath={range .items[*]}{.reason} {.message}{"\n"}{end}`)
		if err != nil {
			return err
		}
		for line := range strings.Lines(out) {
			if strings.HasPrefix(line, reason+" ") && !slices.ContainsFunc(words, func(w string) bool { return !strings.Contains(line, w) }) {
				return nil
			}
		}
		return fmt.Errorf("events of %s: %s", pod.Name, out)
	}
}

// remove deletes a pod and waits until it no longer exists: its networks were detached.
func remove(t *testing.T, pod *corev1.Pod) {
	t.Helper()
	if _, err := lab.Kubectl(t.Context(), "delete", "pod", "-n", pod.Namespace, pod.Name, "--timeout", ends.String()); err != nil {
		t.Fatal(err)
	}
}

// attached waits until a node has exactly this number of sandboxes with further networks, and of addresses of bridgeLocal.
func attached(t *testing.T, node string, limit time.Duration, number int) {
	t.Helper()
	kit.Eventually(t, limit, "each pod of "+node+" has its networks, and no other address is assigned", func(ctx context.Context) error {
		out, err := lab.Lab(ctx, "exec", node, "--", "sh", "-c", "ls /var/lib/cni/networks/local | grep -c 198; ls /var/lib/cno/multus/sandboxes | grep -c json; true")
		if err == nil && strings.Join(strings.Fields(out), " ") != fmt.Sprint(number, number) {
			err = fmt.Errorf("addresses and sandboxes: %s", out)
		}
		return err
	})
}

// left fails the test if objects of further networks are left on a node.
func left(t *testing.T, node string) {
	t.Helper()
	kit.Eventually(t, time.Minute, "nothing of further networks is left on "+node, func(ctx context.Context) error {
		out, err := lab.Lab(ctx, "exec", node, "--", "sh", "-c", "ls /var/lib/cno/multus/sandboxes 2>/dev/null; true")
		if err == nil && strings.TrimSpace(out) != "" {
			err = errors.New(out)
		}
		return err
	})
}
