package page

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
)

// NodePage is one node.
type NodePage struct {
	Node
	// System describes the operating system, kernel and container runtime of the node.
	System []string `json:"system"`
	// Conditions are those of the Node object.
	Conditions []Condition `json:"conditions"`
	// Pods are those on the node: all of them in a cluster, those of the network in an archive.
	Pods []Pod `json:"pods"`
	// Checks are the connectivity checks from the node and to it.
	Checks []Check  `json:"checks"`
	Notes  []string `json:"notes,omitempty"`
}

// Condition is one of a Node object.
type Condition struct {
	Type    string    `json:"type"`
	Status  string    `json:"status"`
	Since   time.Time `json:"since,omitzero"`
	Message string    `json:"message,omitempty"`
}

// Pod is a pod as pages show it.
type Pod struct {
	Namespace string   `json:"namespace"`
	Name      string   `json:"name"`
	Node      string   `json:"node,omitempty"`
	Addresses []string `json:"addresses,omitempty"`
	// HostNetwork is true for a pod on the network of its node.
	HostNetwork bool   `json:"hostNetwork,omitempty"`
	Phase       string `json:"phase"`
	Ready       bool   `json:"ready"`
	Restarts    int32  `json:"restarts,omitempty"`
}

func podOf(p *corev1.Pod) Pod {
	pod := Pod{Namespace: p.Namespace, Name: p.Name, Node: p.Spec.NodeName, HostNetwork: p.Spec.HostNetwork, Phase: string(p.Status.Phase), Ready: podReady(p)}
	for _, ip := range p.Status.PodIPs {
		pod.Addresses = append(pod.Addresses, ip.IP)
	}
	for _, c := range p.Status.ContainerStatuses {
		pod.Restarts += c.RestartCount
	}
	return pod
}

// Node returns the page of a node. The error wraps ErrUnknown for one that does not exist.
func (s Source) Node(ctx context.Context, name string) (NodePage, error) {
	seen, err := s.observeNodes(ctx)
	if err != nil {
		return NodePage{}, err
	}
	i := slices.IndexFunc(seen.nodes, func(n corev1.Node) bool { return n.Name == name })
	if i < 0 {
		return NodePage{}, fmt.Errorf("there is no node %q: %w", name, ErrUnknown)
	}
	n := &seen.nodes[i]
	info := n.Status.NodeInfo
	page := NodePage{Node: seen.row(n), Conditions: []Condition{}, Pods: []Pod{}, Notes: seen.notes, System: slices.DeleteFunc(
		[]string{info.OSImage, strings.TrimSpace("kernel " + info.KernelVersion), info.ContainerRuntimeVersion, info.Architecture}, func(text string) bool { return text == "" || text == "kernel" })}
	for _, c := range n.Status.Conditions {
		page.Conditions = append(page.Conditions, Condition{string(c.Type), string(c.Status), c.LastTransitionTime.UTC(), c.Message})
	}
	pods := seen.pods[name]
	if s.PodsOf != nil {
		if all, err := s.PodsOf(ctx, name); err == nil {
			pods = nil
			for i := range all {
				pods = append(pods, &all[i])
			}
		} else {
			page.Notes = append(page.Notes, fmt.Sprintf("only pods of the network are listed: %v", err))
		}
	}
	for _, p := range pods {
		page.Pods = append(page.Pods, podOf(p))
	}
	sortPods(page.Pods)
	checks, err := s.checks(ctx)
	if err != nil {
		page.Notes = append(page.Notes, fmt.Sprintf("the connectivity checks are unknown: %v", err))
	}
	page.Checks = slices.DeleteFunc(checks, func(c Check) bool { return c.Source != name && c.Target != name })
	return page, nil
}
