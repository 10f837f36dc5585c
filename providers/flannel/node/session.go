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
	// passEvery is how often the kernel and the files are looked at although nothing was reported.
	passEvery = 10 * time.Second
	// settle is how long to wait for more reports of the kernel before looking at it.
	settle = 20 * time.Millisecond
)

// The reasons to set up the backend again.
var (
	errMoved     = errors.New("the node has another subnet")
	errInterface = errors.New("the interface or its addresses have changed")
	errDevice    = errors.New("the backend's device is missing")
)

// session is one set-up of the backend: it lasts as long as subnet, interface and device stay the same.
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

// keepKernel runs one session after the other until the context ends.
func (a *flanneld) keepKernel(ctx context.Context) error {
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
	t, _ := a.tenure.Get()
	mac := vtepMAC(t.wanted)
	if mac == "" {
		mac = a.kept.VtepMAC
	}
	on, mtu, err := register(ctx, a.Config, &manager{config: a.flannel, vtepMAC: mac, acquire: a.acquire}, ext)
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	if a.board.Note(topicBackend, err); err != nil {
		agent.Pause(ctx, retryPause, nil)
		return nil, err
	}
	t, _ = a.tenure.Get()
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

// acquire is how the backend gets the node's lease. If etcd does not answer, the node goes on with the subnet that
// it remembers; holdSubnet asks for that very one when etcd is back.
func (a *flanneld) acquire(ctx context.Context, attrs *lease.LeaseAttrs) (*lease.Lease, error) {
	a.tenure.Update(func(t *tenure) bool {
		t.wanted, t.id = attrs, 0
		return true
	})
	give := time.After(restoreAfter)
	for {
		t, changed := a.tenure.Get()
		if t.confirmed() {
			return flannelLease(t.ipv4, t.ipv6, *attrs), nil
		}
		if timeout := agent.Wait(ctx, changed, nil, give); timeout && t.ipv4.IsValid() {
			a.Log.Warn("etcd does not answer, going on with what is known", "subnet", t.ipv4)
			return flannelLease(t.ipv4, t.ipv6, *attrs), nil
		}
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
	}
}

// run keeps everything on the node as it should be until the context ends or the backend must be set up again.
func (s *session) run(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	trigger := make(chan struct{}, 1)
	go s.listen(ctx, trigger)
	tick := time.NewTicker(passEvery)
	defer tick.Stop()
	s.keepFirewall(ctx)
	s.keepFiles()
	for {
		t, tenureChanged := s.tenure.Get()
		p, peersChanged := s.peers.Get()
		if t.ipv4 != s.ipv4 || t.ipv6 != s.ipv6 {
			return errMoved
		}
		s.keepRoutes(t, p)
		s.keepReady(t, p)
		select {
		case <-ctx.Done():
			return nil
		case <-tenureChanged:
		case <-peersChanged:
		case <-trigger:
			agent.Pause(ctx, settle, peersChanged)
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

// listen fires the trigger whenever the kernel reports something that matters. Should it fail, the regular passes
// still find what has changed.
func (s *session) listen(ctx context.Context, trigger chan<- struct{}) {
	fire := func() {
		select {
		case trigger <- struct{}{}:
		default: // it is fired already
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

// check reports whether the backend must be set up again. An interface that cannot be read is waited for.
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

// keepRoutes makes the kernel's routes as desired and puts on the board what does not work.
func (s *session) keepRoutes(t tenure, p peers) {
	start := s.Now()
	leases := p.list(t.key)
	want := desire(s.admission(t, p), s.on, leases)
	s.keepAccepted(want, p.known)
	out := applyRoutes(s.Config.Network, s.on, want, p.current)
	now := s.Now()
	s.beat.Mark(now)
	s.metrics.passes.Observe(now.Sub(start).Seconds())
	s.metrics.routesSet.Add(float64(out.Set))
	s.metrics.routesGone.Add(float64(out.Removed))
	if out.Set+out.Removed > 0 {
		s.Log.Info("routes are as wanted", "set", out.Set, "removed", out.Removed, "peers", len(want.Accepted))
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

// keepFirewall keeps the rules and the kernel's settings.
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
		s.Log.Warn("firewall rules were missing and have been restored")
	}
}

// keepFiles keeps the file of variables, and looks for configurations that come before the agent's.
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

// keepPods has the pods that run follow a change of the MTU, and reports the step once all do.
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

// keepReady writes the CNI configuration, with which pods can be started, after everything else has been done once.
func (s *session) keepReady(t tenure, p peers) {
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
