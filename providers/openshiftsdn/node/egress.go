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
	// egressEvery is how often egress IPs and their rules are compared with what is desired although nothing was reported: a third party may have removed a
	// rule, and another machine may have given up an address.
	egressEvery = 2 * time.Second
	// How another machine is asked for an address before it is taken, and how long after it was taken it is announced again.
	egressQuestions, egressQuestionEvery, egressLastWait = 3, 150 * time.Millisecond, 200 * time.Millisecond
	egressAnnounceAgain                                  = 2 * time.Second
	// drainLimit is how long packets may take to the flows that do not send them to an address any more, before it is removed.
	drainLimit = 2 * time.Second
	// reasonRefused is the reason of events on a HostSubnet whose node does not have an egress IP.
	reasonRefused = "EgressIPRefused"
)

// egress is what the agent knows of the egress IPs of its node.
type egress struct {
	changed agent.Trigger
	beat    agent.Beat
	// passed is true once the node was compared with what is desired.
	passed        atomic.Bool
	marks, packet keptTable
	link          atomic.Int64

	mu      sync.Mutex
	serving map[netip.Addr]uint32
	// refused is why the node does not have addresses that it is to have.
	refused map[netip.Addr]string
}

// served are the egress IPs with which the node sends.
func (e *egress) served() map[netip.Addr]uint32 {
	e.mu.Lock()
	defer e.mu.Unlock()
	return maps.Clone(e.serving)
}

// refusals are why the node does not have addresses that it is to have.
func (e *egress) refusals() map[netip.Addr]string {
	e.mu.Lock()
	defer e.mu.Unlock()
	return maps.Clone(e.refused)
}

// refuse notes them.
func (e *egress) refuse(all []egressip.Refusal) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.refused = map[netip.Addr]string{}
	for _, r := range all {
		e.refused[r.Address] = r.Reason
	}
}

// serve sets them, and reports whether that is a change.
func (e *egress) serve(all map[netip.Addr]uint32) bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	changed := !maps.Equal(e.serving, all)
	e.serving = all
	return changed
}

// keepEgressIPs has the node have its egress IPs until the context ends.
func (d *daemon) keepEgressIPs(ctx context.Context) {
	if d.Config.Mode == agentconfig.Subnet {
		d.egress.passed.Store(true)
		return
	}
	agent.Keeper{Apply: d.applyEgressIPs, Every: egressEvery, Settle: settle, Changed: d.egress.changed, Now: time.Now, Beat: &d.egress.beat}.Run(ctx)
}

// applyEgressIPs makes the node have its egress IPs: an address is on the interface and has its rules before packets are sent to it, and leaves after.
func (d *daemon) applyEgressIPs(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, 30*time.Second)
	defer cancel()
	if !d.objects.synced() || d.link.Load() == 0 {
		return nil // what an earlier process left stays; HostSubnets and tun0 fire the trigger
	}
	s := d.snapshot()
	own, err := ownSubnet(s)
	if err != nil {
		return nil // the main loop reports it
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
	err = errors.Join(d.release(ctx, s, own, h.Keep, node), d.take(ctx, s, own, &h, node))
	d.egress.passed.Store(true)
	d.reflow.Fire()
	d.reportEgress(s, h, err)
	return err
}

