package node

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"path/filepath"
	"slices"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"
	"k8s.io/client-go/kubernetes"

	"github.com/cluster-network-operator/cno/internal/agent"
	"github.com/cluster-network-operator/cno/internal/cniserver"
	"github.com/cluster-network-operator/cno/internal/host/cniconf"
	"github.com/cluster-network-operator/cno/internal/host/kernelwatch"
	"github.com/cluster-network-operator/cno/internal/host/ovs"
	"github.com/cluster-network-operator/cno/internal/mtumigration"
	"github.com/cluster-network-operator/cno/providers/ovnkubernetes/agentconfig"
	"github.com/cluster-network-operator/cno/providers/ovnkubernetes/config"
	"github.com/cluster-network-operator/cno/providers/ovnkubernetes/node/daemon"
)

const (
	// lookEvery is how often everything is compared with what is desired although nothing was reported. Tunnel packets are lost when
	// ovs-vswitchd does not know the next hop for 15 minutes.
	lookEvery = 10 * time.Second
	settle    = 20 * time.Millisecond
	retry     = time.Second

	networkName = "ovn-kubernetes"
	confName    = "10-ovn-kubernetes.conflist"
	plugin      = "ovn-k8s-cni-overlay"
)

const (
	topicNode       agent.Topic = "node"
	topicSwitch     agent.Topic = "openvswitch"
	topicUnderlay   agent.Topic = "underlay"
	topicManagement agent.Topic = "management-port"
	topicTraffic    agent.Topic = "masquerade"
	topicController agent.Topic = "ovn-controller"
	topicPorts      agent.Topic = "ports"
	topicExport     agent.Topic = "network-flows"
	topicCNI        agent.Topic = "cni"
	topicIPsec      agent.Topic = "ipsec"
	topicKernel     agent.Topic = "kernel"
	topicAPI        agent.Topic = "api"
)

// Options are what Run needs. All fields must be set.
type Options struct {
	agent.Process
	Config config.Config
	// Client reads nodes and pods, and creates events.
	Client kubernetes.Interface
}

// status is what the agent reports besides its problems.
type status struct {
	ready bool
	// managed is what the management port has of the MTU.
	managed mtumigration.State
	// link is the index of the management port's interface.
	link int
}

// daemonState is the running agent.
type daemonState struct {
	Options
	underlay  ovs.Underlay
	userspace bool
	place     ovs.Place
	vswitch   *ovs.Database
	objects   *objects
	server    *cniserver.Server
	board     *agent.Board[status]
	beat      agent.Beat
	changed   agent.Trigger
	// mtu is what the node is to have of the MTU.
	mtu atomic.Pointer[mtumigration.State]
	// switchRestarted is when watchDaemon has last seen that ovs-vswitchd was started again; nil before that.
	switchRestarted atomic.Pointer[time.Time]
	// portChecked is when applyTunnelPort has last found the right port.
	portChecked time.Time
	// phase is the phase of IPsec that guard has seen last; nil before that.
	phase *agentconfig.Phase
}

// Run is the agent. It ends with the context, and leaves pods, ports and flows as they are.
func Run(ctx context.Context, o Options) error {
	if err := o.Config.CheckNode(); err != nil {
		return err
	}
	underlay, userspace, err := daemon.Underlay(o.Config)
	if err != nil {
		return err
	}
	d := &daemonState{
		Options: o, underlay: underlay, userspace: userspace, board: agent.NewBoard(status{}, o.Log), changed: agent.NewTrigger(),
	}
	if userspace {
		d.place = ovs.Place{Path: underlay.Path()}
	}
	if err := d.guard(ctx); err != nil {
		return err // no pod starts whose packets would leave in the clear
	}
	mtu, err := readMTU(o.Config)
	if err != nil {
		return err
	}
	d.mtu.Store(&mtu)
	metrics := newMetrics(o.Version, d)
	d.vswitch = newSwitch(o.Config.Directories.SwitchSocket(), d.changed.Fire, func(err error) {
		metrics.reconnects.Inc()
		d.board.Note(topicSwitch, err)
	})
	d.objects = newObjects(o.Client, o.Node, d.changed.Fire)
	listener, err := cniserver.Listen(o.Config.Directories.PluginSocket())
	if err != nil {
		return err
	}
	events, err := cniserver.NewEvents(ctx, o.Client, "ovnkube-node")
	if err != nil {
		return errors.Join(err, listener.Close())
	}
	d.server = &cniserver.Server{
		Handler: &pods{
			ready:   func() (bool, <-chan struct{}) { v, changed := d.board.Get(); return v.Status.ready, changed },
			objects: d.objects, vswitch: d.vswitch, place: d.place, userspace: userspace,
			mtu: func() mtumigration.State { return *d.mtu.Load() }, events: events,
		},
		Dir: attachments(o.Config.Directories), Log: o.Log, Metrics: metrics, Failed: events.Failed,
	}
	health := agent.Health{
		Ready:   func() (bool, agent.Problems) { v := d.board.View(); return v.Status.ready, v.Problems },
		Metrics: metrics, Beat: &d.beat, Now: time.Now,
	}
	return d.work(ctx, listener, health)
}

