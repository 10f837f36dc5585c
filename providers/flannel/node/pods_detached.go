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

// podLink are the names that the bridge plugin gives the node's ends of pods' links.
var podLink = regexp.MustCompile(`^veth[0-9a-f]{8}$`)

// mostDetached is how many pods without a bridge a report names.
const mostDetached = 20

// detachedPods finds pods that have lost their bridge: after the network was removed from the node and installed again, or the bridge
// was deleted, the containers of such a pod run on, and it reaches nothing. The zero value is ready for use.
type detachedPods struct {
	// seen are the links without a bridge of the last pass, by index: the plugin creates a link a moment before it attaches it.
	seen map[int]bool
}

// find returns the links of pods that had no bridge in this pass and in the one before, sorted. routed reports whether a link has an address
// on the node, as those of the ptp plugin have, which uses the same names and needs no bridge.
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

// podsOf returns the pods that links are of, as namespace/name, as far as the container runtime remembers them: sorted, and at most mostDetached.
func (s *session) podsOf(links []string) []string {
	if len(links) == 0 {
		return nil
	}
	known, err := cniresults.Pods(cmp.Or(s.Config.CNI.ResultsDir, cniresults.Dir))
	if err != nil {
		s.Log.Debug("some pods without a connection to the network cannot be named", "error", err) // in every pass
	}
	var out []string
	for _, l := range links {
		if pod, ok := known[l]; ok {
			out = append(out, pod)
		}
	}
	slices.Sort(out)
	return out[:min(len(out), mostDetached)]
}

// hasAddress reports whether a link has an address that is valid beyond it. One whose addresses cannot be read counts as such.
func hasAddress(l netlink.Link) bool {
	addrs, err := netlinkdump.All(func() ([]netlink.Addr, error) { return netlink.AddrList(l, netlink.FAMILY_ALL) })
	return err != nil || slices.ContainsFunc(addrs, func(a netlink.Addr) bool { return a.IP.IsGlobalUnicast() })
}
