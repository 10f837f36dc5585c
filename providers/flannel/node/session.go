package node

import (
	"context"
	"errors"
	"net/netip"
	"slices"
	"time"

	"github.com/flannel-io/flannel/pkg/backend"
	"github.com/flannel-io/flannel/pkg/lease"
	"github.com/vishvananda/netlink"

	"github.com/cluster-network-operator/cno/internal/agent"
	"github.com/cluster-network-operator/cno/internal/host/kernelwatch"
	"github.com/cluster-network-operator/cno/providers/flannel/agentconfig"
	"github.com/cluster-network-operator/cno/providers/flannel/node/store"
)

const (
	// resyncInterval is how often the kernel and the files are compared without a change.
	resyncInterval = 10 * time.Second
	// debounce is how long the agent waits for further kernel events before a reconcile.
	debounce = 20 * time.Millisecond
)

// Reasons to set up the backend again.
var (
	errMoved     = errors.New("the node has another subnet")
	errInterface = errors.New("the interface or its addresses have changed")
	errDevice    = errors.New("the backend's device is missing")
)

// session is one setup of the backend. It lasts while subnet, interface and device stay the same.
type session struct {
	*flanneld
	ext        *backend.ExternalInterface
	on         links
	device     int
	ipv4, ipv6 netip.Prefix
	mtu        int
	traffic    *traffic
	detached   detachedPods
}

// runSessions runs sessions until the context ends.
func (a *flanneld) runSessions(ctx context.Context) error {
	var ext *backend.ExternalInterface
	for ctx.Err() == nil {
		s, err := a.start(ctx, ext)
		if s != nil {
			ext = s.ext
			err = s.run(ctx)
		}
		if ctx.Err() == nil {
			a.Log.Info("setting up the backend again", "reason", err)
			agent.Pause(ctx, retryPause/4, nil)
		}
	}
	return nil
}

// start sets up the backend. It waits for the node's subnet.
func (a *flanneld) start(ctx context.Context, previous *backend.ExternalInterface) (*session, error) {
	ext, err := externalInterface(a.Config, previous)
	if a.board.Note(topicInterface, err); err != nil {
		agent.Pause(ctx, retryPause, nil)
		return nil, err
	}
	t, _ := a.holding.Get()
	mac := vtepMAC(t.desired)
	if mac == "" {
		mac = a.saved.VtepMAC
	}
	on, mtu, err := register(ctx, a.Config, &manager{config: a.flannel, vtepMAC: mac, acquire: a.acquire}, ext)
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	if a.board.Note(topicBackend, err); err != nil {
		agent.Pause(ctx, retryPause, nil)
		return nil, err
	}
	t, _ = a.holding.Get()
	s := &session{flanneld: a, ext: ext, on: on, ipv4: t.ipv4, ipv6: t.ipv6, mtu: mtu}
	if link, err := netlink.LinkByName(on.IPv4); err == nil {
		s.device = link.Attrs().Index
	}
	a.board.Update(func(b *status) bool {
		b.Subnet, b.IPv6Subnet = t.ipv4, t.ipv6
		b.PublicIP, b.PublicIPv6 = address(ext.ExtAddr), address(ext.ExtV6Addr)
		b.Interface, b.MTU = ext.IfaceName, mtu
		return true
	})
	a.Log.Info("backend is set up", "backend", a.Config.Backend.Type, "interface", ext.IfaceName, "address", ext.ExtAddr.String(), "subnet", t.ipv4, "mtu", mtu)
	return s, nil
}

func address(ip []byte) netip.Addr {
	addr, _ := netip.AddrFromSlice(ip)
	return addr.Unmap()
}

