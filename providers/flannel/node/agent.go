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

// DefaultLeaseTTL is the lifetime of a lease without renewal, as in flannel itself. It is renewed after a third of that.
const DefaultLeaseTTL = 24 * time.Hour

// restoreAfter is how long the agent waits for etcd before it continues with the saved state.
const restoreAfter = 3 * time.Second

// Options is the configuration of Run.
type Options struct {
	// Config is the configuration; it must be valid.
	Config agentconfig.Config
	// Node is the node's name.
	Node string
	// Version is the version of the binary, for the report.
	Version string
	Log     *slog.Logger
	// Sign requests certificates from the operator; only used if the node has its own identity. Nil means that the Kubernetes API is not available.
	Sign nodecert.Signer
	// LeaseTTL is the lifetime of the lease, at least three seconds. 0 means DefaultLeaseTTL.
	LeaseTTL time.Duration
	// Now is the clock. Nil means time.Now.
	Now func() time.Time
}

type flanneld struct {
	Options
	flannel *subnet.Config
	saved   state
	holding *agent.Cell[holding]
	peers   *agent.Cell[peers]
	// identity is the node's own certificate for etcd; nil if it has none.
	identity *agent.Cell[*tls.Certificate]
	// accepted are the leases of other nodes that are used for routing.
	accepted *agent.Cell[acceptance]
	board    *agent.Board[status]
	metrics  *metrics
	// rejected are the leases rejected in the last reconcile of the kernel; only that goroutine uses it.
	rejected map[rejection]bool
	beat     agent.Beat
}

// Run runs the agent until the context ends, and then returns nil. Routes, rules and files stay. It returns an error only for conditions that do not resolve
// automatically: a missing node name, or a health address in use.
func Run(ctx context.Context, options Options) error {
	a, err := newAgent(options)
	if err != nil {
		return err
	}
	group, ctx := errgroup.WithContext(ctx)
	group.Go(func() error {
		return a.health().Serve(ctx, a.Config.HealthAddress)
	})
	group.Go(func() error { return a.runEtcd(ctx) })
	if a.Config.Etcd.OwnCertificate {
		group.Go(func() error { return a.keepIdentity(ctx) })
	}
	group.Go(func() error { return a.runSessions(ctx) })
	group.Go(func() error { return a.persistState(ctx) })
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
	saved, err := loadState(options.Config, options.Node)
	a.board.Note(topicState, err)
	a.saved = saved
	// The operator reserves the reported subnet again if etcd has lost its data.
	a.board.Update(func(b *status) bool {
		b.Subnet, b.IPv6Subnet = saved.IPv4, saved.IPv6
		return saved.IPv4.IsValid()
	})
	a.peers = agent.NewCell(saved.peers())
	a.accepted = agent.NewCell(acceptance{leases: saved.peers().leases})
	remembered := holding{ipv4: saved.IPv4, ipv6: saved.IPv6}
	if saved.IPv4.IsValid() {
		remembered.key = agentconfig.SubnetKey(options.Config.Etcd.Prefix, saved.IPv4, saved.IPv6)
	}
	a.holding = agent.NewCell(remembered)
	return a, nil
}

func (a *flanneld) health() agent.Health {
	return agent.Health{
		Ready: func() (bool, agent.Problems) { v := a.board.View(); return v.Status.Ready, v.Problems },
		Beat:  &a.beat, Now: a.Now, Metrics: a.metrics,
	}
}

// persistState saves the last valid state.
func (a *flanneld) persistState(ctx context.Context) error {
	for ctx.Err() == nil {
		t, holdingChanged := a.holding.Get()
		follows, acceptedChanged := a.accepted.Get()
		if p, _ := a.peers.Get(); t.confirmed() && p.known && follows.known {
			a.board.Note(topicState, agent.SaveState(stateFile(a.Config), newState(a.Config, a.Node, t, p, follows.leases)))
		}
		agent.Wait(ctx, holdingChanged, acceptedChanged, nil)
		agent.Pause(ctx, 100*time.Millisecond, nil) // batch changes
	}
	return nil
}
