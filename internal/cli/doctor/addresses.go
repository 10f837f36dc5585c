package doctor

import (
	"context"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/cluster-network-operator/cno/internal/phrase"
)

// hostPod is a pod on the host network. Nothing else is kept of pods in other namespaces, and nothing of them is archived.
type hostPod struct {
	namespace, name, node string
	addresses             []string
	// static pods are defined by a file of their node, and lone ones have no controller: deleting them does not replace them.
	static, lone bool
}

// readHostPods reads the running pods on the host network of all namespaces.
func (c *collector) readHostPods(ctx context.Context, found *collected) {
	for next := ""; ; {
		list, err := c.typed.CoreV1.Pods("").List(ctx, metav1.ListOptions{FieldSelector: "spec.hostNetwork=true", Limit: page, Continue: next})
		if err != nil {
			found.miss("pods on the network of nodes", err)
			return
		}
		for i := range list.Items {
			if p := &list.Items[i]; p.DeletionTimestamp == nil && p.Status.Phase == corev1.PodRunning {
				found.hostPods = append(found.hostPods, hostPodOf(p))
			}
		}
		if next = list.Continue; next == "" {
			return
		}
	}
}

func hostPodOf(p *corev1.Pod) hostPod {
	_, static := p.Annotations[corev1.MirrorPodAnnotationKey]
	h := hostPod{namespace: p.Namespace, name: p.Name, node: p.Spec.NodeName, static: static, lone: !static && metav1.GetControllerOf(p) == nil}
	for _, a := range p.Status.PodIPs {
		h.addresses = append(h.addresses, a.IP)
	}
	return h
}

// replaced describes how to replace the pod by one with the address of the node.
func (p hostPod) replaced() string {
	switch {
	case p.static:
		return fmt.Sprintf("move the manifest of %s out of the kubelet's directory on node %s and back", p.name, p.node)
	case p.lone:
		return fmt.Sprintf("delete pod %s in namespace %s and create it again", p.name, p.namespace)
	default:
		return fmt.Sprintf("kubectl -n %s delete pod %s", p.namespace, p.name)
	}
}

// addressFindings reports pods with an address that their node no longer has: the kubelet never changes it, so that EndpointSlices
// contain invalid addresses. Nodes that are unreachable or have no addresses are skipped.
func addressFindings(pods []hostPod, nodes []map[string]any, unreachable map[string]bool) []Finding {
	addresses := map[string][]string{}
	for _, n := range nodes {
		list, _, _ := unstructured.NestedSlice(n, "status", "addresses")
		for _, entry := range list {
			a, _ := entry.(map[string]any)
			if text, ok := a["address"].(string); ok && a["type"] == string(corev1.NodeInternalIP) {
				addresses[name(n)] = append(addresses[name(n)], text)
			}
		}
	}
	var named, commands []string
	count := 0
	for _, p := range pods {
		now := addresses[p.node]
		old := slices.IndexFunc(p.addresses, func(a string) bool { return !slices.Contains(now, a) })
		if old < 0 || len(now) == 0 || unreachable[p.node] {
			continue
		}
		if count++; count <= mostNamed {
			named = append(named, fmt.Sprintf("%s/%s on node %s (%s, and the node has %s)", p.namespace, p.name, p.node, p.addresses[old], strings.Join(now, " and ")))
			commands = append(commands, p.replaced())
		}
	}
	if count == 0 {
		return nil
	}
	cause, wayOut := strings.Join(named, ", "), strings.Join(commands, "; ")
	if more := count - len(named); more > 0 {
		cause += " " + phrase.More(more)
		wayOut += "; then run cno doctor again for the others"
	}
	return []Finding{{Warning, fmt.Sprintf("pods on the network of their node have an address that the node no longer has: %d", count), cause, wayOut}}
}
