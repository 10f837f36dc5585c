package pipeline

import (
	"cmp"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/cluster-network-operator/cno/internal/manifest"
	"github.com/cluster-network-operator/cno/internal/provider"
)

// Conflict is a resource that two networks need and only one can have.
type Conflict struct {
	// What is the key of an object, "port 8472/UDP of nodes", or "file /run/x of nodes".
	What string
	// From and To are the keys of the objects that need it.
	From, To string
}

// String returns the conflict as one sentence, without a full stop.
func (c Conflict) String() string {
	if c.From == c.To {
		return c.What + " differs between the networks"
	}
	return fmt.Sprintf("%s is needed by %s and by %s", c.What, c.From, c.To)
}

// port is a port of a node.
type port struct {
	number   int32
	protocol corev1.Protocol
}

// portConflicts returns the ports of nodes that workloads of both networks need: the scheduler would place only one of the two on a node.
func portConflicts(from, to Result) []Conflict {
	owners, shared := map[port]string{}, map[manifest.Key]bool{}
	for _, o := range objectsOf(from) {
		shared[o.Key()] = true
		for _, p := range nodePorts(o.Object) {
			owners[p] = o.Key().String()
		}
	}
	var found []Conflict
	for _, o := range objectsOf(to) {
		if shared[o.Key()] { // both networks have the same object
			continue
		}
		for _, p := range nodePorts(o.Object) {
			if before := owners[p]; before != "" {
				found = append(found, Conflict{What: fmt.Sprintf("port %d/%s of nodes", p.number, p.protocol), From: before, To: o.Key().String()})
			}
		}
	}
	return found
}

// nodePorts returns the ports of the node that the pods of a workload declare.
func nodePorts(o *unstructured.Unstructured) []port {
	if !manifest.IsWorkload(manifest.KeyOf(o).GroupKind()) {
		return nil
	}
	template, _, _ := unstructured.NestedMap(o.Object, "spec", "template", "spec")
	var pod corev1.PodSpec
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(template, &pod); err != nil {
		return nil // the API server reports errors in a workload
	}
	var ports []port
	for _, c := range pod.Containers {
		for _, p := range c.Ports {
			if number := cmp.Or(p.HostPort, onHost(&pod, p)); number != 0 {
				ports = append(ports, port{number, cmp.Or(p.Protocol, corev1.ProtocolTCP)})
			}
		}
	}
	return ports
}

// onHost returns the port of the node for a port of a pod on the host network; 0 for other pods.
func onHost(pod *corev1.PodSpec, p corev1.ContainerPort) int32 {
	if pod.HostNetwork {
		return p.ContainerPort
	}
	return 0
}

// fileConflicts returns the files of nodes that agents of both networks write.
func (p Pair) fileConflicts() []Conflict {
	var found []Conflict
	for _, to := range agentsOf(p.To) {
		for _, from := range agentsOf(p.From) {
			for _, file := range to.Files {
				if slices.Contains(from.Files, file) {
					found = append(found, Conflict{What: "file " + file + " of nodes", From: from.Namespace + "/" + from.Name, To: to.Namespace + "/" + to.Name})
				}
			}
		}
	}
	return found
}

// agentsOf returns the agents of the network of a choice.
func agentsOf(c Choice) []provider.Agent {
	if owner, ok := c.s.network.(provider.OperandOwner); ok {
		return owner.Operands().Agents
	}
	return nil
}
