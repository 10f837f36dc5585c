// Package egressip decides which node has which egress IP address, and which namespace uses it. It is pure.
package egressip

import (
	"cmp"
	"fmt"
	"net/netip"
	"slices"

	"k8s.io/apimachinery/pkg/runtime"

	sdnv1 "github.com/cluster-network-operator/cno/api/sdn/v1"
	"github.com/cluster-network-operator/cno/internal/phrase"
)

// The reasons of events.
const (
	// ReasonInvalid is that an object has a value that cannot be used.
	ReasonInvalid = "EgressIPInvalid"
	// ReasonConflict is that two namespaces or two nodes have the same address.
	ReasonConflict = "EgressIPConflict"
	// ReasonUnassigned is that no node has an address that a namespace asks for.
	ReasonUnassigned = "EgressIPUnassigned"
)

// mostNamed is how many namespaces or nodes one sentence names.
const mostNamed = 3

// State is what is known of a node.
type State int

// The states. A node in state Unknown was not probed yet, or its probe has not been answered: it keeps its addresses and gets no others.
// The same holds for one in state Held, whose tunnel address answers although its Node is not ready. The zero value is Unknown.
const (
	Unknown State = iota
	Online
	Held
	Offline
)

// Node is a node that has egress IPs or may get some.
type Node struct {
	Name string
	// Address is its tunnel address.
	Address netip.Addr
	// Addresses are its egress IPs, CIDRs the networks of which it may get others. With CIDRs it is automatic: Assign decides.
	Addresses []netip.Addr
	CIDRs     []netip.Prefix
	State     State
	// Object is where problems are reported.
	Object *sdnv1.HostSubnet
}

func (n Node) automatic() bool { return len(n.CIDRs) > 0 }

func (n Node) offers(a netip.Addr) bool {
	return slices.ContainsFunc(n.CIDRs, func(p netip.Prefix) bool { return p.Contains(a) })
}

// Namespace is a namespace that asks for egress IPs.
type Namespace struct {
	Name      string
	VNID      uint32
	Addresses []netip.Addr
	// Dropped is that it asks for addresses, and none of them can be used: what it sends outside of the cluster is dropped.
	Dropped bool
	// SharedWith names other namespaces that have the same VNID; empty if there are none.
	SharedWith string
	Object     *sdnv1.NetNamespace
}

// Cluster is all that takes part, sorted by name.
type Cluster struct {
	Nodes      []Node
	Namespaces []Namespace
}

// Problem is an error in an object.
type Problem struct {
	Object runtime.Object
	// Reason is one of those of this package, Message a sentence.
	Reason, Message string
}

// problems gathers them.
type problems []Problem

func (p *problems) add(o runtime.Object, reason, format string, args ...any) {
	*p = append(*p, Problem{o, reason, fmt.Sprintf(format, args...)})
}

// Read returns the nodes and namespaces of which some objects speak, without the values that cannot be used, each of which is a problem.
// inside are the cluster network and the Service CIDR. state returns that of a node by its name. sharing is whether namespaces may share a VNID, as in
// mode Multitenant.
func Read(subnets []*sdnv1.HostSubnet, namespaces []*sdnv1.NetNamespace, inside []netip.Prefix, sharing bool, state func(string) State) (Cluster, []Problem) {
	var c Cluster
	ofVNID := map[uint32][]string{}
	for _, n := range namespaces {
		ofVNID[n.NetID] = append(ofVNID[n.NetID], n.Name)
	}
	var found problems
	own := map[netip.Addr]string{}
	for _, s := range subnets {
		if a, err := netip.ParseAddr(s.HostIP); err == nil {
			own[a] = s.Name
		}
	}
	usable := func(o runtime.Object, texts []string) []netip.Addr {
		var out []netip.Addr
		for _, text := range texts {
			a, fault := parse(text, inside)
			switch owner, taken := own[a]; {
			case fault != "":
				found.add(o, ReasonInvalid, "egress IP %q %s", text, fault)
			case taken:
				found.add(o, ReasonInvalid, "egress IP %s is the address of node %s itself: choose one that no host has", a, owner)
			case !slices.Contains(out, a):
				out = append(out, a)
			}
		}
		return out
	}
	for _, s := range subnets {
		if len(s.EgressIPs)+len(s.EgressCIDRs) == 0 || s.Host != s.Name {
			continue
		}
		n := Node{Name: s.Name, State: state(s.Name), Object: s}
		n.Address, _ = netip.ParseAddr(s.HostIP) // the zero value is no egress IP
		for _, text := range s.EgressCIDRs {
			p, err := netip.ParsePrefix(text)
			if err != nil || !p.Addr().Is4() {
				found.add(s, ReasonInvalid, "egressCIDRs has %q, which is no IPv4 network: write one such as 192.0.2.128/25", text)
				continue
			}
			n.CIDRs = append(n.CIDRs, p.Masked())
		}
		n.Addresses = usable(s, s.EgressIPs)
		c.Nodes = append(c.Nodes, n)
	}
	for _, n := range namespaces {
		if len(n.EgressIPs) > 0 {
			addresses := usable(n, n.EgressIPs)
			one := Namespace{Name: n.Name, VNID: n.NetID, Addresses: addresses, Dropped: len(addresses) == 0, Object: n}
			if sharing {
				slices.Sort(ofVNID[n.NetID])
				one.SharedWith = others(ofVNID[n.NetID], n.Name)
			}
			c.Namespaces = append(c.Namespaces, one)
		}
	}
	slices.SortFunc(c.Nodes, func(a, b Node) int { return cmp.Compare(a.Name, b.Name) })
	slices.SortFunc(c.Namespaces, func(a, b Namespace) int { return cmp.Compare(a.Name, b.Name) })
	return c, found
}

// parse reads an egress IP. The fault continues a sentence that begins with it.
func parse(text string, inside []netip.Prefix) (a netip.Addr, fault string) {
	a, err := netip.ParseAddr(text)
	switch {
	case err != nil || !a.Is4():
		return a, "is no IPv4 address: write one such as 192.0.2.100"
	case a.IsLoopback() || a.IsMulticast() || a.IsUnspecified() || a.IsLinkLocalUnicast() || a == netip.AddrFrom4([4]byte{255, 255, 255, 255}):
		return a, "cannot be the source of packets: write a unicast address of the nodes' network"
	case slices.ContainsFunc(inside, func(p netip.Prefix) bool { return p.Contains(a) }):
		return a, "lies in the cluster network or the Service CIDR: write one of the nodes' network"
	}
	return a, ""
}

// asking returns who asks for each address.
func (c Cluster) asking() map[netip.Addr][]string {
	out := map[netip.Addr][]string{}
	for _, n := range c.Namespaces {
		for _, a := range n.Addresses {
			out[a] = append(out[a], n.Name)
		}
	}
	return out
}

// having returns which nodes have each address.
func (c Cluster) having() map[netip.Addr][]string {
	out := map[netip.Addr][]string{}
	for _, n := range c.Nodes {
		for _, a := range n.Addresses {
			out[a] = append(out[a], n.Name)
		}
	}
	return out
}

// others are names without one of them, as a sentence has them.
func others(names []string, but string) string {
	rest := slices.DeleteFunc(slices.Clone(names), func(n string) bool { return n == but })
	return phrase.Names(rest, mostNamed)
}
