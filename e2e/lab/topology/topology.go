// Package topology describes a lab as a value: which nodes there are, what
// they are called, which addresses they have and which service network the
// cluster uses. It reads nothing and starts nothing.
package topology

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"
)

// Role says what runs on a node beside its kubelet.
type Role string

const (
	// ControlPlane nodes run a member of etcd, an API server, a controller
	// manager and a scheduler.
	ControlPlane Role = "control-plane"
	// Worker nodes run nothing but a kubelet and its pods.
	Worker Role = "worker"
	// Outside hosts are no nodes of the cluster: they are what pods reach on a Link.
	Outside Role = "outside"
)

// Node is one machine of the lab: a node of the cluster, or a host outside.
type Node struct {
	Name string `json:"name"`
	Role Role   `json:"role"`
	// Addresses holds those of the first interface, on the underlay or, for a host outside, on its link; the primary
	// family first.
	Addresses []netip.Addr `json:"addresses"`
}

// Primary is the address the node is known by.
func (n Node) Primary() netip.Addr { return n.Addresses[0] }

// Topology is a whole lab. The zero value is no lab; New makes a valid one.
type Topology struct {
	Family Family `json:"family"`
	// Nodes holds the control-plane nodes first; names and addresses are unique.
	Nodes []Node `json:"nodes"`
	// ServiceNetwork holds one prefix a family, the primary family first.
	ServiceNetwork []netip.Prefix `json:"serviceNetwork"`
	// Links are the networks beside the underlay, by number.
	Links []Link `json:"links,omitempty"`
	// MTU is that of the underlay and of all links, in bytes; 0 is the kernel's default of 1500.
	MTU int `json:"mtu,omitempty"`
	// KubeProxy makes the lab itself run kube-proxy on every node, for
	// clusters on which no one else brings a service proxy.
	KubeProxy bool `json:"kubeProxy,omitempty"`
	// OpenShift makes the lab serve OpenShift's kinds and hold the objects that
	// a cluster of OpenShift is born with.
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

// Endpoint is where nodes find the API server: the only one, or the load
// balancer that the underlay is when there are several.
func (t Topology) Endpoint() netip.AddrPort {
	planes := t.ControlPlanes()
	if len(planes) == 1 {
		return netip.AddrPortFrom(planes[0].Primary(), APIPort)
	}
	return netip.AddrPortFrom(t.Family.Gateways()[0], APIPort)
}
