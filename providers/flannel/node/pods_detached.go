package node

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"

	"github.com/vishvananda/netlink"

	"github.com/cluster-network-operator/cno/internal/host/cniresults"
	"github.com/cluster-network-operator/cno/internal/host/netlinkdump"
)

// podLink matches the bridge plugin's names of the node's ends of pod links.
var podLink = regexp.MustCompile(`^veth[0-9a-f]{8}$`)

// maxDetached is the maximum number of detached pods in a report.
const maxDetached = 20

// detachedPods finds running pods whose link has no bridge and that have no connectivity: after the network was removed and reinstalled, or after the bridge
// was deleted. The zero value is ready for use.
type detachedPods struct {
	// seen are the detached links of the previous call, by index: the plugin creates a link shortly before it attaches it.
	seen map[int]bool
}

// find returns the sorted links of pods that had no bridge in this call and the previous one. routed reports whether a link has an address on the node, as
// with the ptp plugin, which uses the same names and needs no bridge.
func (d *detachedPods) find(links []netlink.Link, routed func(netlink.Link) bool) []string {
	now := map[int]bool{}
	var both []string
	for _, l := range links {
		a := l.Attrs()
		if l.Type() != "veth" || a.MasterIndex != 0 || a.NetNsID < 0 || !podLink.MatchString(a.Name) || routed(l) {
			continue
		}
		now[a.Index] = true
		if d.seen[a.Index] {
			both = append(both, a.Name)
		}
	}
	d.seen = now
	slices.Sort(both)
	return both
}

// reportDetached reports pods without a bridge.
func (s *session) reportDetached() {
	links, err := netlinkdump.All(netlink.LinkList)
	if err != nil {
		s.board.Note(topicDetached, fmt.Errorf("list interfaces: %w", err))
		return
	}
	s.board.Note(topicDetached, nil)
	detached := s.detached.find(links, hasAddress)
	pods := s.podsOf(detached)
	s.board.Update(func(b *status) bool {
		changed := b.DetachedPods != len(detached) || !slices.Equal(b.Detached, pods)
		b.DetachedPods, b.Detached = len(detached), pods
		return changed
	})
}

// podsOf returns the pods of links, as namespace/name, that are in the container runtime's cache: sorted, at most maxDetached.
func (s *session) podsOf(links []string) []string {
	if len(links) == 0 {
		return nil
	}
	known, err := cniresults.Pods(cmp.Or(s.Config.CNI.ResultsDir, cniresults.Dir))
	if err != nil {
		s.Log.Debug("some pods without a connection to the network cannot be named", "error", err) // frequent
	}
	var out []string
	for _, l := range links {
		if pod, ok := known[l]; ok {
			out = append(out, pod)
		}
	}
	slices.Sort(out)
	return out[:min(len(out), maxDetached)]
}

// hasAddress reports whether a link has a global address, or an unknown one.
func hasAddress(l netlink.Link) bool {
	addrs, err := netlinkdump.All(func() ([]netlink.Addr, error) { return netlink.AddrList(l, netlink.FAMILY_ALL) })
	return err != nil || slices.ContainsFunc(addrs, func(a netlink.Addr) bool { return a.IP.IsGlobalUnicast() })
}
