package page

import (
	"cmp"
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
	// Programs are the pods of the network on the node, with their images and ports.
	Programs []Program `json:"programs"`
	// Routes describe the ways of packets of the node's pods, as the network declares them.
	Routes []NodeRoute `json:"routes"`
	// Pods are those on the node: all of them in a cluster, those of the network in an archive.
	Pods []Pod `json:"pods"`
	// Checks are the connectivity checks from the node and to it.
	Checks []Check  `json:"checks"`
	Notes  []string `json:"notes,omitempty"`
}

// Program is a container of a pod of the network.
type Program struct {
	Pod       string `json:"pod"`
	Container string `json:"container"`
	Image     string `json:"image"`
	// Ports are those of the node on which it listens, according to the pod: "TCP 9109 (metrics)". They are empty for a pod on the pod network.
	Ports []string `json:"ports,omitempty"`
}

// NodeRoute is the way of packets to a destination.
type NodeRoute struct {
	// To is a CIDR, or empty for all other addresses.
	To  string `json:"to,omitempty"`
	Of  string `json:"of"`
	Way string `json:"way"`
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
	page := NodePage{Node: seen.row(n), Conditions: []Condition{}, Pods: []Pod{}, Notes: slices.Clone(seen.notes), System: slices.DeleteFunc(
		[]string{info.OSImage, strings.TrimSpace("kernel " + info.KernelVersion), info.ContainerRuntimeVersion, info.Architecture}, func(text string) bool { return text == "" || text == "kernel" })}
	for _, c := range n.Status.Conditions {
		page.Conditions = append(page.Conditions, Condition{string(c.Type), string(c.Status), c.LastTransitionTime.UTC(), c.Message})
	}
	pods := seen.pods[name]
	page.Programs, page.Routes = programsOf(pods), seen.routes(page.Blocks)
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

// programsOf returns the containers of pods, ordered by the names of both.
func programsOf(pods []*corev1.Pod) []Program {
	programs := []Program{}
	for _, p := range pods {
		for i := range p.Spec.Containers {
			c := &p.Spec.Containers[i]
			program := Program{Pod: p.Name, Container: c.Name, Image: c.Image}
			if p.Spec.HostNetwork {
				program.Ports = portsOf(c)
			}
			programs = append(programs, program)
		}
	}
	slices.SortFunc(programs, func(a, b Program) int {
		return cmp.Or(cmp.Compare(a.Pod, b.Pod), cmp.Compare(a.Container, b.Container))
	})
	return programs
}

// portsOf returns the ports that a container declares, and those of its probes.
func portsOf(c *corev1.Container) []string {
	var ports []string
	for _, p := range c.Ports {
		text := fmt.Sprintf("%s %d", cmp.Or(p.Protocol, corev1.ProtocolTCP), p.ContainerPort)
		if p.HostIP != "" {
			text += " on " + p.HostIP
		}
		ports = append(ports, text)
	}
	for _, probe := range []*corev1.Probe{c.LivenessProbe, c.ReadinessProbe, c.StartupProbe} {
		if probe == nil || probe.HTTPGet == nil || probe.HTTPGet.Port.IntValue() == 0 {
			continue
		}
		text := fmt.Sprintf("TCP %d", probe.HTTPGet.Port.IntValue())
		if probe.HTTPGet.Host != "" {
			text += " on " + probe.HTTPGet.Host
		}
		ports = append(ports, text)
	}
	slices.Sort(ports)
	return slices.Compact(ports)
}

// routes returns the ways of packets of the pods in blocks of a node; none if the network does not declare them.
func (seen nodesSeen) routes(blocks []string) []NodeRoute {
	routes := []NodeRoute{}
	if seen.carriage.Between == "" {
		return routes
	}
	for _, b := range blocks {
		routes = append(routes, NodeRoute{b, "pods of this node", "on the node"})
	}
	for _, p := range seen.pools {
		routes = append(routes, NodeRoute{p.CIDR, "pods of other nodes", seen.carriage.Between})
	}
	for _, cidr := range seen.spec.ServiceNetwork {
		routes = append(routes, NodeRoute{cidr, "Services", "translated to an endpoint by " + seen.carriage.Translates})
	}
	return append(routes, NodeRoute{"", "all others", "the node " + seen.carriage.Leaves})
}
