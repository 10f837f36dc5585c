// Package etcdclient is a connection to an etcd: its members, its keys, its users and permissions, and the upkeep of its databases. Every
// request has a limit, and one that takes too long is explained: etcd's own client keeps the cause to itself.
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

// callTimeout is how long one request to etcd may take.
const callTimeout = 5 * time.Second

// watchPause is how long a watch that broke rests before it begins again.
const watchPause = 5 * time.Second

// Member is one line of etcd's own list of members.
type Member struct {
	ID uint64
	// Name is empty while the member has never started.
	Name    string
	PeerURL string
	Learner bool
}

// Members changes who belongs to an etcd. All methods but Answers need its quorum.
type Members interface {
	List(ctx context.Context) ([]Member, error)
	// AddLearner adds a member without a vote.
	AddLearner(ctx context.Context, peerURL string) error
	// Promote gives a learner its vote. It fails while the learner has not caught up.
	Promote(ctx context.Context, id uint64) error
	Remove(ctx context.Context, id uint64) error
	// Move changes the URL at which the other members reach one.
	Move(ctx context.Context, id uint64, peerURL string) error
	// Answers queries one member alone. The error is why it does not answer.
	Answers(ctx context.Context, clientURL string) (Database, error)
}

// KeyValue is one key.
type KeyValue struct {
	Key      string
	Value    []byte
	Revision int64 // of its last change
}

// Change is a transaction: what is written if nothing of it has changed since it was read.
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
	// Commit makes a change. done is false if something has changed since; then nothing was written.
	Commit(ctx context.Context, c Change) (done bool, err error)
	// Watch calls changed after every change below a prefix, until the context ends.
	Watch(ctx context.Context, prefix string, changed func())
}

// Etcd is a connection to an etcd.
type Etcd interface {
	Members
	Keys
	Access
	Upkeep
	Close() error
}

// Target says which etcd to connect to.
type Target struct {
	Endpoints []string
	// TLS is nil for plain connections.
	TLS *tls.Config
	// Timeout is how long a request may take; 0 is 5 seconds.
	Timeout time.Duration
}

// Dial returns a connection, which is made when it is first used.
func Dial(t Target) (Etcd, error) {
	if t.Timeout == 0 {
		t.Timeout = callTimeout
	}
	client, err := clientv3.New(clientv3.Config{
		Endpoints: t.Endpoints, TLS: t.TLS,
		DialKeepAliveTime: 10 * time.Second, DialKeepAliveTimeout: t.Timeout,
		Logger: zap.NewNop(), // what it would say is in the errors
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

func (c *connection) Answers(ctx context.Context, clientURL string) (Database, error) {
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

// Watch starts at what is newest, and starts again there when the watch breaks: the reader looks at everything
// each time, so that no single event matters.
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
		case <-time.After(watchPause):
			changed()
		}
	}
}
