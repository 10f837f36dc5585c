package node

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"

	"github.com/cluster-network-operator/cno/internal/agent"
	"github.com/cluster-network-operator/cno/internal/host/addressconflict"
	"github.com/cluster-network-operator/cno/internal/host/kernelwatch"
	"github.com/cluster-network-operator/cno/internal/objectevents"
	"github.com/cluster-network-operator/cno/providers/openshiftsdn/agentconfig"
	"github.com/cluster-network-operator/cno/providers/openshiftsdn/egressip"
	"github.com/cluster-network-operator/cno/providers/openshiftsdn/tunnelprobe"
)

const (
	// egressInterval is how often egress IPs and their rules are compared with the desired state without a change: a third party may have removed a rule, and
	// another host may have released an address.
	egressInterval = 2 * time.Second
	// Number and interval of conflict probes before an address is added, the wait after the last probe, and the delay of the second announcement.
	egressProbes, egressProbeInterval, egressLastWait = 3, 150 * time.Millisecond, 200 * time.Millisecond
	egressReannounce                                  = 2 * time.Second
	// drainTimeout limits the wait for flows that stop using an address before the address is removed.
	drainTimeout = 2 * time.Second
	// reasonRefused: the node of a HostSubnet does not have an assigned egress IP.
	reasonRefused = "EgressIPRefused"
)

// egress is the state of the node's egress IPs.
type egress struct {
	changed agent.Trigger
	beat    agent.Beat
	// reconciled is true after the first reconcile.
	reconciled    atomic.Bool
	marks, packet managedTable
	link          atomic.Int64

	mu      sync.Mutex
	serving map[netip.Addr]uint32
	// refused has the reasons why the node does not have assigned addresses.
	refused map[netip.Addr]string
}

// served returns the egress IPs in use, with their VNIDs.
func (e *egress) served() map[netip.Addr]uint32 {
	e.mu.Lock()
	defer e.mu.Unlock()
	return maps.Clone(e.serving)
}

// refusals returns the reasons why the node does not have assigned addresses.
func (e *egress) refusals() map[netip.Addr]string {
	e.mu.Lock()
	defer e.mu.Unlock()
	return maps.Clone(e.refused)
}

// refuse replaces the refusals.
func (e *egress) refuse(all []egressip.Refusal) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.refused = map[netip.Addr]string{}
	for _, r := range all {
		e.refused[r.Address] = r.Reason
	}
}

// serve replaces the egress IPs in use, and reports whether they changed.
func (e *egress) serve(all map[netip.Addr]uint32) bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	changed := !maps.Equal(e.serving, all)
	e.serving = all
	return changed
}

// keepEgressIPs reconciles the egress IPs of the node until the context ends.
func (d *daemon) keepEgressIPs(ctx context.Context) {
	if d.Config.Mode == agentconfig.Subnet {
		d.egress.reconciled.Store(true)
		return
	}
	agent.Loop{Apply: d.applyEgressIPs, Interval: egressInterval, Debounce: debounce, Changed: d.egress.changed, Now: time.Now, Beat: &d.egress.beat}.Run(ctx)
}

// applyEgressIPs reconciles the egress IPs. An address and its rules are added before flows use it, and removed after.
func (d *daemon) applyEgressIPs(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, 30*time.Second)
	defer cancel()
	if !d.objects.synced() || d.link.Load() == 0 {
		return nil // the state of an earlier process stays; HostSubnets and tun0 fire the trigger
	}
	s := d.snapshot()
	own, err := ownSubnet(s)
	if err != nil {
		return nil // apply reports it
	}
	want, err := claims(s)
	if err != nil {
		return nil
	}
	node, err := readEgressNode(own.address)
	if err != nil {
		d.board.Note(topicEgress, err)
		return err
	}
	d.egress.link.Store(int64(node.index))
	h := egressip.Hold(want, node.kernel, d.Config.MasqueradeBit)
	before, missing := d.egress.served(), h.Take
	err = errors.Join(d.release(ctx, s, own, h.Keep, node), d.acquire(ctx, s, own, &h, node))
	d.noteRestored(before, missing)
	d.egress.reconciled.Store(true)
	d.reprogram.Fire()
	d.reportEgress(s, h, err)
	return err
}

// noteRestored records the egress IPs that were missing although the node used them, and that were added again.
func (d *daemon) noteRestored(before map[netip.Addr]uint32, missing []egressip.Claim) {
	now := d.egress.served()
	for _, c := range missing {
		if before[c.Address] == c.VNID && now[c.Address] == c.VNID && c.VNID != 0 {
			d.repairs.Made("egress IP " + c.Address.String())
		}
	}
}

// release removes the addresses that are not in keep: first their flows, then their rules.
func (d *daemon) release(ctx context.Context, s snapshot, own nodeNetwork, keep []egressip.Claim, node egressNode) error {
	remaining := d.egress.served()
	maps.DeleteFunc(remaining, func(a netip.Addr, id uint32) bool {
		return !slices.ContainsFunc(keep, func(c egressip.Claim) bool { return c.Address == a && c.VNID == id })
	})
	if d.egress.serve(remaining) {
		if applied, err := d.program(); err == nil {
			limited, cancel := context.WithTimeout(ctx, drainTimeout)
			agent.Wait(limited, applied, nil, nil)
			cancel()
		}
	}
	var removed []error
	remove := node.except(keep)
	if len(remove) > 0 {
		removed = append(removed, d.ensureEgressRules(ctx, s, own, keep))
	}
	for _, one := range remove {
		d.Log.Info("removing an egress IP from the node", "address", one.addr.IP, "label", one.addr.Label)
		removed = append(removed, one.remove())
	}
	return errors.Join(removed...)
}

