// Package podaddress replaces host-network pods of operands whose address their node no longer has.
//
// Input: the nodes, the operator's workloads and their pods. Output: deletions of such pods, so that their workload creates new ones with
// the node's current address; events on the Network.
//
// The controller never deletes a pod whose node has its address, a pod that is not an operand's, a second pod of a workload while one of
// its pods is not ready, or any pod while the network is paused or unmanaged.
package podaddress

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	operatorv1 "github.com/cluster-network-operator/cno/api/operator/v1"
	"github.com/cluster-network-operator/cno/internal/loop"
	"github.com/cluster-network-operator/cno/internal/pipeline"
	"github.com/cluster-network-operator/cno/internal/report"
	"github.com/cluster-network-operator/cno/internal/status"
)

const (
	// Name is the name of the controller in logs.
	Name = "podaddress"
	// grace is how long the node must lack the address of a pod. An address that a lease returns within it is not a new one.
	grace = 2 * time.Minute
	// interval is the interval at which pods are read while some have an outdated address.
	interval = 15 * time.Second
)

// Controller replaces pods. All exported fields must be set.
type Controller struct {
	// Client reads the Network from the manager's cache, and deletes pods.
	Client client.Client
	// Operands reads applied objects.
	Operands interface {
		Get(ctx context.Context, key client.ObjectKey, into client.Object, options ...client.GetOption) error
	}
	// Pods calls the function for each selected pod of a namespace. Pods must not be modified.
	Pods func(context.Context, string, labels.Selector, func(*corev1.Pod)) error
	// Nodes returns all nodes. They must not be modified.
	Nodes func(context.Context) ([]*corev1.Node, error)
	// Board has the operator's workloads.
	Board *report.Board
	// Events records replacements.
	Events interface {
		Normal(network *operatorv1.Network, reason, message string)
	}
	Now func() time.Time
	Log *slog.Logger

	// since are the times when the address of a pod was first missing on its node.
	since map[types.UID]time.Time
}

// Specs returns the specification of the controller.
func (c *Controller) Specs() []loop.Spec {
	return []loop.Spec{{Name: Name, Needs: []schema.GroupKind{operatorv1.GroupVersion.WithKind("Network").GroupKind()}, Setup: c.setup}}
}

func (c *Controller) setup(mgr manager.Manager) error {
	return loop.Add(mgr, Name, c.Reconcile, loop.Options{FirstRetry: time.Second, LastRetry: time.Minute}, loop.On(mgr, &corev1.Node{}, loop.Once(), addressesChanged()))
}

// addressesChanged passes created nodes, as at the start of the operator, and changes of addresses.
func addressesChanged() predicate.Predicate {
	return predicate.Funcs{
		DeleteFunc: func(event.DeleteEvent) bool { return false },
		UpdateFunc: func(e event.UpdateEvent) bool {
			before, ok := e.ObjectOld.(*corev1.Node)
			after, okAfter := e.ObjectNew.(*corev1.Node)
			return ok && okAfter && !slices.Equal(status.NodeAddresses(before), status.NodeAddresses(after))
		},
	}
}

// Reconcile replaces at most one pod of each workload.
func (c *Controller) Reconcile(ctx context.Context, _ reconcile.Request) (reconcile.Result, error) {
	network := &operatorv1.Network{}
	if err := c.Client.Get(ctx, client.ObjectKey{Name: operatorv1.NetworkName}, network); err != nil {
		return reconcile.Result{}, client.IgnoreNotFound(err)
	}
	nodes, err := c.Nodes(ctx)
	if err != nil {
		return reconcile.Result{}, fmt.Errorf("read nodes: %w", err)
	}
	_, rollout, _ := c.Board.Snapshot()
	byNode := map[string]node{}
	for _, n := range nodes {
		byNode[n.Name] = node{addresses: status.NodeAddresses(n), unreachable: status.OfNode(n).Unreachable}
	}
	since := map[types.UID]time.Time{}
	var errs []error
	for _, w := range rollout.Wanted {
		pods, err := c.pods(ctx, w, byNode)
		if err != nil {
			errs = append(errs, err)
			continue
		}
		for _, p := range pods {
			if p.outdated == "" {
				continue
			}
			since[p.uid] = c.Now()
			if first, ok := c.since[p.uid]; ok {
				since[p.uid] = first
			}
		}
		if p := choose(pods, since, c.Now()); p != nil && pipeline.Managed(network) {
			errs = append(errs, c.replace(ctx, network, w, *p))
		}
	}
	c.since = since
	// After a start, the wanted workloads are not known yet.
	if len(since) == 0 && len(rollout.Wanted) > 0 {
		return reconcile.Result{}, errors.Join(errs...)
	}
	return reconcile.Result{RequeueAfter: interval}, errors.Join(errs...)
}

