package hostsubnet

import (
	"fmt"
	"net/netip"
	"slices"

	sdnv1 "github.com/cluster-network-operator/cno/api/sdn/v1"
	"github.com/cluster-network-operator/cno/internal/nodeblocks"
)

// Endpoint is a node or an external host that has pods: its tunnel address and its block.
type Endpoint struct {
	Subnet  *sdnv1.HostSubnet
	Address netip.Addr
	Block   netip.Prefix
}

// Usable returns the endpoints of HostSubnets, oldest first, and by name the errors of HostSubnets that no node uses. Both omit HostSubnets without a block.
// Nodes use it: what the controller reports as invalid has no effect on them, whether or not the controller runs. reserved are the networks of pods and
// Services.
func Usable(all []*sdnv1.HostSubnet, reserved []netip.Prefix) (usable []Endpoint, refused map[string]error) {
	refused = map[string]error{}
	var blocks nodeblocks.Set
	owners := map[netip.Addr]*sdnv1.HostSubnet{}
	for _, s := range slices.SortedFunc(slices.Values(all), func(a, b *sdnv1.HostSubnet) int { return older(a, b) }) {
		block, readable := blockOf(s)
		unique := readable && blocks.Add(block)
		address, err := netip.ParseAddr(s.HostIP)
		owner := owners[address]
		// The controller deletes the HostSubnet of a node without a valid block, and leaves that of a host, which keeps its address.
		if owner == nil && err == nil && s.Host == s.Name && (unique || !ofNode(s)) {
			owner = s
			owners[address] = s
		}
		fault := ""
		switch {
		case s.Subnet == "":
			continue
		case s.Host != s.Name:
			fault = fmt.Sprintf("host %q is not the name of the object", s.Host)
		case !readable:
			fault = fmt.Sprintf("subnet %q %s", s.Subnet, faultNetwork)
		case !unique:
			fault = fmt.Sprintf("subnet %q %s", s.Subnet, faultOverlap)
		case err != nil || !address.Is4():
			fault = fmt.Sprintf("hostIP %q %s", s.HostIP, faultAddress)
		case contains(reserved, address):
			fault = fmt.Sprintf("hostIP %s %s", s.HostIP, faultReserved)
		// Two nodes have one address for a moment while the controller writes that they have exchanged their addresses.
		case owner != s && !(ofNode(owner) && ofNode(s)):
			fault = fmt.Sprintf("hostIP %s is the address of %s, which had it first", s.HostIP, owner.Name)
		}
		if fault != "" {
			refused[s.Name] = fmt.Errorf("HostSubnet %s: %s", s.Name, fault)
			continue
		}
		usable = append(usable, Endpoint{s, address, block})
	}
	return usable, refused
}

// ofNode reports whether a HostSubnet is that of a node, not of an external host.
func ofNode(s *sdnv1.HostSubnet) bool { return s.Annotations[sdnv1.AnnotationNodeUID] != "" }

// blockOf returns the block of a HostSubnet; ok is false if it is not an IPv4 network with addresses for the node and a pod.
func blockOf(s *sdnv1.HostSubnet) (block netip.Prefix, ok bool) {
	block, err := netip.ParsePrefix(s.Subnet)
	return block, err == nil && block.Addr().Is4() && block == block.Masked() && block.Bits() <= 30
}

func contains(networks []netip.Prefix, a netip.Addr) bool {
	return slices.ContainsFunc(networks, func(n netip.Prefix) bool { return n.Contains(a) })
}

// Errors of HostSubnets, after the field and its value.
const (
	faultNetwork  = "is no IPv4 network of at least four addresses"
	faultOverlap  = "overlaps the block of an older HostSubnet, which keeps it"
	faultAddress  = "is no IPv4 address"
	faultReserved = "lies in the cluster network or the Service CIDR"
)
