// Package etcdclient is a client of etcd: members, keys, users and permissions, and maintenance of databases. Every request has a timeout, whose error
// has the cause, which etcd's own client does not report.
//
// The connection is an interface, so that tests replace parts of it.
package etcdclient

import (
	"context"
	"crypto/tls"
	"fmt"
	"strings"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/zap"
	"google.golang.org/grpc"
	"google.golang.org/grpc/backoff"
)

// requestTimeout is the default timeout of a request.
const requestTimeout = 5 * time.Second

// watchRetryDelay is the pause after a watch failed.
const watchRetryDelay = 5 * time.Second

// Member is an entry of etcd's member list.
type Member struct {
	ID uint64
	// Name is empty until the member starts for the first time.
	Name    string
	PeerURL string
	Learner bool
}

// Members manages the members of an etcd. All methods except Status need a quorum.
type Members interface {
	List(ctx context.Context) ([]Member, error)
	// AddLearner adds a non-voting member.
	AddLearner(ctx context.Context, peerURL string) error
	// Promote makes a learner a voting member. It fails until the learner has caught up.
	Promote(ctx context.Context, id uint64) error
	Remove(ctx context.Context, id uint64) error
	// Move changes the peer URL of a member.
	Move(ctx context.Context, id uint64, peerURL string) error
	// Status queries one member. The error is the reason if it does not answer.
	Status(ctx context.Context, clientURL string) (Database, error)
}

// KeyValue is one key.
type KeyValue struct {
	Key      string
	Value    []byte
	Revision int64 // of its last change
}

// Change is a conditional transaction.
type Change struct {
	// Unchanged maps keys to the revision of their last change, 0 for keys that must not exist.
	Unchanged map[string]int64
	Put       map[string][]byte
	Delete    []string
}

// Keys reads and writes keys.
type Keys interface {
	// Read returns all keys that begin with a prefix, in order.
	Read(ctx context.Context, prefix string) ([]KeyValue, error)
	// Commit carries out a change. done is false, and nothing is written, if a condition is not met.
	Commit(ctx context.Context, c Change) (done bool, err error)
	// Watch calls changed after every change below a prefix, until the context ends.
	Watch(ctx context.Context, prefix string, changed func())
}

// Etcd is a connection to an etcd.
type Etcd interface {
	Members
	Keys
	Access
	Maintenance
	Close() error
}

// Target has the parameters of a connection.
type Target struct {
	Endpoints []string
	// TLS is nil for plain connections.
	TLS *tls.Config
	// Timeout is the timeout of requests; 0 means 5 seconds.
	Timeout time.Duration
}

// Dial returns a client, which connects on its first request.
func Dial(t Target) (Etcd, error) {
	if t.Timeout == 0 {
		t.Timeout = requestTimeout
	}
	client, err := clientv3.New(clientv3.Config{
		Endpoints: t.Endpoints, TLS: t.TLS,
		DialKeepAliveTime: 10 * time.Second, DialKeepAliveTimeout: t.Timeout,
		Logger: zap.NewNop(), // errors contain the same information
		DialOptions: []grpc.DialOption{grpc.WithConnectParams(grpc.ConnectParams{
			Backoff: backoff.Config{BaseDelay: 200 * time.Millisecond, Multiplier: 1.6, Jitter: 0.2, MaxDelay: 5 * time.Second}, MinConnectTimeout: t.Timeout,
		})},
	})
	if err != nil {
		return nil, fmt.Errorf("connect to etcd at %s: %w", strings.Join(t.Endpoints, ", "), err)
	}
	return &connection{client, t}, nil
}

// connection is the real Etcd.
type connection struct {
	client *clientv3.Client
	target Target
}

func (c *connection) Close() error { return c.client.Close() }

func (c *connection) List(ctx context.Context) ([]Member, error) {
	ctx, cancel := context.WithTimeout(ctx, c.target.Timeout)
	defer cancel()
	resp, err := c.client.MemberList(ctx)
	if err != nil {
		return nil, fmt.Errorf("list members of etcd: %w", c.explain(err, c.target.Endpoints...))
	}
	var out []Member
	for _, m := range resp.Members {
		member := Member{ID: m.GetID(), Name: m.GetName(), Learner: m.GetIsLearner()}
		if urls := m.GetPeerURLs(); len(urls) > 0 {
			member.PeerURL = urls[0]
		}
		out = append(out, member)
	}
	return out, nil
}

