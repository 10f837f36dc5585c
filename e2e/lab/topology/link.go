package topology

import (
	"errors"
	"fmt"
	"net/netip"
	"slices"
)

// maxLinks is the maximum number of links, whose names and networks have one digit.
const maxLinks = 9

// dhcpFirst and dhcpLast are the first and the last host number that is leased on a link: tests use those below for
// addresses of their own, and those above for ranges of an address manager.
const (
	dhcpFirst = 100
	dhcpLast  = 199
)

// Link is a network beside the underlay: a switch with one host outside the cluster, to which every node has a
// further interface without an address. Both IP families are used on it, also in a lab with one family.
type Link struct {
	// Number counts links from 1.
	Number int `json:"number"`
	// DHCP enables a DHCP server for IPv4 on the outside host.
	DHCP bool `json:"dhcp,omitempty"`
}

// links returns the links of options.
func links(o Options) []Link {
	var list []Link
	for n := 1; n <= min(o.Links, maxLinks); n++ {
		list = append(list, Link{Number: n, DHCP: slices.Contains(o.DHCP, n)})
	}
	return list
}

// Device returns the name of the nodes' interface on the link.
func (l Link) Device() string { return fmt.Sprintf("eth%d", l.Number) }

// Networks lists the networks of the link, IPv4 first.
func (l Link) Networks() []netip.Prefix {
	n := byte(l.Number)
	return []netip.Prefix{
		netip.PrefixFrom(netip.AddrFrom4([4]byte{10, 90, n, 0}), 24),
		netip.PrefixFrom(netip.AddrFrom16([16]byte{0: 0xfd, 1: 0x90, 3: n}), 64),
	}
}

// Outside is the host outside the cluster: the first address of each of the link's networks is its own.
func (l Link) Outside() Node {
	n := Node{Name: fmt.Sprintf("outside%d", l.Number), Role: Outside}
	for _, p := range l.Networks() {
		n.Addresses = append(n.Addresses, p.Addr().Next())
	}
	return n
}

// Leases are the first and the last address that the host outside leases, if the link has DHCP.
func (l Link) Leases() (first, last netip.Addr) {
	network := l.Networks()[0]
	return numbered(network, dhcpFirst), numbered(network, dhcpLast)
}

// OutsideHosts lists the hosts outside the cluster, one a link.
func (t Topology) OutsideHosts() []Node {
	var hosts []Node
	for _, l := range t.Links {
		hosts = append(hosts, l.Outside())
	}
	return hosts
}

// LinkOf returns the link of a host outside the cluster.
func (t Topology) LinkOf(host Node) (Link, error) {
	for _, l := range t.Links {
		if l.Outside().Name == host.Name {
			return l, nil
		}
	}
	return Link{}, fmt.Errorf("%s is not on any of the lab's %d links", host.Name, len(t.Links))
}

func checkLinks(o Options) error {
	if o.Links < 0 || o.Links > maxLinks {
		return fmt.Errorf("%d links: a lab has 0 to %d", o.Links, maxLinks)
	}
	var errs []error
	for _, n := range o.DHCP {
		if n < 1 || n > o.Links {
			errs = append(errs, fmt.Errorf("DHCP on link %d: this lab has %d links, counted from 1", n, o.Links))
		}
	}
	return errors.Join(errs...)
}
