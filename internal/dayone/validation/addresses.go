package validation

import (
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"strings"

	"github.com/cluster-network-operator/cno/internal/dayone/nmstate"
	"github.com/cluster-network-operator/cno/internal/dayone/placement"
)

// checkAddresses reports addresses that two hosts have, before or after the boot, that belong to no host, or that are outside of the machine networks.
func checkAddresses(documents []document, s Surroundings) nmstate.Problems {
	c := addressCheck{Surroundings: s, owners: map[netip.Addr][]owner{}, reported: map[reported]bool{}}
	for _, doc := range documents {
		host := ""
		if doc.file != placement.ClusterFile {
			host = placement.ShortName(strings.TrimSuffix(doc.file, placement.Extension))
		}
		c.check(doc.Document, owner{host: host, name: "in " + doc.file})
		c.problems = append(c.problems, checkMachineNetworks(doc, s.MachineNetworks)...)
	}
	for _, host := range slices.Sorted(maps.Keys(s.PreBoot)) {
		c.check(s.PreBoot[host], owner{host: host, preBoot: true, name: "of " + host + " before its boot"})
	}
	return c.problems
}

// addressCheck compares the addresses of documents.
type addressCheck struct {
	Surroundings
	owners   map[netip.Addr][]owner
	reported map[reported]bool
	problems nmstate.Problems
}

// owner is a document with an address. host is empty for cluster.yml, which may apply to any host.
type owner struct {
	host    string
	preBoot bool
	name    string
}

// conflicts reports whether two documents must not have the same address: they belong to different hosts, or to the same phase.
func (o owner) conflicts(other owner) bool {
	return o.preBoot == other.preBoot || o.host != "" && other.host != "" && o.host != other.host
}

// reported identifies a problem that is not reported again for the other phase: two hosts with the same address, or a host with a virtual address.
type reported struct {
	address     netip.Addr
	first, next string
}

func (c *addressCheck) check(doc *nmstate.Document, by owner) {
	for i := range doc.Interfaces {
		iface := &doc.Interfaces[i]
		for _, a := range iface.Static() {
			if a.IP.IsLinkLocalUnicast() || a.IP.IsLoopback() {
				continue
			}
			path := fmt.Sprintf("interfaces[%d].%s", i, a.Path)
			if slices.Contains(c.VIPs, a.IP) {
				c.report(reported{a.IP, "", by.host}, by, doc, path, "%s is a virtual address of the cluster, which moves between hosts; give the host another one", a.IP)
			}
			at := slices.IndexFunc(c.owners[a.IP], by.conflicts)
			if at >= 0 {
				other := c.owners[a.IP][at]
				c.report(reported{a.IP, other.host, by.host}, by, doc, path, "%s is the address of %s; give each host a different one", a.IP, other.name)
				continue
			}
			by := by
			by.name = iface.Name + " " + by.name + c.place(doc, path)
			c.owners[a.IP] = append(c.owners[a.IP], by)
		}
	}
}

// report adds an error, unless it was already reported for the document of the other phase.
func (c *addressCheck) report(what reported, by owner, doc *nmstate.Document, path, format string, args ...any) {
	if by.preBoot && c.reported[what] {
		return
	}
	c.reported[what] = true
	c.problems.Errorf(doc, path, format, args...)
}

// place returns the position of a value, as far as it is known: its line, and its file if that differs from the document.
func (c *addressCheck) place(doc *nmstate.Document, path string) string {
	p := c.locate(nmstate.Problem{File: doc.Name, Line: doc.Line(path), Path: path})
	switch here := p.File == doc.Name; {
	case p.Line == 0 && here:
		return ""
	case p.Line == 0:
		return fmt.Sprintf(" (%s)", p.File)
	case here:
		return fmt.Sprintf(" (line %d)", p.Line)
	default:
		return fmt.Sprintf(" (%s:%d)", p.File, p.Line)
	}
}

// checkMachineNetworks reports a bridge with all addresses outside of the machine networks. Addresses from DHCP are unknown.
func checkMachineNetworks(doc document, networks []netip.Prefix) nmstate.Problems {
	internal := findInterface(doc.Document, placement.Bridge, nmstate.TypeOVSInterface)
	if len(networks) == 0 || internal < 0 {
		return nil
	}
	iface := &doc.Interfaces[internal]
	addresses := iface.Static()
	if len(addresses) == 0 || iface.IPv4.Automatic() || iface.IPv6.Automatic() {
		return nil
	}
	for _, a := range addresses {
		if slices.ContainsFunc(networks, func(n netip.Prefix) bool { return n.Contains(a.IP) }) {
			return nil
		}
	}
	var problems nmstate.Problems
	problems.Errorf(doc.Document, fmt.Sprintf("interfaces[%d].%s", internal, addresses[0].Path), "%s is in none of the machine networks %v, where the kubelet looks for the address of its node", addresses[0].IP, networks)
	return problems
}

// checkPreBoot reports hosts whose addresses all differ from those before the boot, because the address of a node is chosen before the document is applied.
func checkPreBoot(documents []document, before map[string]*nmstate.Document) nmstate.Problems {
	var problems nmstate.Problems
	for _, doc := range documents {
		first, ok := before[placement.ShortName(strings.TrimSuffix(doc.file, placement.Extension))]
		if !ok || doc.file == placement.ClusterFile {
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
		for _, a := range doc.Interfaces[i].Static() {
			if !a.IP.IsLinkLocalUnicast() && !a.IP.IsLoopback() {
				all = append(all, a.IP)
			}
		}
	}
	return all
}
