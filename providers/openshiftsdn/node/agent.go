package node

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/knftables"

	sdnv1 "github.com/cluster-network-operator/cno/api/sdn/v1"
	"github.com/cluster-network-operator/cno/internal/agent"
	"github.com/cluster-network-operator/cno/internal/cniserver"
	"github.com/cluster-network-operator/cno/internal/fightevents"
	"github.com/cluster-network-operator/cno/internal/host/flows"
	"github.com/cluster-network-operator/cno/internal/host/ovs"
	"github.com/cluster-network-operator/cno/internal/host/ovsdb"
	"github.com/cluster-network-operator/cno/internal/objectevents"
	"github.com/cluster-network-operator/cno/internal/openflow"
	"github.com/cluster-network-operator/cno/providers/openshiftsdn/agentconfig"
	"github.com/cluster-network-operator/cno/providers/openshiftsdn/egressip"
	"github.com/cluster-network-operator/cno/providers/openshiftsdn/tunnelprobe"
)

const (
	// resyncInterval is how often the node is compared with the desired state without a change.
	resyncInterval = 5 * time.Second
	debounce       = 20 * time.Millisecond
	// sweepInterval is how often attachments without a network namespace are searched: their DEL was lost.
	sweepInterval = time.Minute
	component     = "openshift-sdn-node"
)

const (
	topicNode     agent.Topic = "node"
	topicSwitch   agent.Topic = "openvswitch"
	topicUnderlay agent.Topic = "underlay"
	topicNodePort agent.Topic = "node-port"
	topicRules    agent.Topic = "rules"
	topicFlows    agent.Topic = "flows"
	topicObjects  agent.Topic = "objects"
	topicPorts    agent.Topic = "ports"
	topicCNI      agent.Topic = "cni"
	topicKernel   agent.Topic = "kernel"
	topicAPI      agent.Topic = "api"
	topicEgress   agent.Topic = "egress-ips"
	topicFights   agent.Topic = "fights"
)

// Options is the configuration of Run. All fields are required.
type Options struct {
	agent.Process
	Config agentconfig.Config
	// API is the configuration of the client that reads objects and creates events.
	API *rest.Config
}

// status is the agent's status in addition to problems.
type status struct {
	// ready is true once pods can be started. migrated is true once the node has completed the configured step of an MTU migration.
	ready, migrated bool
	block           netip.Prefix
}

// daemon is the running agent.
type daemon struct {
	Options
	underlay  ovs.Underlay
	userspace bool
	place     ovs.Place
	vswitch   *ovs.Database
	keeper    *flows.Keeper
	objects   *objects
	addresses *addresses
	server    *cniserver.Server
	events    *cniserver.Events
	metrics   *metrics
	names     *names
	monitor   *tunnelprobe.Monitor
	reporter  *objectevents.Reporter
	fights    *fightevents.Reporter
	egress    egress
	// unidler is nil if unidling is disabled.
	unidler *unidler
	// outside is nil in mode Subnet, which restricts nothing.
	outside *tableController
	// lifetime ends with the agent.
	lifetime context.Context
	board    *agent.Board[status]
	beat     agent.Beat
	// changed is fired when the node may have changed, reprogram when flows may have changed.
	changed, reprogram agent.Trigger
	// link is the interface index of tun0.
	link  atomic.Int64
	rules managedTable
	// translation is the table for tunnel packets.
	translation managedTable
	swept       time.Time
	// repairs records repaired changes of third parties. bridges counts how often bridge br0 was created.
	repairs *agent.Repairs
	bridges int

	// programs computes the flows, and vnids the VNIDs of namespaces, once for the pods that start at the same time.
	programs agent.Latest[<-chan struct{}]
	vnids    agent.Latest[map[string]uint32]
	// mu serializes the computation of flows.
	mu    sync.Mutex
	known map[string]uint32
	// claims and nodes are the input of the last computation of flows.
	claims []egressip.Claim
	nodes  []netip.Addr
	// refused are the flows that Open vSwitch refuses.
	refused refusedFlows
	// saved is the text of the flows in the flows file; empty if unknown. Only the keeper's goroutine uses it.
	saved string
	// noted are the last applied flows, for noteLoop.
	noted *agent.Cell[openflow.Set]
	// flowsErr is the error of the last application of flows.
	flowsErr atomic.Pointer[error]
	// inputsReady is true once all inputs of this process' first flows are known. programmed is true once those flows are applied.
	inputsReady atomic.Bool
	programmed  atomic.Bool
}