// acquire returns the node's lease to the backend. If etcd does not respond, the node continues with the saved subnet; holdSubnet then requests that subnet
// when etcd responds.
func (a *flanneld) acquire(ctx context.Context, attrs *lease.LeaseAttrs) (*lease.Lease, error) {
	a.holding.Update(func(t *holding) bool {
		t.desired, t.id = attrs, 0
		return true
	})
	timeout := time.After(restoreAfter)
	for {
		t, changed := a.holding.Get()
		if t.confirmed() {
			return flannelLease(t.ipv4, t.ipv6, *attrs), nil
		}
		if timeout := agent.Wait(ctx, changed, nil, timeout); timeout && t.ipv4.IsValid() {
			a.Log.Warn("etcd does not respond, continuing with the saved subnet", "subnet", t.ipv4)
			return flannelLease(t.ipv4, t.ipv6, *attrs), nil
		}
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
	}
}

// run reconciles the node until the context ends or the backend must be set up again.
func (s *session) run(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	trigger := make(chan struct{}, 1)
	go s.listen(ctx, trigger)
	tick := time.NewTicker(resyncInterval)
	defer tick.Stop()
	s.keepFirewall(ctx)
	s.keepFiles()
	for {
		t, holdingChanged := s.holding.Get()
		p, peersChanged := s.peers.Get()
		if t.ipv4 != s.ipv4 || t.ipv6 != s.ipv6 {
			return errMoved
		}
		s.keepRoutes(t, p)
		s.keepReady(t, p)
		select {
		case <-ctx.Done():
			return nil
		case <-holdingChanged:
		case <-peersChanged:
		case <-trigger:
			agent.Pause(ctx, debounce, peersChanged)
			if err := s.check(); err != nil {
				return err
			}
		case <-tick.C:
			if err := s.check(); err != nil {
				return err
			}
			s.keepFirewall(ctx)
			s.keepFiles()
			s.reportDetached()
		}
	}
}

// listen fires the trigger after relevant kernel events. If it fails, the periodic reconcile still finds changes.
func (s *session) listen(ctx context.Context, trigger chan<- struct{}) {
	fire := func() {
		select {
		case trigger <- struct{}{}:
		default: // a trigger is pending
		}
	}
	matters := kernelwatch.Filter{
		Links: []int{s.ext.Iface.Index, s.device},
		Route: func(to netip.Prefix) bool { return inNetwork(s.Config.Network, to) },
	}
	for ctx.Err() == nil {
		s.board.Note(topicKernel, kernelwatch.Watch(ctx, matters, fire))
		agent.Pause(ctx, retryPause, nil)
	}
}

// check returns an error if the backend must be set up again. It waits for an unreadable interface.
func (s *session) check() error {
	ext, err := externalInterface(s.Config, s.ext)
	s.board.Note(topicInterface, err)
	if err == nil && !sameInterface(s.ext, ext) {
		return errInterface
	}
	if s.Config.Backend.Type != agentconfig.BackendVXLAN {
		return nil
	}
	if link, err := netlink.LinkByName(s.on.IPv4); err != nil || link.Attrs().Index != s.device {
		return errDevice
	}
	if s.on.IPv6 != "" {
		if _, err := netlink.LinkByName(s.on.IPv6); err != nil {
			return errDevice
		}
	}
	return nil
}

// keepRoutes reconciles the kernel's routes, and reports problems on the board.
func (s *session) keepRoutes(t holding, p peers) {
	start := s.Now()
	leases := p.list(t.key)
	want := desire(s.admission(t, p), s.on, leases)
	s.keepAccepted(want, p.known)
	out := applyRoutes(s.Config.Network, s.on, want, p.current)
	now := s.Now()
	s.beat.Mark(now)
	s.metrics.reconciles.Observe(now.Sub(start).Seconds())
	s.metrics.routesSet.Add(float64(out.Set))
	s.metrics.routesRemoved.Add(float64(out.Removed))
	if out.Set+out.Removed > 0 {
		s.Log.Info("routes updated", "set", out.Set, "removed", out.Removed, "peers", len(want.Accepted))
	}
	s.board.Note(topicRoutes, errors.Join(out.Errors...))
	offLink := peersOf(p, owners(want, out.Unreachable))
	foreign := peersOf(p, want.Foreign)
	s.board.Update(func(b *status) bool {
		changed := b.Peers != len(want.Accepted) || b.rejected != len(want.Rejected) || b.missing != len(out.Errors) || b.restored != !t.confirmed() ||
			!slices.Equal(b.OffLink, offLink) || !slices.Equal(b.ForeignBackend, foreign)
		b.Peers, b.missing, b.restored = len(want.Accepted), len(out.Errors), !t.confirmed()
		b.rejected = len(want.Rejected)
		b.OffLink, b.ForeignBackend = offLink, foreign
		return changed
	})
}