// release removes the addresses that the node is not to have any more. Flows go first, rules next.
func (d *daemon) release(ctx context.Context, s snapshot, own nodePlace, keep []egressip.Claim, node egressNode) error {
	still := d.egress.served()
	maps.DeleteFunc(still, func(a netip.Addr, id uint32) bool {
		return !slices.ContainsFunc(keep, func(c egressip.Claim) bool { return c.Address == a && c.VNID == id })
	})
	if d.egress.serve(still) {
		if applied, err := d.program(); err == nil {
			limited, cancel := context.WithTimeout(ctx, drainLimit)
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
		d.Log.Info("an egress IP is removed from the node", "address", one.addr.IP, "label", one.addr.Label)
		removed = append(removed, one.remove())
	}
	return errors.Join(removed...)
}

// take gives the interface the addresses that no other machine has, and has packets of all that it holds leave with them. What another machine has becomes a
// refusal.
func (d *daemon) take(ctx context.Context, s snapshot, own nodePlace, h *egressip.Holding, node egressNode) error {
	var mu sync.Mutex
	var asking sync.WaitGroup
	var errs []error
	held := slices.Clone(h.Keep)
	for _, c := range h.Take {
		asking.Go(func() {
			refused, err := d.takeOne(c.Address, node)
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
	asking.Wait()
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

// takeOne gives the interface an address, and announces it. refused is why it does not.
func (d *daemon) takeOne(a netip.Addr, node egressNode) (refused string, err error) {
	if !node.asks() {
		return "", node.add(a)
	}
	listener, err := addressconflict.Listen(node.link, a)
	if err != nil {
		return "", err
	}
	defer listener.Close()
	holder, found, err := listener.Ask(netip.Addr{}, egressQuestions, egressQuestionEvery, egressLastWait)
	if err != nil {
		return "", fmt.Errorf("ask whether another machine has egress IP %s: %w", a, err)
	}
	if found {
		return fmt.Sprintf("egress IP %s is that of another machine, with MAC address %s: choose an address that no machine has, or remove it there", a, holder), nil
	}
	if err := node.add(a); err != nil {
		return "", err
	}
	d.Log.Info("an egress IP is added to the node", "address", a, "interface", node.kernel.Interface.Name)
	time.AfterFunc(egressAnnounceAgain, func() { d.announceAgain(a, node) })
	return "", listener.Announce()
}

// announceAgain announces an address that the node still has: a switch may have missed the first time.
func (d *daemon) announceAgain(a netip.Addr, node egressNode) {
	now, err := readEgressNode(netip.Addr{})
	has := slices.ContainsFunc(now.labelled, func(l labelled) bool { return addressOf(l.addr) == a && l.addr.LinkIndex == node.index })
	if err == nil && !has || d.lifetime.Err() != nil {
		return
	}
	listener, err := addressconflict.Listen(node.link, a)
	if err == nil {
		err = listener.Announce()
		listener.Close()
	}
	if err != nil {
		d.Log.Warn("an egress IP is not announced again", "address", a, "error", err)
	}
}

// ensureEgressRules makes the kernel have the rules for some egress IPs.
func (d *daemon) ensureEgressRules(ctx context.Context, s snapshot, own nodePlace, held []egressip.Claim) error {
	held = slices.SortedFunc(slices.Values(held), func(a, b egressip.Claim) int { return a.Address.Compare(b.Address) })
	var errs []error
	r := egressRules{d.Config, own.subnet, held, nodeAddresses(s)}
	// What uses marks is there before packets have some.
	for _, one := range []struct {
		kept  *keptTable
		table nftTable
	}{{&d.egress.packet, r.packets()}, {&d.egress.marks, r.marks()}} {
		restored, err := one.kept.ensure(ctx, one.table)
		if restored {
			d.Log.Warn("the rules of a table were changed by a third party and are restored", "family", one.table.family, "table", one.table.name)
			d.metrics.repairs.Inc()
		}
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}

// reportEgress reports what became of each address: on the board, in metrics, and by an event for each that the node does not have.
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

// probesDecided reports whether it is known which nodes answer on which the first flows depend. Before, connections would be moved for nothing.
func (d *daemon) probesDecided(probes map[string]netip.Addr) bool {
	d.monitor.Watch(d.lifetime, probes)
	for name := range probes {
		if d.monitor.State(name) == tunnelprobe.Unknown {
			return false
		}
	}
	return true
}

// watchEgressLink has egress IPs restored as soon as a third party removes one, and removed when the node is unplugged.
func (d *daemon) watchEgressLink(ctx context.Context) {
	for ctx.Err() == nil {
		watching, stop := context.WithTimeout(ctx, lookEvery)
		err := kernelwatch.Watch(watching, kernelwatch.Filter{Links: []int{int(d.egress.link.Load()), int(d.link.Load())}}, d.egress.changed.Fire)
		stop()
		if err != nil {
			agent.Pause(ctx, time.Second, nil)
		}
	}
}

// connected reports whether an interface has a carrier.
func connected(flags uint32) bool { return flags&unix.IFF_UP != 0 && flags&unix.IFF_LOWER_UP != 0 }
