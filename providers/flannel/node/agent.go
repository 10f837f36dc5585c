package node

import (
	"context"
	"crypto/tls"
	"errors"
	"log/slog"
	"sync/atomic"
	"time"

	"github.com/flannel-io/flannel/pkg/subnet"
	"golang.org/x/sync/errgroup"

	"github.com/cluster-network-operator/cno/providers/flannel/agentconfig"
)

// DefaultLeaseTTL is how long a lease lives without being renewed, as in flannel itself. It is renewed after a
// third of that.
const DefaultLeaseTTL = 24 * time.Hour

// restoreAfter is how long etcd is waited for before the node goes on with what it kept on disk.
const restoreAfter = 3 * time.Second

// Options are what the agent needs.
type Options struct {
	// Config is valid.
	Config agentconfig.Config
	// Node is the node's name.
	Node string
	// Version is the program's, for the report.
	Version string
	Log     *slog.Logger
	// Sign has the operator sign requests for certificates; only used if the node has an identity of its own. Nil means
	// that the Kubernetes API cannot be used.
	Sign Signer
	// LeaseTTL is DefaultLeaseTTL if it is 0; at least three seconds.
	LeaseTTL time.Duration
	// Now is time.Now if it is nil.
	Now func() time.Time
}

type agent struct {
	Options
	flannel *subnet.Config
	kept    state
	tenure  *cell[tenure]
	peers   *cell[peers]
	// identity is the node's own certificate for etcd; nil while it has none.
	identity *cell[*tls.Certificate]
	// accepted are the other nodes' leases that traffic follows.
	accepted *cell[acceptance]
	board    *cell[board]
	metrics  *metrics
	// rejected are the leases that were rejected when the kernel was last compared; only that goroutine uses it.
	rejected map[rejection]bool
	beat     atomic.Pointer[time.Time]
}

// Run is the agent. It ends when the context does, with nil, and leaves routes, rules and files as they are. It
// only returns an error for what waiting does not mend: no name, or a health address that is in use.
func Run(ctx context.Context, options Options) error {
	a, err := newAgent(options)
	if err != nil {
		return err
	}
	group, ctx := errgroup.WithContext(ctx)
	group.Go(func() error {
		return serveHealth(ctx, a.Config.HealthAddress, handler(a.readBoard, a.lastBeat, a.Now, a.metrics))
	})
	group.Go(func() error { return a.talkToEtcd(ctx) })
	if a.Config.Etcd.OwnCertificate {
		group.Go(func() error { return a.keepIdentity(ctx) })
	}
	group.Go(func() error { return a.keepKernel(ctx) })
	group.Go(func() error { return a.keepState(ctx) })
	return group.Wait()
}

func newAgent(options Options) (*agent, error) {
	if options.Node == "" {
		return nil, errors.New("the node's name is not known: set the environment variable NODE_NAME")
	}
	if options.LeaseTTL == 0 {
		options.LeaseTTL = DefaultLeaseTTL
	}
	if options.Now == nil {
		options.Now = time.Now
	}
	network, err := flannelConfig(options.Config)
	if err != nil {
		return nil, err
	}
	a := &agent{Options: options, flannel: network}
	a.board = newCell(board{status: agentconfig.AgentStatus{
		Node: options.Node, Version: options.Version, Backend: options.Config.Backend.Type,
	}})
	a.identity = newCell(loadIdentity(options.Config, options.Node, options.Now()))
	a.metrics = newMetrics(options.Version, a.readBoard)
	kept, err := loadState(options.Config, options.Node)
	a.note(topicState, err)
	a.kept = kept
	// The operator gives a node the subnet back that it reports, should etcd have lost everything.
	a.board.update(func(b *board) bool {
		b.status.Subnet, b.status.IPv6Subnet = kept.IPv4, kept.IPv6
		return kept.IPv4.IsValid()
	})
	a.peers = newCell(kept.peers())
	a.accepted = newCell(acceptance{leases: kept.peers().leases})
	remembered := tenure{ipv4: kept.IPv4, ipv6: kept.IPv6}
	if kept.IPv4.IsValid() {
		remembered.key = agentconfig.SubnetKey(options.Config.Etcd.Prefix, kept.IPv4, kept.IPv6)
	}
	a.tenure = newCell(remembered)
	return a, nil
}

func (a *agent) readBoard() board {
	b, _ := a.board.get()
	return b
}

func (a *agent) lastBeat() time.Time {
	if t := a.beat.Load(); t != nil {
		return *t
	}
	return time.Time{}
}

// note puts a problem on the board, or takes it off if err is nil, and logs either once.
func (a *agent) note(about topic, err error) {
	fresh := false
	a.board.update(func(b *board) bool {
		fresh = b.set(about, err)
		return fresh
	})
	switch {
	case !fresh:
	case err != nil:
		a.Log.Warn("something does not work", "about", string(about), "error", err)
	default:
		a.Log.Info("it works again", "about", string(about))
	}
}

// keepState keeps the last good state on disk.
func (a *agent) keepState(ctx context.Context) error {
	for ctx.Err() == nil {
		t, tenureChanged := a.tenure.get()
		follows, acceptedChanged := a.accepted.get()
		if p, _ := a.peers.get(); t.confirmed() && p.known && follows.known {
			a.note(topicState, saveState(a.Config, newState(a.Config, a.Node, t, p, follows.leases)))
		}
		wait(ctx, tenureChanged, acceptedChanged, nil)
		pause(ctx, 100*time.Millisecond, nil) // changes come in groups
	}
	return nil
}

// wait returns when one of two values changed, the timer fired, or the context ended. It reports whether it was
// the timer. Nil channels are not waited for.
func wait(ctx context.Context, one, other <-chan struct{}, timer <-chan time.Time) bool {
	select {
	case <-ctx.Done():
	case <-one:
	case <-other:
	case <-timer:
		return true
	}
	return false
}

// pause waits for some time, or less if the context ends or the value changes.
func pause(ctx context.Context, d time.Duration, changed <-chan struct{}) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	wait(ctx, changed, nil, timer.C)
}