func owners(want desired, routes []route) []store.Lease {
	var out []store.Lease
	for _, r := range routes {
		if l := want.Owners[r.To]; !slices.ContainsFunc(out, func(o store.Lease) bool { return o.Key == l.Key }) {
			out = append(out, l)
		}
	}
	return out
}

func peersOf(p peers, leases []store.Lease) []agentconfig.Peer {
	var out []agentconfig.Peer
	for _, l := range leases {
		out = append(out, p.peer(l))
	}
	slices.SortFunc(out, func(a, b agentconfig.Peer) int { return a.Subnet.Addr().Compare(b.Subnet.Addr()) })
	return out
}

// keepFirewall reconciles the firewall rules and the kernel parameters.
func (s *session) keepFirewall(ctx context.Context) {
	s.board.Note(topicForwarding, enableForwarding(s.Config))
	s.board.Note(topicBridge, enableBridgeFilter(s.Config))
	if s.traffic == nil {
		t, err := newTraffic(ctx, s.Config, s.ipv4, s.ipv6)
		if s.board.Note(topicFirewall, err); err == nil {
			s.traffic = t
			s.board.Update(func(b *status) bool {
				changed := b.Network != s.Config.Network.IPv4
				b.Network = s.Config.Network.IPv4
				return changed
			})
		}
		return
	}
	repaired, err := s.traffic.repair(ctx)
	s.board.Note(topicFirewall, err)
	if repaired {
		s.metrics.firewall.Inc()
		s.Log.Warn("restored missing firewall rules")
	}
}

// keepFiles writes the file of variables, and checks for configurations that take precedence over the agent's.
func (s *session) keepFiles() {
	s.board.Note(topicFiles, writeSubnetEnv(s.Config, s.ipv4, s.ipv6, s.mtu))
	conflicting, err := cniFile(s.Config).Conflicting()
	if err != nil {
		s.board.Note(topicCNI, err)
		return
	}
	s.board.Update(func(b *status) bool {
		changed := !slices.Equal(b.ConflictingCNI, conflicting)
		b.ConflictingCNI = conflicting
		return changed
	})
	if s.board.View().Status.Ready {
		s.board.Note(topicCNI, writeConflist(s.Config, s.ipv4, s.ipv6, s.Config.Migration.PodMTU(s.mtu)))
		s.keepPods()
	}
}

// keepPods sets the MTU of running pods during an MTU migration, and reports the completed step.
func (s *session) keepPods() {
	m := s.Config.Migration
	if m == nil {
		return
	}
	err := applyPodMTU(s.Config.CNI.Bridge, m.PodNamespaces, s.mtu, m.RoutableMTU)
	s.board.Note(topicPods, err)
	done := 0
	if err == nil && !s.board.View().Problems.Has(topicCNI) {
		done = m.Step
	}
	s.board.Update(func(b *status) bool {
		changed := b.Step != done
		b.Step = done
		return changed
	})
}

// keepReady writes the CNI configuration, which allows pods to start, after everything else has succeeded once.
func (s *session) keepReady(t holding, p peers) {
	v := s.board.View()
	if v.Status.Ready || !p.known || !t.ipv4.IsValid() || s.traffic == nil {
		return
	}
	if v.Problems.Has(topicFiles, topicForwarding, topicFirewall) {
		return
	}
	err := writeConflist(s.Config, s.ipv4, s.ipv6, s.Config.Migration.PodMTU(s.mtu))
	if s.board.Note(topicCNI, err); err != nil {
		return
	}
	s.Log.Info("pods can be started")
	s.board.Update(func(b *status) bool {
		b.Ready = true
		return true
	})
	s.keepPods()
}
