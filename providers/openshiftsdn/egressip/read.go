// Package egressip decides which node has which egress IP, and which namespace uses it. It is pure.
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

// Reasons of events.
const (
	// ReasonInvalid: an object has an invalid value.
	ReasonInvalid = "EgressIPInvalid"
	// ReasonConflict: two namespaces or two nodes have the same address.
	ReasonConflict = "EgressIPConflict"
	// ReasonUnassigned: no node has an address that a namespace requests.
	ReasonUnassigned = "EgressIPUnassigned"
)

// maxNamed is the maximum number of namespaces or nodes in one message.
const maxNamed = 3

// State is the state of a node.
type State int

// States of a node; the zero value is Unknown. A node is Unknown until its first probe has finished: it keeps its addresses and gets no others. The same
// applies to a Held node, whose tunnel address responds while its Node is not ready.
const (
	Unknown State = iota
	Online
	Held
	Offline
)

// Node is a node that has or may get egress IPs.
type Node struct {
	Name string
	// Address is its tunnel address.
	Address netip.Addr
	// Addresses are its egress IPs. CIDRs are the networks from which it may get others; with CIDRs the node is automatic, and Assign decides.
	Addresses []netip.Addr
	CIDRs     []netip.Prefix
	State     State
	// Object is the object of its problems.
	Object *sdnv1.HostSubnet
}

func (n Node) automatic() bool { return len(n.CIDRs) > 0 }

func (n Node) offers(a netip.Addr) bool {
	return slices.ContainsFunc(n.CIDRs, func(p netip.Prefix) bool { return p.Contains(a) })
}

// Namespace is a namespace that requests egress IPs.
type Namespace struct {
	Name      string
	VNID      uint32
	Addresses []netip.Addr
	// Dropped is true if none of the requested addresses can be used: its egress traffic is dropped.
	Dropped bool
	// SharedWith names other namespaces with the same VNID; empty if there are none.
	SharedWith string
	Object     *sdnv1.NetNamespace
}

// Cluster has the nodes and namespaces with egress IPs, sorted by name.
type Cluster struct {
	Nodes      []Node
	Namespaces []Namespace
}

// Problem is an error in an object.
type Problem struct {
	Object runtime.Object
	// Reason is one of the constants of this package. Message is a sentence.
	Reason, Message string
}

// problems collects problems.
type problems []Problem

func (p *problems) add(o runtime.Object, reason, format string, args ...any) {
	*p = append(*p, Problem{o, reason, fmt.Sprintf(format, args...)})
}

// Read returns the nodes and namespaces in the objects, and a problem for each invalid value, which is omitted. inside are the cluster network and the Service
// CIDR. state returns the state of a node by name. sharing is true if namespaces may share a VNID, as in mode Multitenant.
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
		n.Address, _ = netip.ParseAddr(s.HostIP) // the zero value is not an egress IP
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
				one.SharedWith = namesExcept(ofVNID[n.NetID], n.Name)
			}
			c.Namespaces = append(c.Namespaces, one)
		}
	}
	slices.SortFunc(c.Nodes, func(a, b Node) int { return cmp.Compare(a.Name, b.Name) })
	slices.SortFunc(c.Namespaces, func(a, b Namespace) int { return cmp.Compare(a.Name, b.Name) })
	return c, found
}

// parse parses an egress IP. fault continues a sentence whose subject is the egress IP.
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

// requesters returns the namespaces that request each address.
func (c Cluster) requesters() map[netip.Addr][]string {
	out := map[netip.Addr][]string{}
	for _, n := range c.Namespaces {
		for _, a := range n.Addresses {
			out[a] = append(out[a], n.Name)
		}
	}
	return out
}

// holders returns the nodes that have each address.
func (c Cluster) holders() map[netip.Addr][]string {
	out := map[netip.Addr][]string{}
	for _, n := range c.Nodes {
		for _, a := range n.Addresses {
			out[a] = append(out[a], n.Name)
		}
	}
	return out
}

// namesExcept joins all names except one for a sentence.
func namesExcept(names []string, but string) string {
	rest := slices.DeleteFunc(slices.Clone(names), func(n string) bool { return n == but })
	return phrase.Names(rest, maxNamed)
}