// node is the relevant part of a node.
type node struct {
	addresses   []string
	unreachable bool
}

// pod is the relevant part of a pod.
type pod struct {
	namespace, name, node string
	uid                   types.UID
	// ready is false for a pod that is being deleted, too.
	ready bool
	// outdated is the address that the node no longer has; empty if there is none.
	outdated string
}

// pods returns the pods of a workload, except those on nodes whose kubelet does not respond: they neither end nor become ready.
func (c *Controller) pods(ctx context.Context, w status.Workload, nodes map[string]node) (all []pod, err error) {
	u := &unstructured.Unstructured{}
	u.SetGroupVersionKind(schema.GroupVersionKind{Group: "apps", Version: "v1", Kind: w.Kind})
	if err := c.Operands.Get(ctx, client.ObjectKey{Namespace: w.Namespace, Name: w.Name}, u); err != nil {
		return nil, client.IgnoreNotFound(err)
	}
	match, _, err := unstructured.NestedStringMap(u.Object, "spec", "selector", "matchLabels")
	if err != nil || len(match) == 0 {
		return nil, err
	}
	err = c.Pods(ctx, w.Namespace, labels.SelectorFromSet(match), func(p *corev1.Pod) {
		on := nodes[p.Spec.NodeName]
		if on.unreachable {
			return
		}
		found := pod{namespace: p.Namespace, name: p.Name, node: p.Spec.NodeName, uid: p.UID, ready: p.DeletionTimestamp == nil && status.OfPod(p, false).Ready}
		found.outdated, _ = status.OutdatedAddress(p, on.addresses)
		all = append(all, found)
	})
	return all, err
}

// choose returns the pod to replace; nil if there is none: its node must have lacked its address for the grace period, and all other pods
// of the workload must be ready. Pods that are not ready come first, then the one with the longest time.
func choose(pods []pod, since map[types.UID]time.Time, now time.Time) *pod {
	var chosen *pod
	for i := range pods {
		p := &pods[i]
		first, ok := since[p.uid]
		if !ok || p.outdated == "" || now.Sub(first) < grace {
			continue
		}
		if chosen == nil || chosen.ready && !p.ready || chosen.ready == p.ready && first.Before(since[chosen.uid]) {
			chosen = p
		}
	}
	for i := range pods {
		if chosen != nil && &pods[i] != chosen && !pods[i].ready {
			return nil
		}
	}
	return chosen
}

// replace deletes a pod with this UID.
func (c *Controller) replace(ctx context.Context, network *operatorv1.Network, w status.Workload, p pod) error {
	object := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: p.namespace, Name: p.name}}
	err := c.Client.Delete(ctx, object, client.Preconditions{UID: &p.uid})
	if apierrors.IsNotFound(err) || apierrors.IsConflict(err) { // it is another pod now
		return nil
	}
	if err != nil {
		return fmt.Errorf("replace pod %s/%s, whose node no longer has its address %s: %w", p.namespace, p.name, p.outdated, err)
	}
	message := fmt.Sprintf("replaced pod %s of %s: node %s no longer has its address %s", p.name, w, p.node, p.outdated)
	c.Log.Info("replaced a pod whose node no longer has its address", "pod", p.namespace+"/"+p.name, "node", p.node, "address", p.outdated)
	c.Events.Normal(network, "PodReplaced", message)
	return nil
}
