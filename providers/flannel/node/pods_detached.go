package node

import (
	"fmt"
	"regexp"
	"slices"

	"github.com/vishvananda/netlink"

	"github.com/cluster-network-operator/cno/internal/host/netlinkdump"
)

// podLink are the names that the bridge plugin gives the node's ends of pods' links.
var podLink = regexp.MustCompile(`^veth[0-9a-f]{8}$`)

// detachedPods finds pods that have lost their bridge: after the network was removed from the node and installed again, or the bridge
// was deleted, the containers of such a pod run on, and it reaches nothing. The zero value is ready for use.
type detachedPods struct {
	// seen are the links without a bridge of the last pass, by index: the plugin creates a link a moment before it attaches it.
	seen map[int]bool
}

// count returns the number of pods that had no bridge in this pass and in the one before. routed reports whether a link has an address
// on the node, as those of the ptp plugin have, which uses the same names and needs no bridge.
func (d *detachedPods) count(links []netlink.Link, routed func(netlink.Link) bool) int {
	now, both := map[int]bool{}, 0
	for _, l := range links {
		a := l.Attrs()
		if l.Type() != "veth" || a.MasterIndex != 0 || a.NetNsID < 0 || !podLink.MatchString(a.Name) || routed(l) {
			continue
		}
		now[a.Index] = true
		if d.seen[a.Index] {
			both++
		}
	}
	d.seen = now
	return both
}

// countDetached reports pods without a bridge.
func (s *session) countDetached() {
	links, err := netlinkdump.All(netlink.LinkList)
	if err != nil {
		s.board.Note(topicDetached, fmt.Errorf("list interfaces: %w", err))
		return
	}
	s.board.Note(topicDetached, nil)
	n := s.detached.count(links, hasAddress)
	s.board.Update(func(b *status) bool {
		changed := b.DetachedPods != n
		b.DetachedPods = n
		return changed
	})
}

// hasAddress reports whether a link has an address that is valid beyond it. One whose addresses cannot be read counts as such.
func hasAddress(l netlink.Link) bool {
	addrs, err := netlinkdump.All(func() ([]netlink.Addr, error) { return netlink.AddrList(l, netlink.FAMILY_ALL) })
	return err != nil || slices.ContainsFunc(addrs, func(a netlink.Addr) bool { return a.IP.IsGlobalUnicast() })
}
