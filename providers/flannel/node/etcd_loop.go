package node

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	"golang.org/x/sync/errgroup"
	"google.golang.org/grpc/connectivity"

	"github.com/cluster-network-operator/cno/internal/agent"
	"github.com/cluster-network-operator/cno/providers/flannel/agentconfig"
	"github.com/cluster-network-operator/cno/providers/flannel/node/store"
)

const (
	// etcdTimeout is the timeout of a request.
	etcdTimeout = 5 * time.Second
	// retryPause is the delay after a failed request to etcd.
	retryPause = time.Second
	// lossGrace is how long peers are retained that disappeared from etcd together with the node's own lease. Their agents notice the loss at once and acquire
	// their leases again, so that a minute is ample.
	lossGrace = time.Minute
)

// runEtcd maintains the node's subnet and watches the other nodes', with a new client after each loss of the connection.
func (a *flanneld) runEtcd(ctx context.Context) error {
	attempts := &connections{now: a.Now, report: a.unansweredEtcd}
	for ctx.Err() == nil {
		pair, renewed := a.identity.Get()
		client, err := dial(a.Config.Etcd, pair, attempts.dial)
		if err != nil {
			a.board.Note(topicEtcd, err)
			agent.Pause(ctx, retryPause, nil)
			continue
		}
		a.reportIdentity(pair)
		st := store.New(client, a.Config, a.LeaseTTL)
		group, groupCtx := errgroup.WithContext(ctx)
		group.Go(func() error { return watchAuthorities(groupCtx, a.Config.Etcd.CAFile) })
		group.Go(func() error { return watchRenewal(groupCtx, renewed) })
		group.Go(func() error { return a.holdSubnet(groupCtx, st) })
		reread := make(chan error, 1)
		group.Go(func() error { return a.watchPeers(groupCtx, st, reread) })
		group.Go(func() error { return a.watchConnection(groupCtx, st, client, reread) })
		group.Go(func() error { return a.publish(groupCtx, st) })
		err = group.Wait()
		_ = client.Close() // no requests are in flight
		if ctx.Err() == nil {
			a.Log.Info("reconnecting to etcd", "reason", err)
		}
	}
	return nil
}

// holdSubnet acquires the node's subnet once the backend needs it, renews the lease, and acquires it again after a loss. It returns when the context ends.
func (a *flanneld) holdSubnet(ctx context.Context, st *store.Store) error {
	due := a.Now().Add(a.LeaseTTL / 3)
	var losses agent.Backoff
	for ctx.Err() == nil {
		t, changed := a.holding.Get()
		p, peersChanged := a.peers.Get()
		switch {
		case t.desired == nil:
			agent.Wait(ctx, changed, nil, nil)
		case p.lost(t):
			delay := losses.Next(a.Now())
			a.Log.Warn("the node's lease is missing in etcd and is acquired again", "subnet", t.ipv4, "in", delay.String())
			agent.Pause(ctx, delay, nil)
			a.unconfirm()
		case !t.confirmed():
			if !a.acquireSubnet(ctx, st, t) {
				agent.Pause(ctx, retryPause, changed)
			}
			due = a.Now().Add(a.LeaseTTL / 3)
		case agent.Wait(ctx, changed, peersChanged, time.After(due.Sub(a.Now()))):
			due = a.Now().Add(a.renew(ctx, st, t))
		}
	}
	return nil
}

func (a *flanneld) unconfirm() {
	a.holding.Update(func(t *holding) bool {
		t.id = 0
		return true
	})
}

// acquireSubnet acquires the subnet, and reports whether it succeeded.
func (a *flanneld) acquireSubnet(ctx context.Context, st *store.Store, t holding) bool {
	ctx, cancel := context.WithTimeout(ctx, etcdTimeout)
	defer cancel()
	held, err := st.Acquire(ctx, store.Request{
		Node: a.Node, Network: a.Config.Network, Attrs: *t.desired, PreviousIPv4: t.ipv4, PreviousIPv6: t.ipv6,
		Reserved: a.Config.Etcd.OwnCertificate,
	})
	if ctx.Err() == nil || err == nil {
		// Without a connection to etcd, that is the problem, not the lease.
		a.board.Note(topicLease, err)
	}
	if err != nil {
		return false
	}
	a.metrics.acquisitions.Inc()
	a.holding.Update(func(now *holding) bool {
		if now.desired != t.desired {
			return false // the backend needs another lease now
		}
		*now = now.with(held)
		return true
	})
	if t.ipv4.IsValid() && t.ipv4 != held.IPv4 {
		a.board.Note(topicSubnet, fmt.Errorf("the node's subnet has changed from %s to %s: pods with addresses of the former subnet must be restarted", t.ipv4, held.IPv4))
	}
	a.Log.Info("the node holds its subnet", "subnet", held.IPv4, "ipv6Subnet", held.IPv6, "lease", fmt.Sprintf("%x", held.ID))
	return true
}

