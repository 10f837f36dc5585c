package flows

import (
	"cmp"
	"crypto/sha256"
	"fmt"
	"maps"
	"math"
	"net/netip"
	"slices"

	"github.com/cluster-network-operator/cno/internal/bandwidth"
	"github.com/cluster-network-operator/cno/internal/openflow"
)

// version is part of the note in table 253. It changes when the meaning of tables changes.
const version = 2

// builder collects flows.
type builder struct {
	Input
	flows    []openflow.Flow
	rates    []openflow.Rate
	problems []string
	// excessive are the owners of too many flows, with the reason.
	excessive map[string]string
}

type (
	matches = []openflow.Match
	acts    = []openflow.Action
)

// add adds a flow with the rule's text as its note.
func (b *builder) add(r *Rule, match matches, actions ...openflow.Action) {
	b.note(r, r.Text, match, actions...)
}

// note adds a flow with its own note.
func (b *builder) note(r *Rule, note string, match matches, actions ...openflow.Action) {
	b.owned("", r, note, match, actions...)
}

// owned adds a flow with an owner, which a node can do without if Open vSwitch refuses it.
func (b *builder) owned(owner string, r *Rule, note string, match matches, actions ...openflow.Action) {
	b.flows = append(b.flows, openflow.Flow{Table: r.Table, Priority: r.Priority, Match: match, Actions: actions, Note: note, Owner: owner})
}

// Desired returns the flows of a node. It returns an error only if flows contradict one another, which no input should cause.
func Desired(in Input) (Result, error) {
	b := &builder{Input: in, excessive: map[string]string{}}
	b.sort()
	b.dispatch()
	b.tunnel()
	b.pods()
	b.commit()
	b.route()
	b.arp()
	b.services()
	b.local()
	b.ingress()
	b.egress()
	b.remote()
	b.leaving()
	b.egressIPs()
	b.multicast()
	b.add(settingsNote, nil, openflow.Annotate(b.hash()))
	if len(b.excessive) > 0 {
		maps.Copy(b.excessive, in.Closed)
		in.Closed = b.excessive
		return Desired(in)
	}
	set, err := openflow.NewSet(b.flows...)
	if err != nil {
		return Result{}, fmt.Errorf("compute the flows of br0: %w", err)
	}
	return Result{Flows: set.WithRates(b.rates...), Problems: b.problems, Closed: in.Closed}, nil
}

// hash returns the hash in the note of table 253. Bridges with the same hash have the same meaning of ports and tunnels.
func (b *builder) hash() []byte {
	sum := sha256.Sum256(fmt.Appendf(nil, "%d %s %s %d %d %d", version, b.Mode, b.Subnet, b.VXLANPort, TunnelPort, NodePort))
	return sum[:14]
}

// sort makes the flows independent of the order of the input, and removes conflicting input: of two with the same claim, the first by name wins.
func (b *builder) sort() {
	if b.Mode == Subnet {
		b.EgressIPs = nil
	}
	b.EgressIPs = slices.SortedFunc(slices.Values(b.EgressIPs), func(x, y EgressIP) int { return cmp.Or(cmp.Compare(x.VNID, y.VNID), cmp.Compare(x.Name, y.Name)) })
	b.ClusterNetworks = slices.SortedFunc(slices.Values(b.ClusterNetworks), comparePrefix)
	peers := slices.SortedFunc(slices.Values(b.Peers), func(x, y Peer) int { return cmp.Compare(x.Name, y.Name) })
	b.Peers = nil
	for _, p := range peers {
		if other := b.overlapping(p.Subnet); other != "" {
			b.problems = append(b.problems, fmt.Sprintf("HostSubnet %s: its subnet %s overlaps that of %s, which keeps it", p.Name, p.Subnet, other))
			continue
		}
		b.Peers = append(b.Peers, p)
	}
	pods := slices.SortedFunc(slices.Values(b.Pods), func(x, y Pod) int { return cmp.Or(x.Compare(y.ID), x.Address.Compare(y.Address)) })
	owners := map[netip.Addr]Pod{}
	b.Pods = nil
	for _, p := range pods {
		if b.Closed[PodOwner(p.ID)] != "" {
			continue
		}
		if other, taken := owners[p.Address]; taken {
			b.problems = append(b.problems, fmt.Sprintf("pod %s: its address %s is that of pod %s, which keeps it", p.ID, p.Address, other.ID))
			continue
		}
		owners[p.Address] = p
		b.Pods = append(b.Pods, p)
	}
}