// acquire adds the addresses that no other host has to the interface, and uses all held addresses. An address of another host becomes a refusal.
func (d *daemon) acquire(ctx context.Context, s snapshot, own nodeNetwork, h *egressip.Holding, node egressNode) error {
	var mu sync.Mutex
	var probing sync.WaitGroup
	var errs []error
	held := slices.Clone(h.Keep)
	for _, c := range h.Take {
		probing.Go(func() {
			refused, err := d.acquireOne(c.Address, node)
			mu.Lock()
			defer mu.Unlock()
			switch {
			case err != nil:
				errs = append(errs, err)
				h.Refused = append(h.Refused, egressip.Refusal{Claim: c, Reason: err.Error()})
			case refused != "":
				h.Refused = append(h.Refused, egressip.Refusal{Claim: c, Reason: refused})
			default:
				held = append(held, c)
			}
		})
	}
	probing.Wait()
	h.Keep, h.Take = held, nil
	if err := errors.Join(d.ensureEgressRules(ctx, s, own, held), errors.Join(errs...)); err != nil {
		return err
	}
	serving := map[netip.Addr]uint32{}
	for _, c := range held {
		serving[c.Address] = c.VNID
	}
	d.egress.serve(serving)
	return nil
}

// acquireOne adds an address to the interface and announces it. refused is the reason if another host has it.
func (d *daemon) acquireOne(a netip.Addr, node egressNode) (refused string, err error) {
	if !node.probes() {
		return "", node.add(a)
	}
	listener, err := addressconflict.Listen(node.link, a)
	if err != nil {
		return "", err
	}
	defer listener.Close()
	holder, found, err := listener.Probe(netip.Addr{}, egressProbes, egressProbeInterval, egressLastWait)
	if err != nil {
		return "", fmt.Errorf("ask whether another machine has egress IP %s: %w", a, err)
	}
	if found {
		return fmt.Sprintf("egress IP %s is that of another machine, with MAC address %s: choose an address that no machine has, or remove it there", a, holder), nil
	}
	if err := node.add(a); err != nil {
		return "", err
	}
	d.Log.Info("added an egress IP to the node", "address", a, "interface", node.kernel.Interface.Name)
	time.AfterFunc(egressReannounce, func() { d.announceAgain(a, node) })
	return "", listener.Announce()
}

// announceAgain announces an address a second time if the node still has it: a switch may have missed the first announcement.
func (d *daemon) announceAgain(a netip.Addr, node egressNode) {
	now, err := readEgressNode(netip.Addr{})
	found := slices.ContainsFunc(now.labelled, func(l labelled) bool { return addressOf(l.addr) == a && l.addr.LinkIndex == node.index })
	if err == nil && !found || d.lifetime.Err() != nil {
		return
	}
	listener, err := addressconflict.Listen(node.link, a)
	if err == nil {
		err = listener.Announce()
		listener.Close()
	}
	if err != nil {
		d.Log.Warn("cannot announce an egress IP again", "address", a, "error", err)
	}
}

// ensureEgressRules reconciles the kernel's rules for egress IPs.
func (d *daemon) ensureEgressRules(ctx context.Context, s snapshot, own nodeNetwork, held []egressip.Claim) error {
	held = slices.SortedFunc(slices.Values(held), func(a, b egressip.Claim) int { return a.Address.Compare(b.Address) })
	var errs []error
	r := egressRules{d.Config, own.subnet, held, nodeAddresses(s)}
	// The table that uses marks is written before the one that sets them.
	for _, one := range []struct {
		kept  *managedTable
		table nftTable
	}{{&d.egress.packet, r.packets()}, {&d.egress.marks, r.marks()}} {
		restored, err := one.kept.ensure(ctx, one.table)
		if restored {
			d.repairs.Made(one.table.title())
		}
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}

// reportEgress reports the result for each address on the board and in metrics, and as an event for each refused address.
func (d *daemon) reportEgress(s snapshot, h egressip.Holding, failure error) {
	errs := []error{failure}
	d.egress.refuse(h.Refused)
	var problems []objectevents.Problem
	slices.SortFunc(h.Refused, func(a, b egressip.Refusal) int { return a.Address.Compare(b.Address) })
	for _, r := range h.Refused {
		errs = append(errs, fmt.Errorf("namespace %s does not leave by this node: %s", r.Namespace, r.Reason))
		for _, o := range s.HostSubnets {
			if o.Name == d.Node {
				problems = append(problems, objectevents.Problem{Object: o, Reason: reasonRefused, Message: r.Reason})
			}
		}
	}
	d.board.Note(topicEgress, errors.Join(errs...))
	d.reporter.Report(topicEgress, problems)
	d.metrics.egressIPs(h)
}

// probesDecided reports whether the states of all probed nodes are known. The first flows wait for it, to avoid moving connections unnecessarily.
func (d *daemon) probesDecided(probes map[string]netip.Addr) bool {
	d.monitor.Watch(d.lifetime, probes)
	for name := range probes {
		if d.monitor.State(name) == tunnelprobe.Unknown {
			return false
		}
	}
	return true
}

// watchEgressLink triggers a reconcile when a third party removes an egress IP or the interface loses its carrier.
func (d *daemon) watchEgressLink(ctx context.Context) {
	for ctx.Err() == nil {
		watching, stop := context.WithTimeout(ctx, resyncInterval)
		err := kernelwatch.Watch(watching, kernelwatch.Filter{Links: []int{int(d.egress.link.Load()), int(d.link.Load())}}, d.egress.changed.Fire)
		stop()
		if err != nil {
			agent.Pause(ctx, time.Second, nil)
		}
	}
}

// connected reports whether an interface has a carrier.
func connected(flags uint32) bool { return flags&unix.IFF_UP != 0 && flags&unix.IFF_LOWER_UP != 0 }