// renew renews the lease, and returns the time until the next renewal.
func (a *flanneld) renew(ctx context.Context, st *store.Store, t holding) time.Duration {
	ctx, cancel := context.WithTimeout(ctx, etcdTimeout)
	defer cancel()
	err := st.Renew(ctx, t.id)
	switch {
	case err == nil:
		a.metrics.renewals.WithLabelValues("ok").Inc()
		return a.LeaseTTL / 3
	case errors.Is(err, store.ErrExpired):
		a.metrics.renewals.WithLabelValues("expired").Inc()
		a.unconfirm()
		return a.LeaseTTL / 3
	default:
		a.metrics.renewals.WithLabelValues("error").Inc()
		return min(a.LeaseTTL/30, time.Minute)
	}
}

// watchPeers maintains the state of the other nodes until the context ends. It reads all keys again when the watch fails, and after a message on reread.
func (a *flanneld) watchPeers(ctx context.Context, st *store.Store, reread <-chan error) error {
	for ctx.Err() == nil {
		readCtx, cancel := context.WithTimeout(ctx, etcdTimeout)
		snap, err := st.Snapshot(readCtx)
		cancel()
		if ctx.Err() != nil {
			return nil
		}
		if err != nil {
			a.connection(fmt.Errorf("etcd cannot be reached at %s: %w", strings.Join(a.Config.Etcd.Endpoints, ", "), err))
			agent.Pause(ctx, retryPause/2, nil)
			continue
		}
		a.connection(nil)
		watchCtx, end := context.WithCancelCause(ctx)
		go endWatch(watchCtx, end, reread, a.applySnapshot(snap))
		err = st.Watch(watchCtx, snap.Revision, func(events []store.Event) {
			a.peers.Update(func(p *peers) bool {
				*p = p.withEvents(agentconfig.ReservationDir(a.Config.Etcd.Prefix), events)
				return true
			})
		})
		if ctx.Err() == nil {
			a.Log.Info("reading all keys in etcd again", "reason", err)
		}
		end(nil)
		agent.Pause(ctx, retryPause/10, nil)
	}
	return nil
}

// endWatch ends a watch when all keys must be read again: after a message on reread, or when the grace period of retained nodes has ended.
func endWatch(ctx context.Context, end context.CancelCauseFunc, reread <-chan error, retained bool) {
	var forget <-chan time.Time
	if retained {
		forget = time.After(lossGrace)
	}
	select {
	case <-ctx.Done():
	case err := <-reread:
		end(err)
	case <-forget:
		end(errors.New("the grace period of missing nodes has ended"))
	}
}

// applySnapshot applies a snapshot, and reports whether it retained nodes that are not in it.
func (a *flanneld) applySnapshot(snap store.Snapshot) (retain bool) {
	t, _ := a.holding.Get()
	known, _ := a.peers.Get()
	_, own := snap.Leases[t.key]
	retain = !own && len(known.list(t.key)) > 0
	if !own && known.replaced(snap) {
		a.Log.Warn("etcd was replaced or set back", "revision", snap.Revision, "was", known.revision)
		a.unconfirm()
	}
	a.peers.Update(func(p *peers) bool {
		*p = p.withSnapshot(snap, t.key, retain)
		return true
	})
	if len(snap.Unreadable) > 0 {
		a.Log.Warn("etcd has invalid keys", "keys", snap.Unreadable)
	}
	return retain
}

// watchConnection records whether etcd is reachable, until the context ends. After a reconnect to an etcd with other data it sends to reread.
func (a *flanneld) watchConnection(ctx context.Context, st *store.Store, client *clientv3.Client, reread chan<- error) error {
	conn := client.ActiveConnection()
	for {
		state := conn.GetState()
		switch state {
		case connectivity.TransientFailure:
			a.connection(fmt.Errorf("etcd cannot be reached at %s", strings.Join(a.Config.Etcd.Endpoints, ", ")))
		case connectivity.Idle:
			conn.Connect()
		case connectivity.Ready:
			if err := a.verify(ctx, st); err != nil {
				select {
				case reread <- err:
				default: // a message is pending
				}
			} else {
				a.connection(nil)
			}
		}
		if !conn.WaitForStateChange(ctx, state) {
			return nil
		}
	}
}

// verify checks whether etcd is still the one that was read. Before the first read it does nothing.
func (a *flanneld) verify(ctx context.Context, st *store.Store) error {
	p, _ := a.peers.Get()
	if p.revision == 0 {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, etcdTimeout)
	defer cancel()
	return st.Verify(ctx, p.cluster, p.revision)
}

func (a *flanneld) connection(err error) {
	a.board.Note(topicEtcd, err)
	a.board.Update(func(b *status) bool {
		changed := b.connected != (err == nil)
		b.connected = err == nil
		return changed
	})
}
