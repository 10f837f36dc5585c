package placement

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"

	"github.com/cluster-network-operator/cno/internal/dayone/nmstate"
)

// checkAddresses complains about addresses that two hosts have, that belong to no host, or that are outside of the
// networks of all hosts.
func checkAddresses(documents []document, s Surroundings) nmstate.Problems {
	var problems nmstate.Problems
	owner := map[netip.Addr]string{}
	for _, doc := range documents {
		for i := range doc.Interfaces {
			for _, a := range static(&doc.Interfaces[i]) {
				path := fmt.Sprintf("interfaces[%d].%s", i, a.path)
				if a.addr.IsLinkLocalUnicast() || a.addr.IsLoopback() {
					continue
				}
				if slices.Contains(s.VIPs, a.addr) {
					problems.Errorf(doc.Document, path, "%s is a virtual address of the cluster, which moves between hosts; give the host another one", a.addr)
				}
				if other, taken := owner[a.addr]; taken {
					problems.Errorf(doc.Document, path, "%s is taken by %s; give each host an address of its own", a.addr, other)
					continue
				}
				owner[a.addr] = fmt.Sprintf("%s in %s", doc.Interfaces[i].Name, doc.file)
			}
		}
		problems = append(problems, checkMachineNetworks(doc, s.MachineNetworks)...)
	}
	return problems
}

// checkMachineNetworks complains about a bridge all of whose addresses are elsewhere. Addresses by DHCP are not known.
func checkMachineNetworks(doc document, networks []netip.Prefix) nmstate.Problems {
	internal := findInterface(doc.Document, Bridge, nmstate.TypeOVSInterface)
	if len(networks) == 0 || internal < 0 {
		return nil
	}
	iface := &doc.Interfaces[internal]
	addresses := static(iface)
	if len(addresses) == 0 || iface.IPv4.Automatic() || iface.IPv6.Automatic() {
		return nil
	}
	for _, a := range addresses {
		if slices.ContainsFunc(networks, func(n netip.Prefix) bool { return n.Contains(a.addr) }) {
			return nil
		}
	}
	var problems nmstate.Problems
	problems.Errorf(doc.Document, fmt.Sprintf("interfaces[%d].%s", internal, addresses[0].path), "%s is in none of the machine networks %v, where the kubelet looks for the address of its node", addresses[0].addr, networks)
	return problems
}

// checkPreBoot complains about hosts whose addresses are others than those that they were booted with. The address of
// a node is chosen before the document is applied.
func checkPreBoot(documents []document, before map[string]*nmstate.Document) nmstate.Problems {
	var problems nmstate.Problems
	for _, doc := range documents {
		first, ok := before[ShortName(strings.TrimSuffix(doc.file, Extension))]
		if !ok || doc.file == ClusterFile {
			continue
		}
		had, has := addressesOf(first), addressesOf(doc.Document)
		if len(had) > 0 && len(has) > 0 && !slices.ContainsFunc(had, func(a netip.Addr) bool { return slices.Contains(has, a) }) {
			problems.Errorf(doc.Document, "interfaces", "the host is booted with %v and has %v afterwards; its node address is chosen from the first, so one must stay", had, has)
		}
	}
	return problems
}

func addressesOf(doc *nmstate.Document) []netip.Addr {
	var all []netip.Addr
	for i := range doc.Interfaces {
		for _, a := range static(&doc.Interfaces[i]) {
			if !a.addr.IsLinkLocalUnicast() && !a.addr.IsLoopback() {
				all = append(all, a.addr)
			}
		}
	}
	return all
}
