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
	// etcdTimeout bounds one request.
	etcdTimeout = 5 * time.Second
	// retryPause is how long to wait after etcd refused something.
	retryPause = time.Second
	// lossGrace is how long peers stay that vanished from etcd together with the node's own lease. Their agents
	// notice at once that their leases are gone and take them again, so that a minute is plenty.
	lossGrace = time.Minute
)

// talkToEtcd keeps the node's subnet and follows the other nodes', through one client after the other.
func (a *flanneld) talkToEtcd(ctx context.Context) error {
	attempts := &connections{now: a.Now, report: a.unansweredEtcd}
	for ctx.Err() == nil {
		pair, renewed := a.identity.Get()
		client, err := dial(a.Config.Etcd, pair, attempts.dial)
		if err != nil {
			a.board.Note(topicEtcd, err)
			agent.Pause(ctx, retryPause, nil)
			continue
		}
		a.presents(pair)
		st := store.New(client, a.Config, a.LeaseTTL)
		group, groupCtx := errgroup.WithContext(ctx)
		group.Go(func() error { return watchAuthorities(groupCtx, a.Config.Etcd.CAFile) })
		group.Go(func() error { return watchRenewal(groupCtx, renewed) })
		group.Go(func() error { return a.holdSubnet(groupCtx, st) })
		reread := make(chan error, 1)
		group.Go(func() error { return a.follow(groupCtx, st, reread) })
		group.Go(func() error { return a.watchConnection(groupCtx, st, client, reread) })
		group.Go(func() error { return a.publish(groupCtx, st) })
		err = group.Wait()
		_ = client.Close() // nothing is in flight any more
		if ctx.Err() == nil {
			a.Log.Info("reconnecting to etcd", "reason", err)
		}
	}
	return nil
}

// holdSubnet takes the node's subnet once the backend wants it, renews the lease, and takes it again when it is
// lost. It ends with the context.
func (a *flanneld) holdSubnet(ctx context.Context, st *store.Store) error {
	due := a.Now().Add(a.LeaseTTL / 3)
	var losses agent.Damper
	for ctx.Err() == nil {
		t, changed := a.tenure.Get()
		p, peersChanged := a.peers.Get()
		switch {
		case t.wanted == nil:
			agent.Wait(ctx, changed, nil, nil)
		case p.lost(t):
			delay := losses.Next(a.Now())
			a.Log.Warn("the node's lease is missing in etcd and is acquired again", "subnet", t.ipv4, "in", delay.String())
			agent.Pause(ctx, delay, nil)
			a.unconfirm()
		case !t.confirmed():
			if !a.take(ctx, st, t) {
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
	a.tenure.Update(func(t *tenure) bool {
		t.id = 0
		return true
	})
}

// take takes the subnet, and reports whether it did.
func (a *flanneld) take(ctx context.Context, st *store.Store, t tenure) bool {
	ctx, cancel := context.WithTimeout(ctx, etcdTimeout)
	defer cancel()
	held, err := st.Acquire(ctx, store.Request{
		Node: a.Node, Network: a.Config.Network, Attrs: *t.wanted, PreviousIPv4: t.ipv4, PreviousIPv6: t.ipv6,
		Reserved: a.Config.Etcd.OwnCertificate,
	})
	if ctx.Err() == nil || err == nil {
		// With etcd away that is the problem, not the lease.
		a.board.Note(topicLease, err)
	}
	if err != nil {
		return false
	}
	a.metrics.acquisitions.Inc()
	a.tenure.Update(func(now *tenure) bool {
		if now.wanted != t.wanted {
			return false // the backend wants something else by now
		}
		*now = now.hold(held)
		return true
	})
	if t.ipv4.IsValid() && t.ipv4 != held.IPv4 {
		a.board.Note(topicSubnet, fmt.Errorf("the node's subnet was %s and is %s now: pods with addresses of the former must be started again", t.ipv4, held.IPv4))
	}
	a.Log.Info("the node holds its subnet", "subnet", held.IPv4, "ipv6Subnet", held.IPv6, "lease", fmt.Sprintf("%x", held.ID))
	return true
}

// renew renews the lease and returns when to do so next.
func (a *flanneld) renew(ctx context.Context, st *store.Store, t tenure) time.Duration {
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

// follow keeps what is known of the other nodes current until the context ends. It reads everything again when its
// watch breaks, or when it is told to.
func (a *flanneld) follow(ctx context.Context, st *store.Store, reread <-chan error) error {
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
		go endWatch(watchCtx, end, reread, a.accept(snap))
		err = st.Watch(watchCtx, snap.Revision, func(events []store.Event) {
			a.peers.Update(func(p *peers) bool {
				*p = p.after(agentconfig.ReservationDir(a.Config.Etcd.Prefix), events)
				return true
			})
		})
		if ctx.Err() == nil {
			a.Log.Info("reading everything in etcd again", "reason", err)
		}
		end(nil)
		agent.Pause(ctx, retryPause/10, nil)
	}
	return nil
}

// endWatch ends a watch when everything must be read again: because someone says so, or because it is time to
// forget the nodes that are not in etcd any more and have been kept for now.
func endWatch(ctx context.Context, end context.CancelCauseFunc, reread <-chan error, kept bool) {
	var forget <-chan time.Time
	if kept {
		forget = time.After(lossGrace)
	}
	select {
	case <-ctx.Done():
	case err := <-reread:
		end(err)
	case <-forget:
		end(errors.New("nodes that were kept for now have had time to come back"))
	}
}

// accept takes over a snapshot, and reports whether nodes are kept that are not in it.
func (a *flanneld) accept(snap store.Snapshot) (keep bool) {
	t, _ := a.tenure.Get()
	known, _ := a.peers.Get()
	_, own := snap.Leases[t.key]
	keep = !own && len(known.list(t.key)) > 0
	if !own && known.replaced(snap) {
		a.Log.Warn("etcd was replaced or set back", "revision", snap.Revision, "was", known.revision)
		a.unconfirm()
	}
	a.peers.Update(func(p *peers) bool {
		*p = p.taken(snap, t.key, keep)
		return true
	})
	if len(snap.Unreadable) > 0 {
		a.Log.Warn("there are keys in etcd that cannot be understood", "keys", snap.Unreadable)
	}
	return keep
}

// watchConnection notes whether etcd can be reached, until the context ends. When it can again, and is not the etcd
// that was read, it says so to reread.
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
				default: // it is told already
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

// verify asks etcd whether it still is what was read; before anything was read there is nothing to ask.
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
