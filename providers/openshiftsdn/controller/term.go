package controller

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/scheme"
	toolscache "k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	sdnv1 "github.com/cluster-network-operator/cno/api/sdn/v1"
	"github.com/cluster-network-operator/cno/internal/agent"
	"github.com/cluster-network-operator/cno/internal/objectevents"
	"github.com/cluster-network-operator/cno/providers/openshiftsdn/tunnelprobe"
)

const (
	// debounce is how long a controller waits for further changes after one. It is longer where no new pod waits, since each reconcile reads all objects.
	debounce     = 2 * time.Millisecond
	debounceLong = 500 * time.Millisecond
	// resync is the interval of reconciles without a change.
	resync = 30 * time.Second
	// beatInterval is how often the controllers are checked. A controller that does not finish within stalled is stalled.
	beatInterval = 5 * time.Second
	stalled      = time.Minute
)

// Names of the controllers, which are also the topics of problems.
const (
	subnetLoop    agent.Topic = "hostsubnets"
	namespaceLoop agent.Topic = "netnamespaces"
	egressLoop    agent.Topic = "egressips"
	firewallLoop  agent.Topic = "egressfirewalls"
	unidleLoop    agent.Topic = "unidling"
	lostLoop      agent.Topic = "lostpods"
)

// component is the reporter in events.
const component = "openshift-sdn-controller"

// problem is an error in an object. Those of pure packages have the same fields.
type problem = objectevents.Problem

// term is the work of one instance while it holds the Lease.
type term struct {
	Config
	client  client.Client
	core    kubernetes.Interface
	cache   cache.Cache
	scheme  *runtime.Scheme
	board   *agent.Board[status]
	metrics *metrics
	beat    *agent.Beat
	writer  writer
	report  func(agent.Topic, []problem)

	nodes         *view[*corev1.Node]
	namespaces    *view[*corev1.Namespace]
	subnets       *view[*sdnv1.HostSubnet]
	netNamespaces *view[*sdnv1.NetNamespace]
	firewalls     *view[*sdnv1.EgressNetworkPolicy]
	triggers      map[agent.Topic]agent.Trigger
	monitor       *tunnelprobe.Monitor
}

// newScheme returns a scheme with the types that the controller reads.
func newScheme() (*runtime.Scheme, error) {
	s := runtime.NewScheme()
	if err := errors.Join(scheme.AddToScheme(s), sdnv1.AddToScheme(s)); err != nil {
		return nil, fmt.Errorf("register types: %w", err)
	}
	return s, nil
}

func newTerm(c Config, core kubernetes.Interface, board *agent.Board[status], m *metrics, beat *agent.Beat) (*term, error) {
	t := &term{Config: c, core: core, board: board, metrics: m, beat: beat, triggers: map[agent.Topic]agent.Trigger{}}
	for _, l := range []agent.Topic{subnetLoop, namespaceLoop, egressLoop, firewallLoop, unidleLoop} {
		t.triggers[l] = agent.NewTrigger()
	}
	var err error
	if t.scheme, err = newScheme(); err != nil {
		return nil, err
	}
	direct, err := client.New(c.Kube, client.Options{Scheme: t.scheme})
	if err != nil {
		return nil, fmt.Errorf("create a client: %w", err)
	}
	t.client = c.Wrap(direct)
	if t.cache, err = cache.New(c.Kube, cache.Options{Scheme: t.scheme, DefaultTransform: strip, ByObject: watched()}); err != nil {
		return nil, fmt.Errorf("create a cache: %w", err)
	}
	t.writer = writer{client: t.client, wrote: func() { m.writes.Add(1) }}
	wake := func(loops ...agent.Topic) []agent.Trigger {
		var out []agent.Trigger
		for _, l := range loops {
			out = append(out, t.triggers[l])
		}
		return out
	}
	t.nodes = newView(nodeChanged, wake(subnetLoop, egressLoop)...)
	t.namespaces = newView(func(_, _ *corev1.Namespace) bool { return false }, wake(namespaceLoop)...)
	t.subnets = newView[*sdnv1.HostSubnet](nil, wake(subnetLoop, egressLoop)...)
	t.netNamespaces = newView[*sdnv1.NetNamespace](nil, wake(namespaceLoop, egressLoop, firewallLoop)...)
	t.firewalls = newView[*sdnv1.EgressNetworkPolicy](nil, wake(firewallLoop)...)
	t.monitor = tunnelprobe.New(c.Probe, t.triggers[egressLoop].Fire)
	return t, nil
}

