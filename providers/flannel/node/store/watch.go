package store

import (
	"context"
	"errors"
	"fmt"
	"strings"

	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/cluster-network-operator/cno/providers/flannel/agentconfig"
)

// ErrReplaced is returned by Verify when etcd is not the one that was read before, or has lost data.
var ErrReplaced = errors.New("etcd was replaced or set back")

// Event is one change. If neither Lease nor Reservation is set, the key was deleted.
type Event struct {
	Key         string
	Revision    int64
	Lease       *Lease
	Reservation *Reservation
}

// Watch calls handle with every change of leases and reservations after a revision, in order, until the context ends or the watch fails. After an error the
// caller must read a new snapshot. It omits invalid values.
func (s *Store) Watch(ctx context.Context, after int64, handle func([]Event)) error {
	ctx, cancel := context.WithCancel(clientv3.WithRequireLeader(ctx))
	defer cancel()
	prefix := s.config.Etcd.Prefix
	// One watch over the range from the first reservation to the last lease delivers a lease and its reservation, which are written in one transaction,
	// together.
	end := clientv3.GetPrefixRangeEnd(agentconfig.SubnetDir(prefix))
	changes := s.client.Watch(ctx, agentconfig.ReservationDir(prefix), clientv3.WithRange(end), clientv3.WithRev(after+1))
	for {
		resp, ok := <-changes
		if err := resp.Err(); err != nil {
			return fmt.Errorf("watch etcd: %w", err)
		}
		if !ok {
			return fmt.Errorf("watch etcd: it ended: %w", context.Cause(ctx))
		}
		if events := decodeEvents(prefix, resp.Events); len(events) > 0 {
			handle(events)
		}
	}
}

func decodeEvents(prefix string, in []*clientv3.Event) []Event {
	var out []Event
	for _, e := range in {
		event := Event{Key: string(e.Kv.GetKey()), Revision: e.Kv.GetModRevision()}
		if !strings.HasPrefix(event.Key, agentconfig.SubnetDir(prefix)) && !strings.HasPrefix(event.Key, agentconfig.ReservationDir(prefix)) {
			continue // a key between the two ranges
		}
		if e.Type != clientv3.EventTypeDelete {
			event.Lease, event.Reservation, _ = decode(prefix, e.Kv)
			if event.Lease == nil && event.Reservation == nil {
				continue
			}
		}
		out = append(out, event)
	}
	return out
}

// Verify checks whether etcd is still the one from which a revision was read. A watch does not detect a store that was emptied and restarts its revisions at
// one: it waits for the distant revision.
func (s *Store) Verify(ctx context.Context, cluster uint64, revision int64) error {
	resp, err := s.client.Get(ctx, agentconfig.ConfigKey(s.config.Etcd.Prefix))
	if err != nil {
		return fmt.Errorf("read from etcd: %w", err)
	}
	if resp.Header.GetClusterId() != cluster || resp.Header.GetRevision() < revision {
		return ErrReplaced
	}
	return nil
}
