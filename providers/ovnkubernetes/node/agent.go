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
	"github.com/cluster-network-operator/cno/internal/fightevents"
	"github.com/cluster-network-operator/cno/internal/host/cniconf"
	"github.com/cluster-network-operator/cno/internal/host/kernelwatch"
	"github.com/cluster-network-operator/cno/internal/host/ovs"
	"github.com/cluster-network-operator/cno/internal/mtumigration"
	"github.com/cluster-network-operator/cno/providers/ovnkubernetes/agentconfig"
	"github.com/cluster-network-operator/cno/providers/ovnkubernetes/config"
	"github.com/cluster-network-operator/cno/providers/ovnkubernetes/node/daemon"
)

const (
	// resyncInterval is how often the node is compared with the desired state without a change. Tunnel packets are lost if ovs-vswitchd has not resolved the
	// next hop for 15 minutes.
	resyncInterval = 10 * time.Second
	debounce       = 20 * time.Millisecond
	retry          = time.Second

	networkName = "ovn-kubernetes"
	confName    = "10-ovn-kubernetes.conflist"
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
	topicFights     agent.Topic = "fights"
)

// Options is the configuration of Run. All fields are required.
type Options struct {
	agent.Process
	Config config.Config
	// Client reads nodes and pods, and creates events.
	Client kubernetes.Interface
}

// status is the agent's status in addition to problems.
type status struct {
	ready bool
	// managementMTU is the MTU state of the management port.
	managementMTU mtumigration.State
	// link is the interface index of the management port.
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
	// repairs records repaired changes of third parties.
	repairs *agent.Repairs
	// mtu is the desired MTU.
	mtu atomic.Pointer[mtumigration.State]
	// switchRestarted is when watchDaemon last noticed a restart of ovs-vswitchd; nil if it has not.
	switchRestarted atomic.Pointer[time.Time]
	// portChecked is when applyTunnelPort last found the correct port.
	portChecked time.Time
	// phase is the IPsec phase that blockCleartext has applied; nil before the first one.
	phase *agentconfig.Phase
}

// Run runs the agent until the context ends. Pods, ports and flows stay.
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
	if err := d.blockCleartext(ctx); err != nil {
		return err // no pod may start whose packets would leave unencrypted
	}
	mtu, err := readMTU(o.Config)
	if err != nil {
		return err
	}
	d.mtu.Store(&mtu)
	metrics := newMetrics(o.Version, d)
	d.repairs = agent.NewRepairs(time.Now, func(thing string) {
		o.Log.Warn("undone a change by a third party: " + thing)
		metrics.repairs.Inc()
	})
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
	group.Go(func() error { d.watchMTU(ctx); return nil })
	group.Go(func() error {
		fightevents.New(d.Client, d.Node, "ovnkube-node", d.Log).Run(ctx, d.repairs.Fights)
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

// apply reconciles the node. Each step reports its own problem; an error does not prevent independent steps.
func (d *daemonState) apply(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	blocks, err := d.objects.blocks()
	d.board.Note(topicNode, err)
	waiting := err
	apiErr := d.objects.problem()
	d.board.Note(topicAPI, apiErr)
	d.board.Note(topicFights, d.repairs.Problem())
	ipsecErr := d.blockCleartext(ctx)
	d.board.Note(topicIPsec, ipsecErr)
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
			before := s.managementMTU
			s.managementMTU = mtu
			return mtu != before
		})
	}
	collectors, exportErr := d.applyExport(ctx)
	d.board.Note(topicExport, exportErr)
	trafficErr := applyTraffic(ctx, d.withExport(desiredTraffic(d.Config.ClusterNetwork(), blocks), collectors))
	d.board.Note(topicTraffic, trafficErr)
	unconnected, tunnelErr := d.controllerProblem(), d.applyTunnelPort(ctx)
	d.board.Note(topicController, errors.Join(unconnected, tunnelErr))
	errs := errors.Join(ipsecErr, underlayErr, portsErr, managementErr, trafficErr, tunnelErr, exportErr)
	if errs == nil && unconnected == nil {
		err := writeConfiguration(d.Config)
		d.board.Note(topicCNI, err)
		errs = err
	}
	d.publish()
	return errs // not unconnected: ovn-controller's report is watched, and no back-off must delay what it leads to
}

// publish updates the status. An agent that was ready stays ready, since pods can still start or report their own errors.
func (d *daemonState) publish() {
	view := d.board.View()
	ready := view.Status.ready || !view.Problems.Has(topicNode, topicSwitch, topicUnderlay, topicManagement, topicTraffic, topicController, topicCNI)
	d.board.Update(func(s *status) bool {
		before := *s
		s.ready = ready
		return *s != before
	})
}

// controllerProblem returns an error until ovn-controller has connected the management port, which is the first port.
func (d *daemonState) controllerProblem() error {
	if i, exists := d.vswitch.Interface(managementPeer); exists && installed(i) {
		return nil
	}
	return fmt.Errorf("ovn-controller has not connected the management port to the logical switch yet; it needs the southbound database at %s, and the master the Node", d.Config.South)
}

// watchKernel triggers a reconcile when a third party changes interfaces or routes.
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

// stopWhenReplaced stops a watch when the management port's interface was replaced.
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

// writeConfiguration writes the CNI configuration, which makes the node ready for pods.
func writeConfiguration(c config.Config) error {
	type shim struct {
		Type   string `json:"type"`
		Socket string `json:"socket"`
	}
	list := cniconf.List{CNIVersion: "1.1.0", Name: networkName, Plugins: []any{
		shim{Type: agentconfig.Plugin, Socket: c.Directories.PluginSocket()}, cniconf.NewPortMap(),
	}, MultiNetwork: c.MultiNetwork}
	data, err := list.Encode()
	if err != nil {
		return err
	}
	return cniFile(c).Write(data, c.Directories.Plugins, append(list.Programs(), agentconfig.Plugin, "portmap", "loopback")...)
}

// attachments returns the directory with one file for each attachment.
func attachments(d config.Directories) string { return filepath.Join(d.State, "attachments") }

func cniFile(c config.Config) cniconf.File {
	return cniconf.File{Dir: c.Directories.PluginConf, Name: confName}
}