// work runs the parts of the agent until the context ends or one of them fails.
func (d *daemonState) work(ctx context.Context, listener *net.UnixListener, health agent.Health) error {
	group, ctx := errgroup.WithContext(ctx)
	group.Go(func() error { return health.Serve(ctx, cmp.Or(d.Config.Health, agentconfig.HealthNode)) })
	group.Go(func() error { d.vswitch.Run(ctx); return nil })
	group.Go(func() error { d.objects.run(ctx); return nil })
	group.Go(func() error { d.watchDaemon(ctx); return nil })
	group.Go(func() error { d.watchKernel(ctx); return nil })
	group.Go(func() error { d.followMTU(ctx); return nil })
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

// apply makes the node as it should be. Each step reports its own problem; steps that do not need one another are all tried.
func (d *daemonState) apply(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	blocks, err := d.objects.blocks()
	d.board.Note(topicNode, err)
	waiting := err
	apiErr := d.objects.problem()
	d.board.Note(topicAPI, apiErr)
	guardErr := d.guard(ctx)
	d.board.Note(topicIPsec, guardErr)
	switchErr := d.configureSwitch(ctx)
	d.board.Note(topicSwitch, switchErr)
	if switchErr != nil {
		return switchErr
	}
	underlayErr := d.connectUnderlay(ctx)
	d.board.Note(topicUnderlay, underlayErr)
	portsErr := errors.Join(d.prune(ctx), d.restore(ctx))
	d.board.Note(topicPorts, portsErr)
	if waiting != nil {
		return errors.Join(underlayErr, portsErr) // the Node is watched
	}
	mtu := *d.mtu.Load()
	managementErr := d.applyManagement(ctx, blocks, mtu)
	if d.board.Note(topicManagement, managementErr); managementErr == nil {
		d.board.Update(func(s *status) bool {
			before := s.managed
			s.managed = mtu
			return mtu != before
		})
	}
	collectors, exportErr := d.applyExport(ctx)
	d.board.Note(topicExport, exportErr)
	trafficErr := applyTraffic(ctx, d.withExport(desiredTraffic(d.Config.ClusterNetwork(), blocks), collectors))
	d.board.Note(topicTraffic, trafficErr)
	controllerErr := errors.Join(d.controllerProblem(), d.applyTunnelPort(ctx))
	d.board.Note(topicController, controllerErr)
	errs := errors.Join(guardErr, underlayErr, portsErr, managementErr, trafficErr, controllerErr, exportErr)
	if errs == nil {
		err := writeConfiguration(d.Config)
		d.board.Note(topicCNI, err)
		errs = err
	}
	d.publish()
	return errs
}

// publish updates the status. An agent that was ready stays so: its pods can be started, or say themselves why not.
func (d *daemonState) publish() {
	view := d.board.View()
	ready := view.Status.ready || !view.Problems.Has(topicNode, topicSwitch, topicUnderlay, topicManagement, topicTraffic, topicController, topicCNI)
	d.board.Update(func(s *status) bool {
		before := *s
		s.ready = ready
		return *s != before
	})
}

// controllerProblem is that ovn-controller has not connected the management port, which is the first port that it gets.
func (d *daemonState) controllerProblem() error {
	if i, exists := d.vswitch.Interface(managementPeer); exists && installed(i) {
		return nil
	}
	return fmt.Errorf("ovn-controller has not connected the management port to the logical switch yet; it needs the southbound database at %s, and the master the Node", d.Config.South)
}

// watchKernel has interfaces and routes repaired as soon as a third party changes them.
func (d *daemonState) watchKernel(ctx context.Context) {
	destinations := slices.Concat(d.Config.ClusterNetwork(), d.Config.Services)
	for ctx.Err() == nil {
		link := d.board.View().Status.link
		watching, stop := context.WithCancel(ctx)
		go d.stopWhenReplaced(watching, link, stop)
		err := kernelwatch.Watch(watching, kernelwatch.Filter{
			Links: []int{link}, Route: func(p netip.Prefix) bool { return slices.Contains(destinations, p) },
		}, d.changed.Fire)
		stop()
		d.board.Note(topicKernel, err)
		if err != nil {
			agent.Pause(ctx, retry, nil)
		}
	}
}

// stopWhenReplaced stops a watch when the management port's interface is another one than it watches.
func (d *daemonState) stopWhenReplaced(ctx context.Context, link int, stop func()) {
	defer stop()
	for ctx.Err() == nil {
		view, changed := d.board.Get()
		if view.Status.link != link {
			return
		}
		agent.Wait(ctx, changed, nil, nil)
	}
}

// writeConfiguration writes the CNI configuration, with which the node counts as ready for pods.
func writeConfiguration(c config.Config) error {
	type shim struct {
		Type   string `json:"type"`
		Socket string `json:"socket"`
	}
	list := cniconf.List{CNIVersion: "1.1.0", Name: networkName, Plugins: []any{
		shim{Type: plugin, Socket: c.Directories.PluginSocket()}, cniconf.NewPortMap(),
	}, MultiNetwork: c.MultiNetwork}
	data, err := list.Encode()
	if err != nil {
		return err
	}
	return cniFile(c).Write(data, c.Directories.Plugins, append(list.Programs(), plugin, "portmap", "loopback")...)
}

// attachments is the directory with a file for each attachment.
func attachments(d config.Directories) string { return filepath.Join(d.State, "attachments") }

func cniFile(c config.Config) cniconf.File {
	return cniconf.File{Dir: c.Directories.PluginConf, Name: confName}
}
