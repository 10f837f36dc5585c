package store

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/cluster-network-operator/cno/providers/flannel/agentconfig"
)

// ErrExpired is returned by Renew when the lease no longer exists.
var ErrExpired = errors.New("the lease has expired or was revoked")

// Store is flannel's part of etcd for one node. It is safe for concurrent use.
type Store struct {
	client *clientv3.Client
	config agentconfig.Config
	ttl    time.Duration
}

// New returns a store. ttl is the lifetime of a lease without renewal, at least one second.
func New(client *clientv3.Client, config agentconfig.Config, ttl time.Duration) *Store {
	return &Store{client: client, config: config, ttl: ttl}
}

// Held is a lease held by the node.
type Held struct {
	Lease
	// AsOf is the revision at which the lease was acquired or confirmed.
	AsOf int64
}

// Snapshot reads all keys at one revision.
func (s *Store) Snapshot(ctx context.Context) (Snapshot, error) {
	resp, err := s.client.Txn(ctx).Then(snapshotOps(s.config.Etcd.Prefix)...).Commit()
	if err != nil {
		return Snapshot{}, fmt.Errorf("read subnets from etcd: %w", err)
	}
	return decodeSnapshot(s.config.Etcd.Prefix, resp.Header, resp.Responses), nil
}

// Acquire acquires the node's subnet according to Plan. It retries until it succeeds, Plan or etcd returns an error, or the context ends.
func (s *Store) Acquire(ctx context.Context, req Request) (Held, error) {
	snap, err := s.Snapshot(ctx)
	if err != nil {
		return Held{}, err
	}
	var id clientv3.LeaseID
	for {
		if snap.NetworkConfig != nil {
			if err := s.config.CheckNetworkConfig(snap.NetworkConfig); err != nil {
				return Held{}, err
			}
			req.Open = s.config.Open(snap.NetworkConfig)
		}
		claim, err := Plan(s.config.Etcd.Prefix, req, snap)
		if err != nil {
			return Held{}, s.revoke(ctx, id, err)
		}
		if held, ok := s.confirm(ctx, claim, req, snap); ok {
			return held, s.revoke(ctx, id, nil)
		}
		if id == 0 {
			if id, err = s.grant(ctx, s.ttl); err != nil {
				return Held{}, err
			}
		}
		held, ok, next, err := s.commit(ctx, claim, req, id, snap.Revision)
		if err != nil {
			return Held{}, s.revoke(ctx, id, err)
		}
		if ok {
			return held, nil
		}
		snap = next
		// Another client was faster. A short random delay avoids repeated conflicts between many nodes.
		select {
		case <-ctx.Done():
			return Held{}, s.revoke(ctx, id, ctx.Err())
		case <-time.After(time.Duration(rand.Int64N(int64(10 * time.Millisecond)))):
		}
	}
}

func (s *Store) grant(ctx context.Context, ttl time.Duration) (clientv3.LeaseID, error) {
	resp, err := s.client.Grant(ctx, int64(ttl/time.Second))
	if err != nil {
		return 0, fmt.Errorf("get a lease from etcd: %w", err)
	}
	return resp.ID, nil
}

// revoke revokes an unused etcd lease, and returns err.
func (s *Store) revoke(ctx context.Context, id clientv3.LeaseID, err error) error {
	if id == 0 {
		return err
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Second)
	defer cancel()
	// The lease would expire; revoking it early only keeps etcd tidy.
	_, _ = s.client.Revoke(ctx, id)
	return err
}

// confirm reuses an up-to-date lease without a write, so that a restart of all agents only causes reads.
func (s *Store) confirm(ctx context.Context, claim Claim, req Request, snap Snapshot) (Held, bool) {
	live, ok := snap.Leases[claim.Key]
	if !ok || claim.Existing == 0 || claim.Reservation != nil || len(claim.Release) > 0 || !sameAttrs(live, req) {
		return Held{}, false
	}
	if s.Renew(ctx, live.ID) != nil {
		return Held{}, false
	}
	return Held{Lease: live, AsOf: snap.Revision}, true
}

