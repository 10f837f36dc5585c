// Package netpolicy translates NetworkPolicies, pods and namespaces into rules that contain only pods, address ranges and ports,
// which any network can enforce. It is a pure function of objects; Allowed decides about one connection by the same rules, for
// tests and for diagnosis.
//
// The semantics are those of networking.k8s.io/v1. Where the API leaves a choice, this package decides:
//
//   - Pods on the host network are neither selected by policies nor peers: their traffic has the addresses of the node.
//   - Pods that have ended (Succeeded, Failed) are neither: another pod may have their address.
//   - A named port is a port of the destination: of the selected pod for ingress, of the peer for egress, even if an
//     address range contains the peer. Addresses that belong to no pod have none.
//   - An invalid part of a policy matches nothing and is reported as a Problem; the policy isolates its pods nevertheless.
package netpolicy

import (
	"cmp"
	"net/netip"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
)

// ID names a pod or a policy.
type ID struct{ Namespace, Name string }

func (id ID) String() string { return id.Namespace + "/" + id.Name }

// Compare orders by namespace and name.
func (id ID) Compare(other ID) int {
	return cmp.Or(strings.Compare(id.Namespace, other.Namespace), strings.Compare(id.Name, other.Name))
}

// Namespace has the fields of a namespace that policies use.
type Namespace struct {
	Name   string
	Labels map[string]string
}

// Pod has the fields of a pod that policies use. Addresses may be empty: a pod is selected before it has one.
type Pod struct {
	ID
	Labels    map[string]string
	Addresses []netip.Addr
	Ports     []NamedPort
	// HostNetwork and Ended exclude the pod.
	HostNetwork, Ended bool
}

// NamedPort is a container port with a name.
type NamedPort struct {
	Name     string
	Protocol corev1.Protocol
	Port     uint16
}

// PortsOf returns the ports of a pod that have names.
func PortsOf(p *corev1.Pod) (ports []NamedPort) {
	// Init containers that are restarted always are sidecars.
	sidecars := slices.DeleteFunc(slices.Clone(p.Spec.InitContainers), func(c corev1.Container) bool {
		return c.RestartPolicy == nil || *c.RestartPolicy != corev1.ContainerRestartPolicyAlways
	})
	for _, c := range slices.Concat(p.Spec.Containers, sidecars) {
		for _, port := range c.Ports {
			if port.Name != "" {
				ports = append(ports, NamedPort{Name: port.Name, Protocol: port.Protocol, Port: uint16(port.ContainerPort)})
			}
		}
	}
	return ports
}

// Input are the objects of a cluster. The order makes no difference.
type Input struct {
	Namespaces []Namespace
	Pods       []Pod
	Policies   []*networkingv1.NetworkPolicy
}

// Policy is one policy in terms of pods. Pods are those that it selects.
type Policy struct {
	ID
	Pods []ID
	// Ingress and Egress are nil if the policy does not isolate its pods in that direction.
	Ingress, Egress *Direction
}

// Direction isolates pods: connections that no rule of any policy of a pod allows are denied.
type Direction struct{ Rules []Rule }

// Rule allows connections that match its peers and its ports.
type Rule struct {
	// Index is the place in the policy, for diagnosis.
	Index int
	// Peers are nil for every peer, inside and outside of the cluster.
	Peers *Peers
	// Ports are nil for every port of every protocol. A rule whose ports are empty, but not nil, matches nothing.
	Ports []Port
}

// Peers are pods, in the order of ID.Compare, and address ranges. Both empty match nothing.
type Peers struct {
	Pods   []ID
	Blocks []Block
	// Namespaces are those all of whose pods are peers, including pods that are not known yet; Pods has the known ones. A network that knows
	// the namespace of a packet need not know each of its pods.
	Namespaces []string
}

// Block is an address range without some parts.
type Block struct {
	CIDR   netip.Prefix
	Except []netip.Prefix
}

// Contains reports whether an address is in the range and in none of the exceptions.
func (b Block) Contains(a netip.Addr) bool {
	return b.CIDR.Contains(a) && !slices.ContainsFunc(b.Except, func(e netip.Prefix) bool { return e.Contains(a) })
}

// Port is a range of ports of a protocol.
type Port struct {
	Protocol corev1.Protocol
	// First and Last are the range, 1 to 65535 for all ports.
	First, Last uint16
	// Destinations are the pods for which a named port is this number; nil for every destination.
	Destinations []ID
}

// Problem is an invalid part of a policy, which therefore matches nothing.
type Problem struct {
	Policy ID
	// Field is the path in the policy, Detail the error.
	Field, Detail string
}

// Result is what Translate returns: the policies in the order of their names, and all problems.
type Result struct {
	Policies []Policy
	Problems []Problem
}