// Run runs the agent until the context ends. Pods, ports and flows stay.
func Run(ctx context.Context, o Options) error {
	underlay, userspace, err := underlayOf(o.Config)
	if err != nil {
		return err
	}
	client, err := kubernetes.NewForConfig(o.API)
	if err != nil {
		return fmt.Errorf("configure the client of the Kubernetes API: %w", err)
	}
	d := &daemon{
		Options: o, underlay: underlay, userspace: userspace, board: agent.NewBoard(status{}, o.Log), changed: agent.NewTrigger(), reprogram: agent.NewTrigger(),
		addresses: newAddresses(o.Config.AddressDir, o.Node, time.Now), noted: agent.NewCell(openflow.Set{}),
	}
	d.programs.Read, d.vnids.Read = d.computeProgram, d.computeVNIDs
	if userspace {
		d.place = ovs.Place{Path: underlay.Path()}
	}
	d.repairs = agent.NewRepairs(time.Now, d.repaired)
	d.names, d.lifetime = newNames(queryNode, d.reprogram.Fire), ctx
	d.monitor, d.egress.changed = tunnelprobe.New(nil, d.reprogram.Fire), agent.NewTrigger()
	if o.Config.EnableUnidling {
		d.unidler = newUnidler(client, o.Node, o.Log, func(err error) { d.board.Note(topicIdling, err) }, d.repairs.Made)
	}
	if o.Config.Mode != agentconfig.Subnet {
		d.outside = newTableController(d.repairs.Made, func(err error) { d.board.Note(topicOutside, err) }, func(closed map[string]string) {
			var problems []objectevents.Problem
			if len(closed) > 0 {
				problems = closedProblems(d.snapshot(), closed)
			}
			d.reporter.Report(topicOutside, problems)
		})
	}
	d.metrics = newMetrics(o.Version, d)
	d.vswitch = ovs.NewDatabase(switchSocket(o.Config), d.databaseChanged, func(err error) { d.board.Note(topicSwitch, err) })
	d.keeper = &flows.Keeper{Bridge: flows.Bridge{Name: agentconfig.Bridge, RunDir: o.Config.SwitchRunDir}, Resync: resyncInterval, MatchFragments: true, Applying: d.saveFlows, Applied: d.applied,
		Restored: func() { d.repairs.Made("the flows of bridge " + agentconfig.Bridge) }}
	if d.objects, err = newObjects(o.API, client, o.Node, o.Config.Mode, d.reprogram.Fire); err != nil {
		return err
	}
	d.metrics.silence(d.watches())
	if err := d.load(); err != nil {
		o.Log.Warn("the state of an earlier process is ignored", "error", err)
	}
	d.fights = fightevents.New(client, o.Node, component, o.Log)
	if d.events, err = cniserver.NewEvents(ctx, client, component); err != nil {
		return err
	}
	kinds := runtime.NewScheme()
	if err := errors.Join(scheme.AddToScheme(kinds), sdnv1.AddToScheme(kinds)); err != nil {
		return fmt.Errorf("register types: %w", err)
	}
	if d.reporter, err = objectevents.New(ctx, client, kinds, component, o.Log); err != nil {
		return err
	}
	return d.run(ctx)
}