// strip removes fields that no controller reads.
func strip(o any) (any, error) {
	switch object := o.(type) {
	case *corev1.Node:
		object.ManagedFields, object.Labels, object.Annotations, object.Spec = nil, nil, nil, corev1.NodeSpec{}
		object.Status = corev1.NodeStatus{Addresses: object.Status.Addresses, Conditions: object.Status.Conditions}
	case *corev1.Namespace:
		object.ManagedFields, object.Labels, object.Annotations = nil, nil, nil
	case client.Object:
		object.SetManagedFields(nil)
	}
	return o, nil
}

// run works until the context ends.
func (t *term) run(ctx context.Context) error {
	ctx, cancel := context.WithCancelCause(ctx)
	var all sync.WaitGroup
	defer func() { cancel(nil); all.Wait(); t.monitor.Wait(); t.metrics.reset() }()
	r, err := objectevents.New(ctx, t.core, t.scheme, component, t.Log)
	if err != nil {
		return err
	}
	t.report = func(about agent.Topic, problems []problem) {
		r.Report(about, problems)
		t.metrics.problems.Store(int64(r.Count()))
	}
	all.Go(func() {
		if err := t.cache.Start(ctx); err != nil {
			cancel(err)
		}
	})
	if err := t.watch(ctx); err != nil {
		return err
	}
	loops := []struct {
		topic     agent.Topic
		debounce  time.Duration
		reconcile func(context.Context) error
	}{
		{subnetLoop, debounce, newSubnets(t).reconcile}, {namespaceLoop, debounce, newNamespaces(t).reconcile}, {egressLoop, debounceLong, newEgress(t).reconcile},
		{firewallLoop, debounceLong, t.firewall},
	}
	beats := map[agent.Topic]*agent.Beat{}
	for _, l := range loops {
		beat := &agent.Beat{}
		beat.Mark(time.Now())
		beats[l.topic] = beat
		keeper := agent.Loop{Interval: resync, Debounce: l.debounce, Changed: t.triggers[l.topic], Now: time.Now, Beat: beat, Apply: t.measured(l.topic, l.reconcile)}
		all.Go(func() { keeper.Run(ctx) })
	}
	all.Go(func() { newEvictor(t).run(ctx) })
	if !t.Network.OpenShift && t.Network.EnableUnidling {
		all.Go(func() { newUnidler(t).run(ctx) })
	}
	t.keepBeat(ctx, beats)
	return context.Cause(ctx)
}

// keepBeat marks the beat while all controllers make progress, until the context ends.
func (t *term) keepBeat(ctx context.Context, beats map[agent.Topic]*agent.Beat) {
	written := int64(0)
	for ctx.Err() == nil {
		now, alive := time.Now(), true
		for topic, b := range beats {
			if now.Sub(b.Last()) > stalled {
				t.Log.Warn("a reconcile does not end", "controller", string(topic), "since", b.Last())
				alive = false
			}
		}
		// A controller that writes thousands of objects takes long.
		if n := t.metrics.writes.Load(); alive || n != written {
			t.beat.Mark(now)
			written = n
		}
		agent.Pause(ctx, beatInterval, nil)
	}
}

// measured records the duration and the error of each reconcile.
func (t *term) measured(topic agent.Topic, reconcile func(context.Context) error) func(context.Context) error {
	return func(ctx context.Context) error {
		started := time.Now()
		err := reconcile(ctx)
		t.metrics.reconcile.WithLabelValues(string(topic)).Observe(time.Since(started).Seconds())
		if ctx.Err() == nil {
			t.board.Note(topic, err)
		}
		return err
	}
}

// watch starts the watches, and returns when all objects have been received.
func (t *term) watch(ctx context.Context) error {
	kinds := []struct {
		object  client.Object
		handler toolscache.ResourceEventHandler
	}{
		{&corev1.Node{}, t.nodes}, {&corev1.Namespace{}, t.namespaces}, {&sdnv1.HostSubnet{}, t.subnets}, {&sdnv1.NetNamespace{}, t.netNamespaces},
		{&sdnv1.EgressNetworkPolicy{}, t.firewalls},
	}
	var synced []toolscache.InformerSynced
	for _, k := range kinds {
		informer, err := t.cache.GetInformer(ctx, k.object)
		if err != nil {
			return fmt.Errorf("watch %T: %w", k.object, err)
		}
		registration, err := informer.AddEventHandler(k.handler)
		if err != nil {
			return fmt.Errorf("watch %T: %w", k.object, err)
		}
		synced = append(synced, registration.HasSynced)
	}
	if !toolscache.WaitForCacheSync(ctx.Done(), synced...) {
		return fmt.Errorf("read all objects: %w", ctx.Err())
	}
	return nil
}