func sameAttrs(l Lease, req Request) bool {
	a, errA := json.Marshal(l.Attrs)
	b, errB := json.Marshal(req.Attrs)
	return errA == nil && errB == nil && string(a) == string(b)
}

// commit writes a claim. If ok is false because of a concurrent change, next is the new snapshot.
func (s *Store) commit(ctx context.Context, claim Claim, req Request, id clientv3.LeaseID, seen int64) (held Held, ok bool, next Snapshot, err error) {
	value, err := json.Marshal(req.Attrs)
	if err != nil {
		return held, false, next, fmt.Errorf("encode lease: %w", err)
	}
	prefix := s.config.Etcd.Prefix
	reservationKey := agentconfig.ReservationKey(prefix, req.Node)
	conditions := []clientv3.Cmp{
		clientv3.Compare(clientv3.ModRevision(claim.Key), "=", claim.Revision),
		clientv3.Compare(clientv3.ModRevision(reservationKey), "=", claim.ReservationRevision),
	}
	writes := []clientv3.Op{clientv3.OpPut(claim.Key, string(value), clientv3.WithLease(id))}
	if claim.Reservation != nil {
		reservation, err := claim.Reservation.Encode()
		if err != nil {
			return held, false, next, err
		}
		writes = append(writes, clientv3.OpPut(reservationKey, string(reservation)))
	}
	for _, l := range claim.Release {
		conditions = append(conditions, clientv3.Compare(clientv3.ModRevision(l.Key), "=", l.Revision))
		writes = append(writes, clientv3.OpDelete(l.Key))
	}
	if claim.Exclusive {
		conditions = append(conditions,
			clientv3.Compare(clientv3.ModRevision(agentconfig.ReservationDir(prefix)), "<", seen+1).WithPrefix(),
			clientv3.Compare(clientv3.CreateRevision(agentconfig.SubnetDir(prefix)), "<", seen+1).WithPrefix())
	}
	resp, err := s.client.Txn(ctx).If(conditions...).Then(writes...).Else(snapshotOps(prefix)...).Commit()
	if err != nil {
		return held, false, next, fmt.Errorf("take subnet %s in etcd: %w", claim.IPv4, err)
	}
	if !resp.Succeeded {
		return held, false, decodeSnapshot(prefix, resp.Header, resp.Responses), nil
	}
	revision := resp.Header.GetRevision()
	l := Lease{Key: claim.Key, IPv4: claim.IPv4, IPv6: claim.IPv6, Attrs: req.Attrs, Revision: revision, ID: id}
	return Held{Lease: l, AsOf: revision}, true, next, nil
}

// Renew extends a lease by its full lifetime. It returns ErrExpired if the lease no longer exists.
func (s *Store) Renew(ctx context.Context, id clientv3.LeaseID) error {
	_, err := s.client.KeepAliveOnce(ctx, id)
	if errors.Is(err, rpctypes.ErrLeaseNotFound) {
		return ErrExpired
	}
	if err != nil {
		return fmt.Errorf("renew lease: %w", err)
	}
	return nil
}

// Report writes an agent's report under the given lease, and returns the lease, which the caller must renew. With id 0 it creates a lease with
// agentconfig.ReportTTL or the TTL of the store, whichever is shorter.
func (s *Store) Report(ctx context.Context, status agentconfig.AgentStatus, id clientv3.LeaseID) (clientv3.LeaseID, error) {
	value, err := status.Encode()
	if err != nil {
		return 0, err
	}
	if id == 0 {
		if id, err = s.grant(ctx, min(s.ttl, agentconfig.ReportTTL)); err != nil {
			return 0, err
		}
	}
	if _, err := s.client.Put(ctx, agentconfig.AgentKey(s.config.Etcd.Prefix, status.Node), string(value), clientv3.WithLease(id)); err != nil {
		return 0, fmt.Errorf("report to etcd: %w", err)
	}
	return id, nil
}