func (d *daemon) run(ctx context.Context) error {
	listener, err := cniserver.Listen(d.Config.CNI.Socket)
	if err != nil {
		return err
	}
	d.server = &cniserver.Server{Handler: d, Dir: attachments(d.Config), Log: d.Log, Metrics: d.metrics, Failed: d.events.Failed}
	health := agent.Health{
		Ready: func() (bool, agent.Problems) {
			v := d.board.View()
			return v.Status.ready && v.Status.migrated, v.Problems
		},
		Metrics: d.metrics, Beat: &d.beat, Now: time.Now, Handlers: map[string]http.HandlerFunc{agentconfig.ComparePath: d.serveComparison},
	}
	group, ctx := errgroup.WithContext(ctx)
	group.Go(func() error { return health.Serve(ctx, d.Config.NodeHealthAddress) })
	for _, f := range []func(context.Context){d.vswitch.Run, d.objects.run, d.keeper.Run, d.watchDaemon, d.watchKernel, d.programLoop, d.noteLoop, d.keepEgressIPs, d.watchEgressLink, func(ctx context.Context) { d.fights.Run(ctx, d.repairs.Fights) }} {
		group.Go(func() error { f(ctx); return nil })
	}
	if d.outside != nil {
		group.Go(func() error { d.outside.run(ctx); return nil })
	}
	group.Go(func() error {
		if d.unidler == nil {
			d.board.Note(topicIdling, removeTable(ctx, knftables.IPv4Family, idleTable))
			return nil
		}
		d.unidler.run(ctx)
		return nil
	})
	group.Go(func() error {
		// Removing the remains of an earlier process needs a connection to Open vSwitch.
		if !d.vswitch.Synced(ctx) {
			return listener.Close()
		}
		return d.server.Serve(ctx, listener)
	})
	group.Go(func() error {
		agent.Loop{Apply: d.apply, Interval: resyncInterval, Debounce: debounce, Changed: d.changed, Now: time.Now, Beat: &d.beat}.Run(ctx)
		return nil
	})
	return group.Wait()
}

// databaseChanged triggers the flows after every change, and the node after changes other than those of pods' ports.
func (d *daemon) databaseChanged(changes []ovsdb.Change) {
	d.reprogram.Fire()
	if slices.ContainsFunc(changes, func(c ovsdb.Change) bool {
		return c.Table != "Interface" || c.New == nil || !strings.HasPrefix(c.New.Text("name"), linkPrefix)
	}) {
		d.changed.Fire()
	}
}

// apply reconciles the node. Each step reports its own problem; an error does not prevent independent steps.
func (d *daemon) apply(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	d.board.Note(topicAPI, d.objects.problem())
	d.board.Note(topicFights, d.repairs.Problem())
	switchErr := d.configureSwitch(ctx)
	d.board.Note(topicSwitch, switchErr)
	own, err := ownSubnet(snapshot{Node: d.Node, Config: d.Config, HostSubnets: list[*sdnv1.HostSubnet](d.objects.hostSubnets)})
	d.board.Note(topicNode, err)
	switch {
	case switchErr != nil:
		d.unready()
		return switchErr
	case err != nil: // HostSubnets are watched
		underlayErr := d.resumeUnderlay(ctx)
		d.board.Note(topicUnderlay, underlayErr)
		return underlayErr
	}
	underlayErr := d.connectUnderlay(ctx, own.address)
	d.board.Note(topicUnderlay, underlayErr)
	portErr := d.applyNodePort(ctx, own.subnet)
	d.board.Note(topicNodePort, portErr)
	d.egress.changed.Fire()
	portsErr := errors.Join(d.sweep(ctx), d.prune(ctx), d.restore(ctx, own.subnet))
	d.board.Note(topicPorts, portsErr)
	mtuErr := d.migratePods(ctx)
	d.board.Note(topicMTU, mtuErr)
	var pods []netip.Addr
	for _, l := range d.locals() {
		if own.subnet.Contains(l.Address) {
			pods = append(pods, l.Address)
		}
	}
	rulesErr := d.applyRules(ctx, desiredRules(d.Config, own.subnet, pods))
	d.board.Note(topicRules, rulesErr)
	d.reprogram.Fire()
	errs := errors.Join(underlayErr, portErr, portsErr, rulesErr)
	if errs == nil && d.programmed.Load() {
		errs = d.writeConfiguration()
		d.board.Note(topicCNI, errs)
	}
	d.publish(own.subnet, d.migrated(portErr, mtuErr))
	return errors.Join(errs, mtuErr)
}

