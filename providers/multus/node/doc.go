// Package node is the node daemon for additional networks. It serves multus-shim (package multinet/attach): it returns the complete plan of a pod's networks,
// and afterwards writes the attached networks into the pod's annotation. It runs no plugins, needs no capabilities and stores nothing on disk, so that it may
// end at any time.
package node

import (
	"context"
	"errors"
	"fmt"
	"time"

	"golang.org/x/sync/errgroup"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/cluster-network-operator/cno/internal/agent"
	"github.com/cluster-network-operator/cno/internal/cniserver"
	"github.com/cluster-network-operator/cno/internal/multinet/attach"
	"github.com/cluster-network-operator/cno/internal/multinet/whereabouts/ipam"
	"github.com/cluster-network-operator/cno/internal/multinet/wire"
	"github.com/cluster-network-operator/cno/internal/phrase"
	"github.com/cluster-network-operator/cno/providers/multus/agentconfig"
)

const (
	// resyncInterval is how often missing statuses are searched without a change of pods.
	resyncInterval = 10 * time.Second
	debounce       = 200 * time.Millisecond
	// addressConcurrency is the number of concurrent address requests: they wait for the API server, and those for one pool share writes.
	addressConcurrency = 64
)

// maxDamagedNamed is the maximum number of files of damaged records that a problem names.
const maxDamagedNamed = 4

const (
	topicAPI    agent.Topic = "api"
	topicStatus agent.Topic = "status"
	topicReport agent.Topic = "report"
	topicRecord agent.Topic = "records"
)

// Options is the configuration of Run. All fields are required.
type Options struct {
	agent.Process
	// Pod is the name of the daemon's pod, whose annotation has the report about the node.
	Pod    string
	Config agentconfig.Config
	Client kubernetes.Interface
	// Definitions reads NetworkAttachmentDefinitions.
	Definitions dynamic.Interface
	// Addresses reads address pools without a cache, and writes them.
	Addresses client.Client
	// Interfaces returns the interfaces of the node. Devices returns the devices that the kubelet has allocated to a pod, by resource.
	Interfaces func() (Interfaces, error)
	Devices    func(context.Context, wire.Pod) (map[string][]string, error)
}

// status is the daemon's status in addition to problems.
type status struct {
	// ready is true once definitions have been read.
	ready bool
	// wrapped is true once runtimes use the shim for pods of a third party's network.
	wrapped bool
}

// daemon is the running daemon.
type daemon struct {
	Options
	objects *objects
	events  *events
	metrics *metrics
	saved   func() ([]attach.Saved, error)
	board   *agent.Board[status]
	beat    agent.Beat
	changed agent.Trigger
	// reported is the last report about the node, reportedAt the time when it was written.
	reported   string
	reportedAt time.Time
	// bypassed are the pods reported as started without the shim.
	bypassed map[types.UID]bool
}

// Run runs the daemon until the context ends. Running pods keep their networks.
func Run(ctx context.Context, o Options) error {
	if o.Node == "" || o.Pod == "" {
		return errors.New("the names of the node and of the pod are not known: set the environment variables NODE_NAME and POD_NAME")
	}
	o.Interfaces = (&agent.Latest[Interfaces]{Read: o.Interfaces}).Get
	d := &daemon{Options: o, board: agent.NewBoard(status{}, o.Log), changed: agent.NewTrigger()}
	d.saved = func() ([]attach.Saved, error) { return attach.ReadSaved(o.Config.StateDir) }
	d.metrics = newMetrics(o.Version, d)
	d.objects = newObjects(o.Client, o.Definitions, o.Node, d.changed.Fire)
	d.metrics.observe(d.objects)
	listener, err := cniserver.Listen(o.Config.Socket)
	if err != nil {
		return err
	}
	addressListener, err := cniserver.Listen(o.Config.WhereaboutsSocket)
	if err != nil {
		return errors.Join(err, listener.Close())
	}
	if d.events, err = newEvents(ctx, o.Client); err != nil {
		return errors.Join(err, listener.Close(), addressListener.Close())
	}
	health := agent.Health{
		Ready: func() (bool, agent.Problems) {
			v := d.board.View()
			return v.Status.ready && (v.Status.wrapped || !o.Config.WrapNetwork), v.Problems
		},
		Metrics: d.metrics, Beat: &d.beat, Now: time.Now,
	}
	group, ctx := errgroup.WithContext(ctx)
	group.Go(func() error { return health.Serve(ctx, o.Config.HealthAddress) })
	group.Go(func() error { keepSmall(ctx, o.Log); return nil })
	group.Go(func() error { d.objects.run(ctx); return nil })
	if o.Config.WrapNetwork {
		group.Go(func() error { d.maintainWrapper(ctx); return nil })
	}
	group.Go(func() error { return server{d.do, d.metrics, o.Log}.serve(ctx, listener) })
	group.Go(func() error { return d.addresses().Serve(ctx, addressListener) })
	group.Go(func() error {
		agent.Loop{Apply: d.apply, Interval: resyncInterval, Debounce: debounce, Changed: d.changed, Now: time.Now, Beat: &d.beat}.Run(ctx)
		return nil
	})
	return group.Wait()
}

// addresses returns the server of the IPAM plugin whereabouts.
func (d *daemon) addresses() *cniserver.Server {
	return &cniserver.Server{
		Handler: ipam.New(ipam.Options{
			Client: d.Addresses, Namespace: d.Config.Namespace, Node: d.Node, Log: d.Log,
			Event: func(pod cniserver.Pod, reason, message string) { d.events.warn(wire.Pod(pod), reason, message) },
		}),
		Dir: d.Config.AddressDir, Log: d.Log, Concurrency: addressConcurrency,
	}
}

// apply writes missing statuses, and the report about the node.
func (d *daemon) apply(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	api := d.objects.problem()
	d.board.Note(topicAPI, api)
	d.board.Update(func(s *status) bool {
		before := *s
		s.ready = s.ready || d.objects.synced()
		return *s != before
	})
	err := d.writeMissing(ctx)
	d.board.Note(topicStatus, err)
	reported := d.reportNode(ctx)
	d.board.Note(topicReport, reported)
	d.board.Note(topicRecord, damagedRecords(d.Config.StateDir))
	return errors.Join(api, err, reported)
}

// damagedRecords returns an error that names the records of sandboxes that the shim has found damaged, until an administrator deletes their files.
func damagedRecords(state string) error {
	files, err := attach.Damaged(state)
	if err != nil || len(files) == 0 {
		return err
	}
	return fmt.Errorf("records of sandboxes were damaged, and were rebuilt from the results of their plugins: %s; check the disk and the file system of the node, and delete the files",
		phrase.Names(files, maxDamagedNamed))
}
