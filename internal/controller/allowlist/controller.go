// Package allowlist brings the list of the sysctls that pods may set on their interfaces to the nodes, where the CNI plug-in tuning reads
// it.
//
// Input: the ConfigMap cni-sysctl-allowlist in the namespace of Multus, which people edit, and default-cni-sysctl-allowlist, if Multus
// brings one. Output: that ConfigMap, if there is none; while nodes need another list than the default one, or have one, a DaemonSet
// that writes it; findings and events.
//
// It must never bring a list to nodes that the plug-in cannot read, nor wait inside a pass, nor change a list that someone wrote.
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
	"github.com/cluster-network-operator/cno/internal/report"
	"github.com/cluster-network-operator/cno/internal/trigger"
)

const (
	// Name is the name of the loop in logs, events and on the board.
	Name = "allowlist"
	// Namespace is that of Multus.
	Namespace = "openshift-multus"
	// listName is the ConfigMap that people edit, defaultName the one that Multus brings.
	listName, defaultName = "cni-sysctl-allowlist", "default-cni-sysctl-allowlist"
	// workload is the name of the DaemonSet, and of its pods' label app.
	workload = "cni-sysctl-allowlist-ds"
	// fieldManager owns the fields of what the loop makes.
	fieldManager = client.FieldOwner("cluster-network-operator/allowlist")
)

// Controller is the loop. The exported fields must be set, but for Image and Version, which may be empty.
type Controller struct {
	// Live reads what no cache has.
	Live client.Reader
	// Applied reads an object that the operator has applied from their cache.
	Applied interface {
		Get(context.Context, client.ObjectKey, client.Object, ...client.GetOption) error
	}
	// Image is Multus's own, MULTUS_IMAGE; any with a shell would do.
	Image   string
	Version string
	// Workloads returns the overrides of workloads that are applied; nil is none.
	Workloads func(context.Context) ([]operatorv1.Workload, error)
	// Wake starts a reconcile from elsewhere, for example when overrides were applied.
	Wake   trigger.Trigger
	Board  *report.Board
	Events events.EventRecorder
	Now    func() time.Time
	Log    *slog.Logger

	// client reads from the loop's caches, and writes. setup sets it.
	client client.Client
	// follow has the loop's own workload watched, followPods its pods. setup sets them: where there is no Multus, or no workload, there
	// is nothing to watch.
	follow, followPods func() error
	// told is what was told last, so that it is not told twice.
	told string
}

// owns are the kinds that the controller reads from a cache of its own: nothing outside of the namespace of Multus. ConfigMaps of that
// namespace are in the cache that controllers share.
func owns() map[client.Object]cache.ByObject {
	there := map[string]cache.Config{Namespace: {}}
	ours := labels.SelectorFromSet(labels.Set{"app": workload})
	return map[client.Object]cache.ByObject{
		&appsv1.DaemonSet{}: {Namespaces: there},
		&corev1.Pod{}:       {Namespaces: there, Label: ours},
	}
}

// Specs returns the controller as data.
func (c *Controller) Specs() []loop.Spec {
	return []loop.Spec{{Name: Name, Owns: owns(), Setup: c.setup}}
}

func (c *Controller) setup(mgr manager.Manager) error {
	c.client = mgr.GetClient()
	l, err := loop.New(mgr, Name, c.Reconcile, loop.Options{})
	if err != nil {
		return err
	}
	c.follow = sync.OnceValue(func() error { return l.Watch(loop.On(mgr, &appsv1.DaemonSet{}, loop.Once())) })
	c.followPods = sync.OnceValue(func() error { return l.Watch(loop.On(mgr, &corev1.Pod{}, loop.Once())) })
	// Every namespace has a ConfigMap, that of the cluster's authority, by which it is seen that there is one.
	there := predicate.NewPredicateFuncs(func(o client.Object) bool { return o.GetNamespace() == Namespace })
	return l.Watch(c.Wake.Source(), loop.On(mgr, &corev1.ConfigMap{}, loop.Once(), there))
}

// Reconcile looks how far the list is, and does the next step.
func (c *Controller) Reconcile(ctx context.Context, _ reconcile.Request) (reconcile.Result, error) {
	w, err := c.gather(ctx)
	if err != nil {
		return reconcile.Result{}, err
	}
	d, err := decide(w)
	if err != nil {
		return reconcile.Result{}, err
	}
	c.Board.Report(Name, d.Findings...)
	c.tell(w, d)
	if err := c.apply(ctx, w, d); err != nil {
		return reconcile.Result{}, err
	}
	return reconcile.Result{RequeueAfter: d.Again}, nil
}

// gather reads what there is.
func (c *Controller) gather(ctx context.Context) (w world, err error) {
	w.Image, w.Now = c.Image, c.Now()
	if w.Multus, err = c.multus(ctx); err != nil || !w.Multus {
		return w, err
	}
	if c.follow != nil {
		if err := c.follow(); err != nil {
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
	if c.followPods != nil {
		if err := c.followPods(); err != nil {
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

// multus reports whether there is the namespace of Multus. One that a third party has created is not in the cache of what was applied.
func (c *Controller) multus(ctx context.Context) (bool, error) {
	kind, key := corev1.SchemeGroupVersion.WithKind("Namespace"), client.ObjectKey{Name: Namespace}
	ours := &unstructured.Unstructured{}
	ours.SetGroupVersionKind(kind)
	err := c.Applied.Get(ctx, key, ours)
	if err == nil {
		return ours.GetDeletionTimestamp() == nil, nil
	}
	if apierrors.IsNotFound(err) {
		theirs := &metav1.PartialObjectMetadata{}
		theirs.SetGroupVersionKind(kind)
		if err = c.Live.Get(ctx, key, theirs); err == nil {
			return theirs.DeletionTimestamp == nil, nil
		}
	}
	if client.IgnoreNotFound(err) != nil {
		return false, fmt.Errorf("read namespace %s: %w", Namespace, err)
	}
	return false, nil
}

// get reads an object of the namespace into o, and returns nil if there is none.
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