// unready makes the agent unready until the next publish: without Open vSwitch no pod can start.
func (d *daemon) unready() {
	d.board.Update(func(s *status) bool {
		before := s.ready
		s.ready = false
		return before
	})
}

// publish updates the status. An agent that was ready stays ready, since pods can still start or report their own errors. Only an MTU problem of the underlay
// makes it unready.
func (d *daemon) publish(block netip.Prefix, migrated bool) {
	view := d.board.View()
	blocked := view.Problems.Has(topicUnderlay)
	ready := !blocked && d.programmed.Load() && (view.Status.ready || !view.Problems.Has(topicNode, topicSwitch, topicNodePort, topicRules, topicFlows, topicCNI))
	d.board.Update(func(s *status) bool {
		before := *s
		s.ready, s.migrated, s.block = ready, migrated, block
		return *s != before
	})
}

// sweep releases the resources of sandboxes that no longer exist, at most once per sweepInterval.
func (d *daemon) sweep(ctx context.Context) error {
	if time.Since(d.swept) < sweepInterval || !d.server.Serving() {
		return nil
	}
	d.swept = time.Now()
	d.server.Sweep(ctx)
	// An ADD writes its record before it allocates an address. A sandbox that has an address in this list and no record afterwards no longer exists.
	given, err := d.addresses.list()
	if err != nil {
		return err
	}
	owners := map[string]bool{}
	for _, owner := range given {
		owners[owner[0]] = true
	}
	known, err := d.server.Containers()
	if err != nil {
		return err
	}
	return d.addresses.releaseAll(func(id, _ string) bool { return owners[id] && !known[id] })
}

// repaired logs the repair of a change by a third party.
func (d *daemon) repaired(thing string) {
	d.Log.Warn("undone a change by a third party: " + thing)
	d.metrics.repairs.Inc()
}

// writeConfiguration writes the CNI configuration, which makes the node ready for pods, and removes the configuration of older releases.
func (d *daemon) writeConfiguration() error {
	data, programs, err := configurationList(d.Config)
	if err != nil {
		return err
	}
	if err := cniFile(d.Config).Write(data, d.Config.CNI.BinDir, programs...); err != nil {
		return err
	}
	if err := os.Remove(filepath.Join(d.Config.CNI.ConfDir, oldConfiguration)); err != nil && !errors.Is(err, os.ErrNotExist) {
		return fmt.Errorf("remove the CNI configuration of an older release: %w", err)
	}
	return nil
}

// applied records the result of applying flows.
func (d *daemon) applied(set openflow.Set, err error) {
	if err != nil {
		if d.refused.record(set, err) {
			d.reprogram.Fire()
		}
		d.flowsErr.Store(&err)
		d.metrics.operations.WithLabelValues("failure").Inc()
		d.board.Note(topicFlows, err)
		return
	}
	d.flowsErr.Store(nil)
	d.metrics.operations.WithLabelValues("success").Inc()
	d.metrics.flows.Store(int64(set.Len()))
	d.board.Note(topicFlows, nil)
	d.noted.Update(func(s *openflow.Set) bool { *s = set; return true })
	if d.inputsReady.Load() && !d.programmed.Swap(true) {
		d.changed.Fire()
	}
}

// flowsProblem returns the error of the last application of flows.
func (d *daemon) flowsProblem() error {
	if err := d.flowsErr.Load(); err != nil {
		return *err
	}
	return nil
}
