package node

import (
	"context"
	"crypto/tls"
	"errors"
	"log/slog"
	"time"

	"github.com/flannel-io/flannel/pkg/subnet"
	"golang.org/x/sync/errgroup"

	"github.com/cluster-network-operator/cno/internal/agent"
	"github.com/cluster-network-operator/cno/internal/nodecert"
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
	Sign nodecert.Signer
	// LeaseTTL is DefaultLeaseTTL if it is 0; at least three seconds.
	LeaseTTL time.Duration
	// Now is time.Now if it is nil.
	Now func() time.Time
}

type flanneld struct {
	Options
	flannel *subnet.Config
	kept    state
	tenure  *agent.Cell[tenure]
	peers   *agent.Cell[peers]
	// identity is the node's own certificate for etcd; nil while it has none.
	identity *agent.Cell[*tls.Certificate]
	// accepted are the other nodes' leases that traffic follows.
	accepted *agent.Cell[acceptance]
	board    *agent.Board[status]
	metrics  *metrics
	// rejected are the leases that were rejected when the kernel was last compared; only that goroutine uses it.
	rejected map[rejection]bool
	beat     agent.Beat
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
		return a.health().Serve(ctx, a.Config.HealthAddress)
	})
	group.Go(func() error { return a.talkToEtcd(ctx) })
	if a.Config.Etcd.OwnCertificate {
		group.Go(func() error { return a.keepIdentity(ctx) })
	}
	group.Go(func() error { return a.keepKernel(ctx) })
	group.Go(func() error { return a.keepState(ctx) })
	return group.Wait()
}

func newAgent(options Options) (*flanneld, error) {
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
	a := &flanneld{Options: options, flannel: network}
	a.board = agent.NewBoard(status{AgentStatus: agentconfig.AgentStatus{
		Node: options.Node, Version: options.Version, Backend: options.Config.Backend.Type,
	}}, options.Log)
	a.identity = agent.NewCell(loadIdentity(options.Config, options.Node, options.Now()))
	a.metrics = newMetrics(options.Version, a.board.View)
	kept, err := loadState(options.Config, options.Node)
	a.board.Note(topicState, err)
	a.kept = kept
	// The operator gives a node the subnet back that it reports, should etcd have lost everything.
	a.board.Update(func(b *status) bool {
		b.Subnet, b.IPv6Subnet = kept.IPv4, kept.IPv6
		return kept.IPv4.IsValid()
	})
	a.peers = agent.NewCell(kept.peers())
	a.accepted = agent.NewCell(acceptance{leases: kept.peers().leases})
	remembered := tenure{ipv4: kept.IPv4, ipv6: kept.IPv6}
	if kept.IPv4.IsValid() {
		remembered.key = agentconfig.SubnetKey(options.Config.Etcd.Prefix, kept.IPv4, kept.IPv6)
	}
	a.tenure = agent.NewCell(remembered)
	return a, nil
}

func (a *flanneld) health() agent.Health {
	return agent.Health{
		Ready: func() (bool, agent.Problems) { v := a.board.View(); return v.Status.Ready, v.Problems },
		Beat:  &a.beat, Now: a.Now, Metrics: a.metrics,
	}
}

// keepState keeps the last good state on disk.
func (a *flanneld) keepState(ctx context.Context) error {
	for ctx.Err() == nil {
		t, tenureChanged := a.tenure.Get()
		follows, acceptedChanged := a.accepted.Get()
		if p, _ := a.peers.Get(); t.confirmed() && p.known && follows.known {
			a.board.Note(topicState, agent.SaveState(stateFile(a.Config), newState(a.Config, a.Node, t, p, follows.leases)))
		}
		agent.Wait(ctx, tenureChanged, acceptedChanged, nil)
		agent.Pause(ctx, 100*time.Millisecond, nil) // changes come in groups
	}
	return nil
}
