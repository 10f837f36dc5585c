package status

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
)

// componentNodes is the component of findings about nodes that differ from the others.
const componentNodes = "NodeFacts"

// mostNodes is the maximum number of nodes that a sentence names; the others are counted.
const mostNodes = 10

// Node is the observed state of one node.
type Node struct {
	Name string
	// Unreachable is true if its kubelet does not report.
	Unreachable bool
	// Kernel is the version of its kernel; empty if unknown.
	Kernel string
	// Families are the IP families of its internal addresses, for example "IPv4 and IPv6"; empty if it has none.
	Families string
}

// OfNode returns the observed state of a node.
func OfNode(n *corev1.Node) Node {
	node := Node{Name: n.Name, Kernel: n.Status.NodeInfo.KernelVersion}
	for _, c := range n.Status.Conditions {
		if c.Type == corev1.NodeReady {
			node.Unreachable = c.Status == corev1.ConditionUnknown
		}
	}
	families := map[string]bool{}
	for _, a := range n.Status.Addresses {
		if a.Type != corev1.NodeInternalIP {
			continue
		}
		if strings.Contains(a.Address, ":") {
			families["IPv6"] = true
		} else {
			families["IPv4"] = true
		}
	}
	node.Families = strings.Join(slices.Sorted(maps.Keys(families)), " and ")
	return node
}

// NodeReady reports whether a node has the condition Ready.
func NodeReady(n *corev1.Node) bool {
	return slices.ContainsFunc(n.Status.Conditions, func(c corev1.NodeCondition) bool {
		return c.Type == corev1.NodeReady && c.Status == corev1.ConditionTrue
	})
}

// unreachableNodes returns the names of the nodes whose kubelet does not report.
func unreachableNodes(nodes []Node) []string {
	var names []string
	for _, n := range nodes {
		if n.Unreachable {
			names = append(names, n.Name)
		}
	}
	return names
}

// nodeFindings reports unreachable nodes, and nodes whose IP families or kernels differ from those of the others.
func nodeFindings(nodes []Node) []Finding {
	var found []Finding
	if names := unreachableNodes(nodes); len(names) > 0 {
		found = append(found, Finding{Effect: Noted, Reason: reasonNodesGone,
			Message: fmt.Sprintf("%d of %d nodes do not answer: %s", len(names), len(nodes), Names(names, mostNodes))})
	}
	if text := groups(nodes, "no internal address", func(n Node) string { return n.Families }); text != "" {
		found = append(found, Finding{Component: componentNodes, Effect: Degraded, Reason: reasonFamilies, Aside: true,
			Message: "the nodes do not all have internal addresses of the same IP families: " + text})
	}
	if text := groups(nodes, "", func(n Node) string { return majorMinor(n.Kernel) }); text != "" {
		found = append(found, Finding{Component: componentNodes, Effect: Noted, Reason: reasonKernels,
			Message: "the nodes run different kernels; the oldest determines what the network can use: " + text})
	}
	return found
}

// groups lists the nodes of each value, the rarest value first; the nodes of the most frequent one are only counted. It returns
// "" if all have the same value. Nodes without a value have the value none, or are omitted if none is empty.
func groups(nodes []Node, none string, value func(Node) string) string {
	of := map[string][]string{}
	for _, n := range nodes {
		v := value(n)
		if v == "" {
			v = none
		}
		if v != "" {
			of[v] = append(of[v], n.Name)
		}
	}
	if len(of) < 2 {
		return ""
	}
	values := slices.Sorted(maps.Keys(of))
	slices.SortStableFunc(values, func(a, b string) int { return len(of[a]) - len(of[b]) })
	var parts []string
	for _, v := range values[:len(values)-1] {
		parts = append(parts, fmt.Sprintf("%s has %s", Names(of[v], mostNodes), v))
		if len(of[v]) > 1 {
			parts[len(parts)-1] = fmt.Sprintf("%s have %s", Names(of[v], mostNodes), v)
		}
	}
	most := values[len(values)-1]
	return fmt.Sprintf("%s; %d have %s", strings.Join(parts, "; "), len(of[most]), most)
}

// majorMinor returns the major and minor version of a kernel: 6.8 for 6.8.0-45-generic.
func majorMinor(version string) string {
	parts := strings.SplitN(version, ".", 3)
	if len(parts) < 2 {
		return version
	}
	return parts[0] + "." + parts[1]
}
