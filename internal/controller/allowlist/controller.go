// Package allowlist distributes the list of sysctls that pods may set on their interfaces to the nodes, where the CNI plug-in tuning reads
// it.
//
// Input: the ConfigMap cni-sysctl-allowlist in the namespace of Multus, which users edit, and default-cni-sysctl-allowlist, if Multus
// installs one. Output: that ConfigMap, if it does not exist; while nodes need or have another list than the default, a DaemonSet that
// writes it; findings and events.
//
// The controller never distributes a list that the plug-in cannot parse, never blocks in a reconcile, and never changes a list of a user.
package allowlist

import (
	"context"
	"fmt"
	"log/slog"
	"sync"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/client-go/tools/events"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	operatorv1 "github.com/cluster-network-operator/cno/api/operator/v1"
	"github.com/cluster-network-operator/cno/internal/loop"
	"github.com/cluster-network-operator/cno/internal/multinet/finding"
	"github.com/cluster-network-operator/cno/internal/report"
	"github.com/cluster-network-operator/cno/internal/trigger"
)

const (
	// Name is the name of the controller in logs, events and on the board.
	Name = "allowlist"
	// Namespace is the namespace of Multus.
	Namespace = finding.Namespace
	// listName is the ConfigMap that users edit, defaultName that of Multus.
	listName, defaultName = "cni-sysctl-allowlist", "default-cni-sysctl-allowlist"
	// workload is the name of the DaemonSet, and the value of its pods' label app.
	workload = "cni-sysctl-allowlist-ds"
	// fieldManager owns the fields that the controller writes.
	fieldManager = client.FieldOwner("cluster-network-operator/allowlist")
)

// Controller distributes the list. The exported fields must be set, except Image, Version and Workloads.
type Controller struct {
	// Live reads from the API server.
	Live client.Reader
	// Applied reads applied objects from their cache.
	Applied interface {
		Get(context.Context, client.ObjectKey, client.Object, ...client.GetOption) error
	}
	// Image is that of Multus, MULTUS_IMAGE; any image with a shell works.
	Image   string
	Version string
	// Workloads returns the workload overrides that are applied; nil means none.
	Workloads func(context.Context) ([]operatorv1.Workload, error)
	// Wake starts a reconcile, for example after a change of workload overrides.
	Wake   trigger.Trigger
	Board  *report.Board
	Events events.EventRecorder
	Now    func() time.Time
	Log    *slog.Logger

	// client reads from the controller's caches, and writes. setup sets it.
	client client.Client
	// watchDaemonSet watches the DaemonSet, and watchPods its pods. setup sets them; they are called when Multus or the DaemonSet exists.
	watchDaemonSet, watchPods func() error
	// lastEvent identifies the last event, so that it is not repeated.
	lastEvent string
}

// cacheOptions returns the kinds that the controller reads from a cache of its own, limited to the namespace of Multus. ConfigMaps are in
// the shared cache.
func cacheOptions() map[client.Object]cache.ByObject {
	namespaces := map[string]cache.Config{Namespace: {}}
	selector := labels.SelectorFromSet(labels.Set{"app": workload})
	return map[client.Object]cache.ByObject{
		&appsv1.DaemonSet{}: {Namespaces: namespaces},
		&corev1.Pod{}:       {Namespaces: namespaces, Label: selector},
	}
}

// Specs returns the specification of the controller.
func (c *Controller) Specs() []loop.Spec {
	return []loop.Spec{{Name: Name, Owns: cacheOptions(), Setup: c.setup}}
}

func (c *Controller) setup(mgr manager.Manager) error {
	c.client = mgr.GetClient()
	l, err := loop.New(mgr, Name, c.Reconcile, loop.Options{})
	if err != nil {
		return err
	}
	c.watchDaemonSet = sync.OnceValue(func() error { return l.Watch(loop.On(mgr, &appsv1.DaemonSet{}, loop.Once())) })
	c.watchPods = sync.OnceValue(func() error { return l.Watch(loop.On(mgr, &corev1.Pod{}, loop.Once())) })
	// Every namespace has a ConfigMap with the cluster's CA, whose creation shows that the namespace exists.
	inNamespace := predicate.NewPredicateFuncs(func(o client.Object) bool { return o.GetNamespace() == Namespace })
	return l.Watch(c.Wake.Source(), loop.On(mgr, &corev1.ConfigMap{}, loop.Once(), inNamespace))
}

// Reconcile performs the next step of the distribution.
func (c *Controller) Reconcile(ctx context.Context, _ reconcile.Request) (reconcile.Result, error) {
	w, err := c.observe(ctx)
	if err != nil {
		return reconcile.Result{}, err
	}
	d, err := decide(w)
	if err != nil {
		return reconcile.Result{}, err
	}
	c.Board.Report(Name, d.Findings...)
	c.recordEvent(w, d)
	if err := c.apply(ctx, w, d); err != nil {
		return reconcile.Result{}, err
	}
	return reconcile.Result{RequeueAfter: d.RequeueAfter}, nil
}

// observe reads the input.
func (c *Controller) observe(ctx context.Context) (w observation, err error) {
	w.Image, w.Now = c.Image, c.Now()
	if w.Multus, err = c.multus(ctx); err != nil || !w.Multus {
		return w, err
	}
	if c.watchDaemonSet != nil {
		if err := c.watchDaemonSet(); err != nil {
			return w, err
		}
	}
	if w.List, err = get(ctx, c.client, listName, &corev1.ConfigMap{}); err != nil {
		return w, err
	}
	if w.Default, err = get(ctx, c.client, defaultName, &corev1.ConfigMap{}); err != nil {
		return w, err
	}
	if w.DaemonSet, err = get(ctx, c.client, workload, &appsv1.DaemonSet{}); err != nil {
		return w, err
	}
	if w.DaemonSet == nil {
		return w, nil
	}
	if c.watchPods != nil {
		if err := c.watchPods(); err != nil {
			return w, err
		}
	}
	var pods corev1.PodList
	if err := c.client.List(ctx, &pods, client.InNamespace(Namespace), client.MatchingLabels{"app": workload}); err != nil {
		return w, fmt.Errorf("list pods: %w", err)
	}
	w.Pods = pods.Items
	return w, nil
}

// multus reports whether the namespace of Multus exists. One that a third party has created is not in the cache of applied objects.
func (c *Controller) multus(ctx context.Context) (bool, error) {
	kind, key := corev1.SchemeGroupVersion.WithKind("Namespace"), client.ObjectKey{Name: Namespace}
	applied := &unstructured.Unstructured{}
	applied.SetGroupVersionKind(kind)
	err := c.Applied.Get(ctx, key, applied)
	if err == nil {
		return applied.GetDeletionTimestamp() == nil, nil
	}
	if apierrors.IsNotFound(err) {
		live := &metav1.PartialObjectMetadata{}
		live.SetGroupVersionKind(kind)
		if err = c.Live.Get(ctx, key, live); err == nil {
			return live.DeletionTimestamp == nil, nil
		}
	}
	if client.IgnoreNotFound(err) != nil {
		return false, fmt.Errorf("read namespace %s: %w", Namespace, err)
	}
	return false, nil
}

// get reads an object of the namespace into o. It returns nil if the object does not exist.
func get[T client.Object](ctx context.Context, r client.Reader, name string, o T) (found T, err error) {
	err = r.Get(ctx, client.ObjectKey{Namespace: Namespace, Name: name}, o)
	if apierrors.IsNotFound(err) {
		return found, nil
	}
	if err != nil {
		return found, fmt.Errorf("read %T %s/%s: %w", o, Namespace, name, err)
	}
	return o, nil
}
