// Package node is the node agent of the toy network. It serves CNI with package cniserver, maintains a route to the block of each other node, and writes the
// CNI configuration once both work. It reads the other nodes from a file that the operator renders.
package node

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"os"
	"path/filepath"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/cluster-network-operator/cno/internal/agent"
	"github.com/cluster-network-operator/cno/internal/cniserver"
	"github.com/cluster-network-operator/cno/internal/host/cniconf"
	"github.com/cluster-network-operator/cno/internal/host/kernelwatch"
	"github.com/cluster-network-operator/cno/internal/host/sysctl"
	"github.com/cluster-network-operator/cno/providers/toy/agentconfig"
)

const (
	// resyncInterval is how often the table of nodes is read: the kubelet replaces the file without a notification.
	resyncInterval = 2 * time.Second
	debounce       = 20 * time.Millisecond
	retry          = time.Second

	networkName = "toy"
	confName    = "10-toy.conflist"
)

const (
	topicNodes      agent.Topic = "nodes"
	topicForwarding agent.Topic = "forwarding"
	topicRoutes     agent.Topic = "routes"
	topicCNI        agent.Topic = "cni"
	topicKernel     agent.Topic = "kernel"
)

// status is the agent's status in addition to problems.
type status struct {
	ready bool
	self  agentconfig.Node
	peers int
}

type daemon struct {
	agent.Process
	config  agentconfig.Config
	board   *agent.Board[status]
	beat    agent.Beat
	changed agent.Trigger
}

// Run runs the agent until the context ends. Pods and routes stay.
func Run(ctx context.Context, config agentconfig.Config, p agent.Process) error {
	if p.Node == "" {
		return errors.New("the node's name is not known: set the environment variable NODE_NAME")
	}
	d := &daemon{Process: p, config: config, board: agent.NewBoard(status{}, p.Log), changed: agent.NewTrigger()}
	metrics := agent.NewMetrics("toy_agent", p.Version)
	metrics.Gauge("ready", "1 once pods can be started.", func() float64 { return agent.Flag(d.board.View().Status.ready) })
	metrics.Gauge("peers", "Other nodes with a block.", func() float64 { return float64(d.board.View().Status.peers) })
	health := agent.Health{
		Ready:   func() (bool, agent.Problems) { v := d.board.View(); return v.Status.ready, v.Problems },
		Metrics: metrics, Beat: &d.beat, Now: time.Now,
	}
	listener, err := cniserver.Listen(config.Socket)
	if err != nil {
		return err
	}
	server := &cniserver.Server{Handler: newPods(d.block), Dir: filepath.Join(config.StateDir, "attachments"), Log: p.Log}
	group, ctx := errgroup.WithContext(ctx)
	group.Go(func() error { return health.Serve(ctx, config.HealthAddress) })
	group.Go(func() error { return server.Serve(ctx, listener) })
	group.Go(func() error { d.watch(ctx); return nil })
	group.Go(func() error {
		agent.Loop{Apply: d.apply, Interval: resyncInterval, Debounce: debounce, Changed: d.changed, Now: time.Now, Beat: &d.beat}.Run(ctx)
		return nil
	})
	return group.Wait()
}

// block returns the node's block, and whether pods can be attached.
func (d *daemon) block() (netip.Prefix, bool) {
	s := d.board.View().Status
	return s.self.Block, s.ready
}

// watch triggers a reconcile when a third party changes routes.
func (d *daemon) watch(ctx context.Context) {
	for ctx.Err() == nil {
		d.board.Note(topicKernel, kernelwatch.Watch(ctx, kernelwatch.Filter{Route: func(netip.Prefix) bool { return true }}, d.changed.Fire))
		agent.Pause(ctx, retry, nil)
	}
}

// apply reconciles the node.
func (d *daemon) apply(context.Context) error {
	table, err := d.nodes()
	d.board.Note(topicNodes, err)
	if err != nil {
		return nil // the file is read again soon
	}
	forwarding := sysctl.Set(d.config.ProcSys, "net/ipv4/ip_forward", "1")
	d.board.Note(topicForwarding, forwarding)
	want := desired(table, d.Node)
	routes := applyRoutes(want)
	d.board.Note(topicRoutes, routes)
	if forwarding == nil && routes == nil {
		err = writeConfiguration(d.config)
		d.board.Note(topicCNI, err)
	}
	ready := d.board.View().Status.ready || !d.board.View().Problems.Has(topicForwarding, topicRoutes, topicCNI)
	next := status{ready: ready, self: table.Nodes[d.Node], peers: len(want)}
	d.board.Update(func(s *status) bool {
		before := *s
		*s = next
		return before != next
	})
	return errors.Join(forwarding, routes, err)
}

// nodes reads the table of nodes, which includes the node itself.
func (d *daemon) nodes() (agentconfig.Nodes, error) {
	data, err := os.ReadFile(d.config.NodesFile)
	if err != nil {
		return agentconfig.Nodes{}, fmt.Errorf("read the table of nodes: %w", err)
	}
	table, err := agentconfig.DecodeNodes(data)
	if err != nil {
		return agentconfig.Nodes{}, err
	}
	if !table.Nodes[d.Node].Block.IsValid() {
		return agentconfig.Nodes{}, errors.New("the operator has not given this node a block yet")
	}
	return table, nil
}

// writeConfiguration writes the CNI configuration, which makes the node ready for pods.
func writeConfiguration(config agentconfig.Config) error {
	type shim struct {
		Type   string `json:"type"`
		Socket string `json:"socket"`
	}
	list := cniconf.List{CNIVersion: "1.1.0", Name: networkName, Plugins: []any{shim{Type: "toy", Socket: config.Socket}}, MultiNetwork: config.MultiNetwork}
	data, err := list.Encode()
	if err != nil {
		return err
	}
	return cniFile(config).Write(data, config.BinDir, append(list.Programs(), "toy", "loopback")...)
}

func cniFile(config agentconfig.Config) cniconf.File {
	return cniconf.File{Dir: config.ConfDir, Name: confName}
}

// Remove removes the remains of the agent from the node. No agent may be running.
func Remove(_ context.Context, config agentconfig.Config) error {
	return errors.Join(cniFile(config).Remove(), applyRoutes(nil), removeLinks(), os.RemoveAll(config.StateDir), os.RemoveAll(filepath.Dir(config.Socket)))
}
