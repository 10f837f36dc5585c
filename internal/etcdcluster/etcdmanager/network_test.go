package etcdmanager_test

import (
	"context"
	"errors"
	"log/slog"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/cluster-network-operator/cno/internal/apitest"
	"github.com/cluster-network-operator/cno/internal/etcdcluster"
	"github.com/cluster-network-operator/cno/internal/etcdcluster/etcdclient"
	"github.com/cluster-network-operator/cno/internal/etcdcluster/etcdmanager"
	"github.com/cluster-network-operator/cno/internal/manifest"
	"github.com/cluster-network-operator/cno/internal/status"
	"github.com/cluster-network-operator/cno/internal/testing/etcdnodes"
)

func TestMain(m *testing.M) { apitest.Main(m, apitest.Options{}) }

const operatorNamespace = status.OperatorNamespace

// cluster is the etcd of the network of these tests.
var cluster = etcdcluster.Cluster{
	Network: "example", Component: "Example", Namespace: "openshift-example", App: "example-etcd", ServiceAccount: "example",
	Holds: "what the tests write", WhenFull: "tests fail", MetricsPort: 12381,
}

// configKey is the key of the network's configuration, the only one that the network writes.
const configKey = "/example/config"

// deps are what a network works with.
type deps struct {
	etcdmanager.Deps
	// settings select the etcd that it uses.
	settings func() etcdcluster.Settings
	// managed reports whether the network may be changed; nil means that it always may.
	managed func() bool
	// report takes the findings of every reconcile.
	report func(...status.Finding)
}

// network is a network that keeps one key in its etcd, with as much of a controller as every network has.
type network struct {
	deps    deps
	manager *etcdmanager.Manager
}

func newNetwork(d deps) *network {
	d.Cluster, d.Changed = cluster, func() {}
	if d.Nodes == nil {
		d.Nodes = func(ctx context.Context) ([]*corev1.Node, error) { return nodesOf(ctx, d.Client) }
	}
	return &network{deps: d, manager: etcdmanager.New(d.Deps)}
}

func nodesOf(ctx context.Context, r client.Reader) ([]*corev1.Node, error) {
	var list corev1.NodeList
	if err := r.List(ctx, &list); err != nil {
		return nil, err
	}
	var out []*corev1.Node
	for i := range list.Items {
		out = append(out, &list.Items[i])
	}
	return out, nil
}

// Close ends the connection to etcd.
func (n *network) Close() { n.manager.Close() }

// Reconcile does what the controller of a network does.
func (n *network) Reconcile(ctx context.Context, _ reconcile.Request) (reconcile.Result, error) {
	in, err := n.manager.Gather(ctx, n.deps.settings(), "/example")
	if err != nil {
		return reconcile.Result{}, err
	}
	run := n.manager.Start(in)
	if n.deps.managed == nil || n.deps.managed() {
		err = n.manage(ctx, run)
	} else {
		_, err = run.Observe(ctx)
	}
	if err == nil {
		err = n.manager.ReportExpiry(ctx, in)
	}
	if errors.Is(err, etcdmanager.ErrStale) {
		return reconcile.Result{RequeueAfter: run.RequeueAfter}, nil
	}
	if err != nil {
		run.Findings = append(run.Findings, status.Finding{Component: cluster.Component, Effect: status.Degraded, Reason: "ExampleControllerError", Message: err.Error()})
	}
	n.deps.report(run.Findings...)
	return reconcile.Result{RequeueAfter: run.RequeueAfter}, err
}

// manage manages etcd, and then writes what the network keeps in it.
func (n *network) manage(ctx context.Context, run *etcdmanager.Run) error {
	if ok, err := run.Manage(ctx); err != nil || !ok || run.Etcd == nil {
		return err
	}
	existing, err := run.Etcd.Read(ctx, configKey)
	if err != nil {
		run.Unreachable(err)
		return nil
	}
	run.Succeeded()
	if len(existing) == 0 {
		change := etcdclient.Change{Unchanged: map[string]int64{configKey: 0}, Put: map[string][]byte{configKey: []byte("{}")}}
		if _, err := run.Etcd.Commit(ctx, change); err != nil {
			run.Unreachable(err)
			return nil
		}
	}
	return run.Access(ctx, etcdmanager.Agents{
		Permissions: func(string) []etcdcluster.Permission { return []etcdcluster.Permission{{Key: configKey}} },
		Kept:        func(string) bool { return false },
	})
}

// world is a cluster with this network.
type world struct {
	*etcdnodes.World
	// image is that of members. external, if set, is the etcd that is used in place of a managed one.
	image    string
	external *etcdcluster.External
	// wrap, if set, stands between the controller and the world.
	wrap func(*deps)
	// connection is the last one to etcd that the controller has opened.
	connection etcdclient.Etcd
}

func newWorld(t *testing.T) *world {
	t.Helper()
	w := &world{World: etcdnodes.New(t, cluster), image: "etcd:v1"}
	w.Render, w.New = w.render, w.controller
	w.Restart()
	return w
}

// settings select the etcd that is used.
func (w *world) settings() etcdcluster.Settings {
	if w.external != nil {
		return etcdcluster.Settings{External: w.external}
	}
	return etcdcluster.Settings{Managed: &etcdcluster.Managed{ClientPort: uint16(w.Ports[0]), PeerPort: uint16(w.Ports[1]), Image: w.image}}
}

// render renders the members of etcd.
func (w *world) render() (objects []manifest.Object, waits bool) {
	w.T.Helper()
	members := w.Members()
	objects, err := cluster.Objects(members, "/var/lib/example-etcd")
	if err != nil {
		w.T.Fatal(err)
	}
	return objects, len(members.Members) == 0
}

func (w *world) controller() etcdnodes.Controller {
	d := deps{settings: w.settings, report: func(f ...status.Finding) { w.Findings = f }}
	d.Client, d.Live, d.Namespace, d.Timeout = w.API, w.API, operatorNamespace, time.Second
	d.Now, d.Log = func() time.Time { return w.Now }, slog.New(slog.NewTextHandler(w.T.Output(), nil))
	if w.wrap != nil {
		w.wrap(&d)
	}
	dial := d.Dial
	if dial == nil {
		dial = etcdclient.Dial
	}
	d.Dial = func(t etcdclient.Target) (etcdclient.Etcd, error) {
		etcd, err := dial(t)
		w.connection = etcd
		return etcd, err
	}
	return newNetwork(d)
}

// etcd is the connection that the controller uses.
func (w *world) etcd() etcdclient.Etcd { return w.connection }

// controlPlane creates control-plane nodes, the first with the number 1.
func (w *world) controlPlane(names ...string) {
	w.T.Helper()
	for i, name := range names {
		w.Node(name, i+1, true)
	}
}
