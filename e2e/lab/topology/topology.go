// Package topology describes a lab as a value: its nodes with their names and
// addresses, its networks, and the Service CIDR of the cluster. It is pure.
package topology

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"
)

// Role determines the components of a node.
type Role string

const (
	// ControlPlane nodes run a member of etcd, an API server, a controller
	// manager and a scheduler.
	ControlPlane Role = "control-plane"
	// Worker nodes run nothing but a kubelet and its pods.
	Worker Role = "worker"
	// Outside hosts are not nodes of the cluster; pods can reach them on a Link.
	Outside Role = "outside"
)

// Node is a machine of the lab: a node of the cluster, or an outside host.
type Node struct {
	Name string `json:"name"`
	Role Role   `json:"role"`
	// Addresses holds those of the first interface, on the underlay or, for a host outside, on its link; the primary
	// family first.
	Addresses []netip.Addr `json:"addresses"`
}

// Primary returns the primary address of the node.
func (n Node) Primary() netip.Addr { return n.Addresses[0] }

// Topology is a whole lab. The zero value is invalid; use New.
type Topology struct {
	Family Family `json:"family"`
	// Nodes holds the control-plane nodes first; names and addresses are unique.
	Nodes []Node `json:"nodes"`
	// ServiceNetwork holds one prefix a family, the primary family first.
	ServiceNetwork []netip.Prefix `json:"serviceNetwork"`
	// Links are the networks in addition to the underlay, by number.
	Links []Link `json:"links,omitempty"`
	// MTU is that of the underlay and of all links, in bytes; 0 is the kernel's default of 1500.
	MTU int `json:"mtu,omitempty"`
	// Kubernetes is the version of the programs on nodes (component.ClusterPrograms), for example v1.35.4; empty is the default version.
	Kubernetes string `json:"kubernetes,omitempty"`
	// KubeProxy runs kube-proxy on every node, for networks without a
	// service proxy.
	KubeProxy bool `json:"kubeProxy,omitempty"`
	// OpenShift creates OpenShift's CRDs and the objects that its installer
	// creates.
	OpenShift bool `json:"openShift,omitempty"`
}

// Node returns the named node of the cluster.
func (t Topology) Node(name string) (Node, error) { return named(t.Nodes, name) }

// Machines lists the nodes of the cluster and then the hosts outside.
func (t Topology) Machines() []Node { return slices.Concat(t.Nodes, t.OutsideHosts()) }

// Machine returns the named node of the cluster or host outside.
func (t Topology) Machine(name string) (Node, error) { return named(t.Machines(), name) }

func named(nodes []Node, name string) (Node, error) {
	for _, n := range nodes {
		if n.Name == name {
			return n, nil
		}
	}
	return Node{}, fmt.Errorf("no node is called %q, there are %s", name, strings.Join(Topology{Nodes: nodes}.Names(), ", "))
}

// Names lists the nodes' names in the order of Nodes.
func (t Topology) Names() []string {
	names := make([]string, 0, len(t.Nodes))
	for _, n := range t.Nodes {
		names = append(names, n.Name)
	}
	return names
}

// ControlPlanes lists the control-plane nodes.
func (t Topology) ControlPlanes() []Node {
	var nodes []Node
	for _, n := range t.Nodes {
		if n.Role == ControlPlane {
			nodes = append(nodes, n)
		}
	}
	return nodes
}

// APIPort is the port of every API server and of the load balancer.
const APIPort = 6443

// Endpoint returns the address of the API server for nodes: that of the only one,
// or of the underlay, which balances the load of several.
func (t Topology) Endpoint() netip.AddrPort {
	planes := t.ControlPlanes()
	if len(planes) == 1 {
		return netip.AddrPortFrom(planes[0].Primary(), APIPort)
	}
	return netip.AddrPortFrom(t.Family.Gateways()[0], APIPort)
}
