package node

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strings"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"
	"sigs.k8s.io/knftables"

	"github.com/cluster-network-operator/cno/internal/host/netlinkdump"
	"github.com/cluster-network-operator/cno/internal/netaddr"
	"github.com/cluster-network-operator/cno/providers/openshiftsdn/egressip"
)

// egressLabel is the suffix of address labels that mark egress IPs.
const egressLabel = ":eip"

// labelOf returns the label of egress IPs on an interface. The kernel limits labels to 15 characters.
func labelOf(link string) string {
	const most = unix.IFNAMSIZ - 1 - len(egressLabel)
	return link[:min(len(link), most)] + egressLabel
}

// egressNode is the network state of a node.
type egressNode struct {
	kernel egressip.Kernel
	link   netlink.Link
	index  int
	// labelled are all addresses with the label, on any interface.
	labelled []labelled
}

// labelled is an egress IP on an interface.
type labelled struct {
	addr netlink.Addr
	// valid is true if it is on the interface of the node's address and has its prefix length.
	valid bool
}

// readEgressNode reads the network state. link is nil if no interface has the node's address.
func readEgressNode(node netip.Addr) (egressNode, error) {
	all, err := netlinkdump.All(func() ([]netlink.Addr, error) { return netlink.AddrList(nil, netlink.FAMILY_V4) })
	if err != nil {
		return egressNode{}, fmt.Errorf("list addresses: %w", err)
	}
	var n egressNode
	for _, a := range all {
		p, ok := netaddr.FromIPNet(a.IPNet)
		switch {
		case !ok:
		case strings.HasSuffix(a.Label, egressLabel):
			n.labelled = append(n.labelled, labelled{addr: a})
		default:
			n.kernel.Own = append(n.kernel.Own, p.Addr())
			if p.Addr() == node {
				n.index, n.kernel.Interface.Network = a.LinkIndex, p
			}
		}
	}
	if n.index == 0 {
		return n, nil
	}
	if n.link, err = netlink.LinkByIndex(n.index); err != nil {
		return n, fmt.Errorf("read the interface with address %s: %w", node, err)
	}
	n.kernel.Interface.Name, n.kernel.Interface.Carrier = n.link.Attrs().Name, connected(n.link.Attrs().RawFlags)
	for i, l := range n.labelled {
		p, _ := netaddr.FromIPNet(l.addr.IPNet)
		if l.addr.LinkIndex == n.index && p.Bits() == n.kernel.Interface.Network.Bits() {
			n.labelled[i].valid = true
			n.kernel.Held = append(n.kernel.Held, p.Addr())
		}
	}
	return n, nil
}

// except returns the egress IPs of the node that are not in keep.
func (n egressNode) except(keep []egressip.Claim) []labelled {
	return slices.DeleteFunc(slices.Clone(n.labelled), func(l labelled) bool {
		return l.valid && slices.ContainsFunc(keep, func(c egressip.Claim) bool { return c.Address.Compare(addressOf(l.addr)) == 0 })
	})
}

func addressOf(a netlink.Addr) netip.Addr {
	p, _ := netaddr.FromIPNet(a.IPNet)
	return p.Addr()
}

// probes reports whether hosts on the interface can be probed, which needs hardware addresses.
func (n egressNode) probes() bool { return len(n.link.Attrs().HardwareAddr) == 6 }

// add adds an address to the interface.
func (n egressNode) add(a netip.Addr) error {
	p := netip.PrefixFrom(a, n.kernel.Interface.Network.Bits())
	if err := netlink.AddrReplace(n.link, &netlink.Addr{IPNet: netaddr.IPNet(p), Label: labelOf(n.kernel.Interface.Name)}); err != nil {
		return fmt.Errorf("add egress IP %[2]s to interface %[1]s: %[3]w", n.kernel.Interface.Name, a, err)
	}
	return nil
}

func (l labelled) remove() error {
	link, err := netlink.LinkByIndex(l.addr.LinkIndex)
	if err == nil {
		err = netlink.AddrDel(link, &l.addr)
	}
	if err != nil && !errors.Is(err, unix.EADDRNOTAVAIL) {
		return fmt.Errorf("remove egress IP %s: %w", l.addr.IP, err)
	}
	return nil
}

// removeEgressIPs removes all egress IPs from the node, and their rules.
func removeEgressIPs(ctx context.Context) error {
	node, err := readEgressNode(netip.Addr{})
	errs := []error{err}
	for _, l := range node.labelled {
		errs = append(errs, l.remove())
	}
	return errors.Join(append(errs, removeTable(ctx, knftables.IPv4Family, egressTable), removeTable(ctx, knftables.NetDevFamily, egressTable))...)
}