func (c *connection) AddLearner(ctx context.Context, peerURL string) error {
	ctx, cancel := context.WithTimeout(ctx, c.target.Timeout)
	defer cancel()
	if _, err := c.client.MemberAddAsLearner(ctx, []string{peerURL}); err != nil {
		return fmt.Errorf("add %s to etcd: %w", peerURL, err)
	}
	return nil
}

func (c *connection) Promote(ctx context.Context, id uint64) error {
	ctx, cancel := context.WithTimeout(ctx, c.target.Timeout)
	defer cancel()
	if _, err := c.client.MemberPromote(ctx, id); err != nil {
		return fmt.Errorf("promote member %x of etcd: %w", id, err)
	}
	return nil
}

func (c *connection) Remove(ctx context.Context, id uint64) error {
	ctx, cancel := context.WithTimeout(ctx, c.target.Timeout)
	defer cancel()
	if _, err := c.client.MemberRemove(ctx, id); err != nil {
		return fmt.Errorf("remove member %x from etcd: %w", id, err)
	}
	return nil
}

func (c *connection) Move(ctx context.Context, id uint64, peerURL string) error {
	ctx, cancel := context.WithTimeout(ctx, c.target.Timeout)
	defer cancel()
	if _, err := c.client.MemberUpdate(ctx, id, []string{peerURL}); err != nil {
		return fmt.Errorf("move member %x of etcd to %s: %w", id, peerURL, err)
	}
	return nil
}

func (c *connection) Status(ctx context.Context, clientURL string) (Database, error) {
	ctx, cancel := context.WithTimeout(ctx, c.target.Timeout)
	defer cancel()
	resp, err := c.client.Status(ctx, clientURL)
	if err != nil {
		return Database{}, c.explain(err, clientURL)
	}
	return databaseOf(resp), nil
}

func (c *connection) Read(ctx context.Context, prefix string) ([]KeyValue, error) {
	ctx, cancel := context.WithTimeout(ctx, c.target.Timeout)
	defer cancel()
	resp, err := c.client.Get(ctx, prefix, clientv3.WithPrefix())
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", prefix, c.explain(err, c.target.Endpoints...))
	}
	out := make([]KeyValue, 0, len(resp.Kvs))
	for _, kv := range resp.Kvs {
		out = append(out, KeyValue{Key: string(kv.GetKey()), Value: kv.GetValue(), Revision: kv.GetModRevision()})
	}
	return out, nil
}

func (c *connection) Commit(ctx context.Context, change Change) (bool, error) {
	ctx, cancel := context.WithTimeout(ctx, c.target.Timeout)
	defer cancel()
	var conditions []clientv3.Cmp
	for key, revision := range change.Unchanged {
		conditions = append(conditions, clientv3.Compare(clientv3.ModRevision(key), "=", revision))
	}
	var writes []clientv3.Op
	for key, value := range change.Put {
		writes = append(writes, clientv3.OpPut(key, string(value)))
	}
	for _, key := range change.Delete {
		writes = append(writes, clientv3.OpDelete(key))
	}
	resp, err := c.client.Txn(ctx).If(conditions...).Then(writes...).Commit()
	if err != nil {
		return false, fmt.Errorf("write: %w", c.explain(err, c.target.Endpoints...))
	}
	return resp.Succeeded, nil
}

// Watch starts at the newest revision, also after a failure: changed leads to a complete read, so that no single event matters.
func (c *connection) Watch(ctx context.Context, prefix string, changed func()) {
	for ctx.Err() == nil {
		watch, cancel := context.WithCancel(ctx)
		for resp := range c.client.Watch(watch, prefix, clientv3.WithPrefix()) {
			if resp.Err() != nil {
				break
			}
			changed()
		}
		cancel()
		select {
		case <-ctx.Done():
		case <-time.After(watchRetryDelay):
			changed()
		}
	}
}
