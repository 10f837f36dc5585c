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
	// lookEvery is how often everything is compared with what is desired although nothing was reported.
	lookEvery = 5 * time.Second
	settle    = 20 * time.Millisecond
	// sweepEvery is how often attachments are looked for whose network namespace is gone: their DEL was lost.
	sweepEvery = time.Minute
	component  = "openshift-sdn-node"
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
)

// Options are what Run needs. All fields must be set.
type Options struct {
	agent.Process
	Config agentconfig.Config
	// API reads the objects of the network, and creates events.
	API *rest.Config
}

// status is what the agent reports besides its problems.
type status struct {
	// ready is true once pods can be started, migrated once the node has done the step of a change of the MTU that the configuration has.
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
	egress    egress
	// unidler is nil if idled Services are not woken.
	unidler *unidler
	// outside is nil in mode Subnet, which restricts nothing.
	outside *tableKeeper
	// lifetime ends with the agent.
	lifetime context.Context
	board    *agent.Board[status]
	beat     agent.Beat
	// changed is fired when the node may have changed, reflow when flows may have to.
	changed, reflow agent.Trigger
	// link is the index of tun0.
	link  atomic.Int64
	rules keptTable
	swept time.Time

	// mu serializes the computation of flows.
	mu    sync.Mutex
	known map[string]uint32
	// claims and nodes are those with which flows were computed last.
	claims []egressip.Claim
	nodes  []netip.Addr
	// flowsErr is why the last flows were not applied.
	flowsErr atomic.Pointer[error]
	// settled is true once all is known on which the first flows of this process depend, programmed once they are applied.
	settled    atomic.Bool
	programmed atomic.Bool
}

// Run is the agent. It ends with the context, and leaves pods, ports and flows as they are.
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
		Options: o, underlay: underlay, userspace: userspace, board: agent.NewBoard(status{}, o.Log), changed: agent.NewTrigger(), reflow: agent.NewTrigger(),
		addresses: newAddresses(o.Config.AddressDir, agentconfig.Plugin, o.Node, time.Now),
	}
	if userspace {
		d.place = ovs.Place{Path: underlay.Path()}
	}
	d.names, d.lifetime = newNames(askNode, d.reflow.Fire), ctx
	d.monitor, d.egress.changed = tunnelprobe.New(nil, d.reflow.Fire), agent.NewTrigger()
	if o.Config.EnableUnidling {
		d.unidler = newUnidler(client, o.Node, o.Log, func(err error) { d.board.Note(topicIdling, err) }, func() { d.repairedTable(idleTable) })
	}
	if o.Config.Mode != agentconfig.Subnet {
		d.outside = newTableKeeper(func() { d.repairedTable(outsideTable) }, func(err error) { d.board.Note(topicOutside, err) })
	}
	d.metrics = newMetrics(o.Version, d)
	d.vswitch = ovs.NewDatabase(switchSocket(o.Config), d.databaseChanged, func(err error) { d.board.Note(topicSwitch, err) })
	d.keeper = &flows.Keeper{Bridge: flows.Bridge{Name: agentconfig.Bridge, RunDir: o.Config.SwitchRunDir}, Resync: lookEvery, MatchFragments: true, Applied: d.applied}
	if d.objects, err = newObjects(o.API, client, o.Node, o.Config.Mode, d.reflow.Fire); err != nil {
		return err
	}
	if err := d.load(); err != nil {
		o.Log.Warn("what an earlier process kept is not used", "error", err)
	}
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
		Metrics: d.metrics, Beat: &d.beat, Now: time.Now, Further: map[string]http.HandlerFunc{agentconfig.ComparePath: d.serveComparison},
	}
	group, ctx := errgroup.WithContext(ctx)
	group.Go(func() error { return health.Serve(ctx, d.Config.NodeHealthAddress) })
	for _, f := range []func(context.Context){d.vswitch.Run, d.objects.run, d.keeper.Run, d.watchDaemon, d.watchKernel, d.programAgain, d.keepEgressIPs, d.watchEgressLink} {
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
		// What an earlier process left can only be removed with a connection to Open vSwitch.
		if !d.vswitch.Synced(ctx) {
			return listener.Close()
		}
		return d.server.Serve(ctx, listener)
	})
	group.Go(func() error {
		agent.Keeper{Apply: d.apply, Every: lookEvery, Settle: settle, Changed: d.changed, Now: time.Now, Beat: &d.beat}.Run(ctx)
		return nil
	})
	return group.Wait()
}

// databaseChanged has the flows follow pods' ports, and the node everything else.
func (d *daemon) databaseChanged(changes []ovsdb.Change) {
	d.reflow.Fire()
	if slices.ContainsFunc(changes, func(c ovsdb.Change) bool {
		return c.Table != "Interface" || c.New == nil || !strings.HasPrefix(c.New.Text("name"), linkPrefix)
	}) {
		d.changed.Fire()
	}
}

// apply makes the node as it should be. Each step reports its own problem; steps that do not need one another are all tried.
func (d *daemon) apply(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	d.board.Note(topicAPI, d.objects.problem())
	switchErr := d.configureSwitch(ctx)
	d.board.Note(topicSwitch, switchErr)
	own, err := ownSubnet(snapshot{Node: d.Node, HostSubnets: list[*sdnv1.HostSubnet](d.objects.hostSubnets)})
	d.board.Note(topicNode, err)
	switch {
	case switchErr != nil:
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
		pods = append(pods, l.Address)
	}
	rulesErr := d.applyRules(ctx, desiredRules(d.Config, own.subnet, pods))
	d.board.Note(topicRules, rulesErr)
	d.reflow.Fire()
	errs := errors.Join(underlayErr, portErr, portsErr, rulesErr)
	if errs == nil && d.programmed.Load() {
		errs = d.writeConfiguration()
		d.board.Note(topicCNI, errs)
	}
	d.publish(own.subnet, d.migrated(portErr, mtuErr))
	return errors.Join(errs, mtuErr)
}

// publish updates the status. An agent that was ready stays so: its pods can be started, or say themselves why not. Only a link that is too
// short for pods keeps new ones from starting.
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

// sweep removes what belongs to sandboxes that are gone, at times.
func (d *daemon) sweep(ctx context.Context) error {
	if time.Since(d.swept) < sweepEvery || !d.server.Serving() {
		return nil
	}
	d.swept = time.Now()
	d.server.Sweep(ctx)
	// An ADD makes its record before it gets its address: who has an address now and no record afterwards is gone.
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

// writeConfiguration writes the CNI configuration, with which the node counts as ready for pods, and removes the one of older releases.
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

// applied notes what became of flows.
func (d *daemon) applied(set openflow.Set, err error) {
	if err != nil {
		d.flowsErr.Store(&err)
		d.metrics.operations.WithLabelValues("failure").Inc()
		d.board.Note(topicFlows, err)
		return
	}
	d.flowsErr.Store(nil)
	d.metrics.operations.WithLabelValues("success").Inc()
	d.metrics.flows.Store(int64(set.Len()))
	d.board.Note(topicFlows, nil)
	d.save(set)
	if d.settled.Load() && !d.programmed.Swap(true) {
		d.changed.Fire()
	}
}

// flowsProblem is why the last flows were not applied.
func (d *daemon) flowsProblem() error {
	if err := d.flowsErr.Load(); err != nil {
		return *err
	}
	return nil
}