// overlapping returns the name of the node whose block overlaps a block; empty if there is none.
func (b *builder) overlapping(subnet netip.Prefix) string {
	if subnet.Overlaps(b.Subnet) {
		return "this node"
	}
	for _, p := range b.Peers {
		if p.Subnet.Overlaps(subnet) {
			return p.Name
		}
	}
	return ""
}

func comparePrefix(a, b netip.Prefix) int {
	return cmp.Or(a.Addr().Compare(b.Addr()), cmp.Compare(a.Bits(), b.Bits()))
}

// limit returns the action that limits a pod's packets in one direction; nil without a limit.
func (b *builder) limit(p Pod, kilobits uint64, direction uint32) acts {
	// Higher rates exceed any link.
	if kilobits == 0 || kilobits > math.MaxUint32 {
		return nil
	}
	r := openflow.Rate{ID: 2*p.Port + direction, Kilobits: uint32(kilobits), Burst: uint32(bandwidth.Burst(kilobits))}
	b.rates = append(b.rates, r)
	return acts{openflow.Meter(r.ID)}
}

// owner returns the owner of a flow with a bandwidth limit: Open vSwitch may refuse the meter.
func (p Pod) owner(limit uint64) string {
	if limit == 0 {
		return ""
	}
	return PodOwner(p.ID)
}

const (
	// Each pod has two meters.
	toPod, fromPod uint32 = 0, 1
)

// only returns the prefix that has one address.
func only(a netip.Addr) netip.Prefix { return netip.PrefixFrom(a, a.BitLen()) }

// own returns the addresses of tun0.
func (b *builder) own() []netip.Prefix {
	return []netip.Prefix{only(RouterAddress(b.Subnet)), only(MasqueradeAddress(b.Subnet))}
}

var multicastNetwork = netip.MustParsePrefix("224.0.0.0/4")

// sourceVNID sets the VNID of the source.
func sourceVNID(vnid uint32) openflow.Action { return openflow.SetRegister(regSource, vnid) }

// isSource matches packets by the VNID of the source.
func isSource(vnid uint32) openflow.Match { return openflow.Register(regSource, vnid, 0xffffffff) }

// isDestination matches packets by the VNID of the destination.
func isDestination(vnid uint32) openflow.Match {
	return openflow.Register(regDestination, vnid, 0xffffffff)
}

// commit adds the flows that commit connections to connection tracking.
func (b *builder) commit() {
	pod := func(more ...openflow.Match) matches {
		return append(matches{openflow.InPort(NodePort), openflow.Is(openflow.IP), openflow.Source(b.Subnet)}, more...)
	}
	route := openflow.Goto(tableRoute)
	for _, c := range b.ClusterNetworks {
		b.add(keepMark, pod(openflow.Destination(c), openflow.ConnectionMark(serviceMark, 0xffffffff), openflow.ConnectionState("-rpl")), route)
		// After ovs-vswitchd has lost connections, connection tracking may mistake the server for the client.
		b.add(commitMark, pod(openflow.Destination(c)), openflow.Track{Commit: true, Force: true, Mark: serviceMark, Table: tableRoute}.Action())
	}
	ip := openflow.Is(openflow.IP)
	b.add(keepService, matches{ip, openflow.Source(b.ServiceNetwork)}, route)
	b.add(keepService, matches{ip, openflow.Destination(b.ServiceNetwork)}, route)
	b.add(keepService, matches{ip, openflow.Destination(multicastNetwork)}, route)
	b.add(commitNew, matches{ip, openflow.ConnectionState("+trk+new")}, openflow.Track{Commit: true, Table: tableRoute}.Action())
	b.add(commitNone, nil, route)
}

// serviceMark is the mark of connections whose destination the kernel has translated.
const serviceMark = 1
