// Package networknode keeps a NetworkNode for each node: what the network knows of it, and its worst problem.
//
// Input: nodes, the pods of operands, the MTU of nodes, HostNetworkConfigs, the applied specification, and what two other controllers have read: the fights that
// agents report, and the nodes that connectivity checks cannot reach. Output: NetworkNodes, which are restored after modifications.
//
// Nothing reads these objects to decide anything. Without Network/cluster there are none.
package networknode

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	networkv1 "github.com/cluster-network-operator/cno/api/network/v1"
	networkoperatorv1 "github.com/cluster-network-operator/cno/api/networkoperator/v1"
	operatorv1 "github.com/cluster-network-operator/cno/api/operator/v1"
	"github.com/cluster-network-operator/cno/internal/applied"
	"github.com/cluster-network-operator/cno/internal/hostmtu"
	"github.com/cluster-network-operator/cno/internal/loop"
	"github.com/cluster-network-operator/cno/internal/nodestate"
	"github.com/cluster-network-operator/cno/internal/trigger"
)

// Name is the name of the controller in logs.
const Name = "networknode"

// fieldManager owns the fields of NetworkNodes.
const fieldManager = client.FieldOwner("cluster-network-operator/networknode")

// Rate of the controller. Thousands of nodes change in a rollout, and nothing waits for their objects.
const (
	// collectDelay is the time during which changes are batched before a reconcile, so that each object is written at most once in it. The first reconcile is as
	// long after the start: the controllers that report problems have run by then.
	collectDelay = 5 * time.Second
	// batch is the maximum number of objects that a reconcile writes: at most 50 a second, a tenth of the operator's limit for requests even if each is created,
	// which takes two. Nodes are in random order, so that all of them have their turn.
	batch = 250
)

// Controller keeps NetworkNodes. All exported fields up to Now must be set.
type Controller struct {
	// Client reads from the manager's cache, and writes. setup replaces it by one with a cache of NetworkNodes.
	Client client.Client
	// Pods calls the function for each selected pod of a namespace. Pods must not be modified.
	Pods func(context.Context, string, labels.Selector, func(*corev1.Pod)) error
	// Nodes returns all nodes, in random order. They must not be modified.
	Nodes func(context.Context) ([]*corev1.Node, error)
	// Cluster has the DaemonSets of agents, and the function for the blocks of a node. The controller sets the other fields.
	Cluster nodestate.Cluster
	// Namespace is the operator's namespace, Namespaces are those of operands.
	Namespace  string
	Namespaces []string
	Now        func() time.Time

	// Collect overrides collectDelay if it is not 0.
	Collect time.Duration

	wake trigger.Trigger
	// reported are the problems that other controllers report.
	reported problems
}

// problems are those of nodes that other controllers report.
type problems struct {
	mu          sync.Mutex
	fights      map[string][]string
	unreachable map[string]string
}

// SetFights sets the fights of each node.
func (c *Controller) SetFights(fights map[string][]string) {
	c.reported.mu.Lock()
	defer c.reported.mu.Unlock()
	if !maps.EqualFunc(fights, c.reported.fights, slices.Equal) {
		c.reported.fights = fights
		c.wake.Fire()
	}
}

// SetUnreachable sets a sentence for each node that pods on other nodes cannot reach.
func (c *Controller) SetUnreachable(nodes map[string]string) {
	c.reported.mu.Lock()
	defer c.reported.mu.Unlock()
	if !maps.Equal(nodes, c.reported.unreachable) {
		c.reported.unreachable = nodes
		c.wake.Fire()
	}
}

// Specs returns the specification of the controller.
func (c *Controller) Specs() []loop.Spec {
	return []loop.Spec{{Name: Name, Owns: cacheOptions(), Setup: c.setup, Needs: []schema.GroupKind{
		operatorv1.GroupVersion.WithKind("Network").GroupKind(), networkoperatorv1.GroupVersion.WithKind("NetworkNode").GroupKind(),
		networkv1.GroupVersion.WithKind("HostNetworkConfig").GroupKind(),
	}}}
}

func (c *Controller) setup(mgr manager.Manager) error {
	c.Client, c.wake.Delay = mgr.GetClient(), cmp.Or(c.Collect, collectDelay)
	records := predicate.NewPredicateFuncs(func(o client.Object) bool {
		return o.GetNamespace() == c.Namespace && (o.GetName() == hostmtu.ConfigMap || o.GetName() == applied.ConfigMapName)
	})
	return loop.Add(mgr, Name, c.Reconcile, loop.Options{FirstRetry: collectDelay, LastRetry: 12 * collectDelay}, c.wake.Source(),
		loop.On(mgr, &operatorv1.Network{}, c.wake.Handler(), predicate.GenerationChangedPredicate{}),
		loop.On(mgr, &networkoperatorv1.NetworkNode{}, c.wake.Handler()),
		loop.On(mgr, &networkv1.HostNetworkConfig{}, c.wake.Handler()),
		loop.On(mgr, &corev1.ConfigMap{}, c.wake.Handler(), records),
		loop.On(mgr, &corev1.Node{}, c.wake.Handler(), c.nodeChanged()),
		loop.On(mgr, &corev1.Pod{}, c.wake.Handler()),
	)
}

// nodeChanged passes updates of what is shown of a node: kubelets update their Nodes every few minutes.
func (c *Controller) nodeChanged() predicate.Predicate {
	return predicate.Funcs{UpdateFunc: func(e event.UpdateEvent) bool {
		before, ok := e.ObjectOld.(*corev1.Node)
		after, okAfter := e.ObjectNew.(*corev1.Node)
		return !ok || !okAfter || c.Cluster.Changed(before, after)
	}}
}

// Reconcile creates, updates and deletes NetworkNodes.
func (c *Controller) Reconcile(ctx context.Context, _ reconcile.Request) (reconcile.Result, error) {
	desired, err := c.desired(ctx)
	if err != nil {
		return reconcile.Result{}, err
	}
	var live networkoperatorv1.NetworkNodeList
	if err := c.Client.List(ctx, &live, client.UnsafeDisableDeepCopy); err != nil {
		return reconcile.Result{}, fmt.Errorf("list network nodes: %w", err)
	}
	all := changes(desired, live.Items, c.Now())
	var errs []error
	for _, change := range all[:min(len(all), batch)] {
		if err := c.write(ctx, change); err != nil {
			errs = append(errs, fmt.Errorf("write network node %s: %w", change.name, err))
		}
	}
	if err := errors.Join(errs...); err != nil {
		return reconcile.Result{}, err
	}
	if len(all) > batch {
		return reconcile.Result{RequeueAfter: cmp.Or(c.Collect, collectDelay)}, nil
	}
	return reconcile.Result{}, nil
}

// write creates, updates or deletes a NetworkNode. It replaces the status, since an apply would keep fields that another client has added. An object that was deleted
// or changed since it was read has an event that starts another reconcile.
func (c *Controller) write(ctx context.Context, change change) error {
	object := change.live.DeepCopy()
	if change.desired == nil {
		return client.IgnoreNotFound(c.Client.Delete(ctx, object))
	}
	if object == nil {
		object = &networkoperatorv1.NetworkNode{ObjectMeta: metav1.ObjectMeta{Name: change.name}}
		if err := c.Client.Create(ctx, object, fieldManager); err != nil {
			return err
		}
	}
	object.Status = *change.desired
	if err := c.Client.Status().Update(ctx, object, fieldManager); !apierrors.IsNotFound(err) && !apierrors.IsConflict(err) {
		return err
	}
	return nil
}
