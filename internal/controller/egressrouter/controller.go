// Package egressrouter runs egress routers: pods with an address in a network outside the cluster, through which other pods send traffic
// with that source address.
//
// Input: EgressRouters of all namespaces and the state of their pods. Output, in the namespace of each: a NetworkAttachmentDefinition per
// address, a Deployment of one pod, the router's status and events.
//
// Problems of a router are reported on that router, never in the cluster's status. The controller never modifies an object that the router
// does not own. While a specification is invalid, the objects of the last valid one stay. Without NetworkAttachmentDefinitions the controller
// waits.
package egressrouter

import (
	"context"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/events"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"

	networkv1 "github.com/cluster-network-operator/cno/api/network/v1"
	operatorv1 "github.com/cluster-network-operator/cno/api/operator/v1"
	"github.com/cluster-network-operator/cno/internal/loop"
	"github.com/cluster-network-operator/cno/internal/manifest"
)

const (
	// Name is the name of the controller in logs and events.
	Name = "egressrouter"
	// fieldManager owns the fields of the objects that the controller applies.
	fieldManager = client.FieldOwner("cluster-network-operator/egressrouter")
)

// Controller reconciles EgressRouters. The exported fields must be set, except Image, Version, Nodes and Workloads.
type Controller struct {
	// Live reads from the API server.
	Live client.Reader
	// Serves reports whether the API server serves a kind. It returns an error if that is unknown.
	Serves func(schema.GroupKind) (bool, error)
	// Image is the image of the routers' pods. If it is empty, every router is Degraded.
	Image string
	// Version is the version of the operator.
	Version string
	// Nodes lists the nodes, whose addresses no router may use. If it is nil, addresses in use are not checked.
	Nodes NodeLister
	// Workloads returns the workload overrides that are applied; nil means none.
	Workloads func(context.Context) ([]operatorv1.Workload, error)
	Metrics   *Metrics
	Events    events.EventRecorder
	Now       func() time.Time
	Log       *slog.Logger

	// client reads from the controller's caches, and writes. setup sets it.
	client client.Client
	loop   *loop.Loop
	// enqueueAll enqueues every router. It is nil until setupAttachments.
	enqueueAll atomic.Pointer[func() error]
	// startWatches watches the objects of routers. setup sets it; it is called when the first router exists.
	startWatches func() error
	// attachments is nil until NetworkAttachmentDefinitions are available and setupAttachments runs.
	attachments atomic.Pointer[attachments]
	// memory avoids repeated requests and events per router.
	memory map[types.NamespacedName]*memory
	// openShiftCRD is true if the CRD drops observedGeneration, as OpenShift's does.
	openShiftCRD bool
}

// attachments gives access to NetworkAttachmentDefinitions.
type attachments struct {
	// Reader reads the attachments of routers from a cache.
	client.Reader
	// startWatches watches attachments; it is called when the first router exists.
	startWatches func() error
}

// memory is the controller's in-memory state of a router. It may be lost at any time.
type memory struct {
	uid types.UID
	// fixedNamesChecked is true after deleteFixedNames succeeded.
	fixedNamesChecked bool
	// versions are the resource versions of the objects after the last apply.
	versions map[objectKey]string
}

// memoryOf returns the memory of a router, not that of an earlier one of the same name.
func (c *Controller) memoryOf(r *networkv1.EgressRouter) *memory {
	key := client.ObjectKeyFromObject(r)
	if k := c.memory[key]; k != nil && k.uid == r.UID {
		return k
	}
	c.memory[key] = &memory{uid: r.UID, versions: map[objectKey]string{}}
	return c.memory[key]
}

// Kind is required by setup, KindAttachment by setupAttachments.
var (
	Kind           = schema.GroupKind{Group: networkv1.GroupVersion.Group, Kind: "EgressRouter"}
	KindAttachment = kindAttachment.GroupKind()
)

// byComponent selects the objects of the controller.
func byComponent() cache.ByObject {
	return cache.ByObject{Label: labels.SelectorFromSet(labels.Set{manifest.LabelComponent: component}), Transform: trim}
}

// cacheOptions returns the kinds that the controller reads from a cache of its own.
func cacheOptions() map[client.Object]cache.ByObject {
	return map[client.Object]cache.ByObject{&appsv1.Deployment{}: byComponent(), &corev1.Pod{}: byComponent()}
}

// attachmentCacheOptions is cacheOptions for setupAttachments.
func attachmentCacheOptions() map[client.Object]cache.ByObject {
	return map[client.Object]cache.ByObject{newAttachment(): byComponent()}
}

func newAttachment() *unstructured.Unstructured {
	u := &unstructured.Unstructured{}
	u.SetGroupVersionKind(kindAttachment)
	return u
}

// Specs returns the specifications of the controller and of the part that watches attachments.
func (c *Controller) Specs() []loop.Spec {
	return []loop.Spec{
		{Name: Name, Needs: []schema.GroupKind{Kind}, Owns: cacheOptions(), Setup: c.setup},
		{Name: Name + "/attachments", Needs: []schema.GroupKind{Kind, KindAttachment}, Owns: attachmentCacheOptions(), Setup: c.setupAttachments},
	}
}

func (c *Controller) setup(mgr manager.Manager) error {
	c.client, c.memory = mgr.GetClient(), map[types.NamespacedName]*memory{}
	if err := c.Metrics.register(); err != nil {
		return err
	}
	ofPod := handler.EnqueueRequestsFromMapFunc(func(_ context.Context, o client.Object) []reconcile.Request {
		return []reconcile.Request{{NamespacedName: types.NamespacedName{Namespace: o.GetNamespace(), Name: o.GetAnnotations()[annotationRouter]}}}
	})
	var err error
	if c.loop, err = loop.New(mgr, Name, c.Reconcile, loop.Options{}); err != nil {
		return err
	}
	c.startWatches = sync.OnceValue(func() error {
		return c.loop.Watch(loop.On(mgr, &appsv1.Deployment{}, owner(mgr)), loop.On(mgr, &corev1.Pod{}, ofPod))
	})
	return c.loop.Watch(loop.On(mgr, &networkv1.EgressRouter{}, &handler.EnqueueRequestForObject{}),
		loop.On(mgr, &networkv1.EgressRouter{}, handler.EnqueueRequestsFromMapFunc(c.sharingAddress), predicate.GenerationChangedPredicate{}))
}

// setupAttachments enables NetworkAttachmentDefinitions, once they are available, in the controller that setup has added.
func (c *Controller) setupAttachments(mgr manager.Manager) error {
	c.attachments.Store(&attachments{Reader: mgr.GetCache(), startWatches: sync.OnceValue(func() error {
		return c.loop.Watch(loop.On(mgr, newAttachment(), owner(mgr)))
	})})
	return c.loop.Watch(c.all())
}

// all enqueues every router when it starts and when EnqueueAll is called.
func (c *Controller) all() source.Source {
	return source.Func(func(ctx context.Context, queue workqueue.TypedRateLimitingInterface[reconcile.Request]) error {
		enqueue := func() error {
			var routers networkv1.EgressRouterList
			if err := c.client.List(ctx, &routers); err != nil {
				return fmt.Errorf("list egress routers: %w", err)
			}
			for i := range routers.Items {
				queue.Add(reconcile.Request{NamespacedName: client.ObjectKeyFromObject(&routers.Items[i])})
			}
			return nil
		}
		c.enqueueAll.Store(&enqueue)
		return enqueue()
	})
}

// EnqueueAll starts a reconcile of every router, for example after a change of workload overrides. It does nothing until
// NetworkAttachmentDefinitions are available.
func (c *Controller) EnqueueAll() {
	if enqueue := c.enqueueAll.Load(); enqueue != nil {
		if err := (*enqueue)(); err != nil {
			c.Log.Error("enqueue all egress routers", "error", err)
		}
	}
}

// owner enqueues the router that controls an object.
func owner(mgr manager.Manager) handler.EventHandler {
	return handler.EnqueueRequestForOwner(mgr.GetScheme(), mgr.GetRESTMapper(), &networkv1.EgressRouter{}, handler.OnlyControllerOwner())
}

// Reconcile applies the objects of one router and updates its status.
func (c *Controller) Reconcile(ctx context.Context, request reconcile.Request) (reconcile.Result, error) {
	router := &networkv1.EgressRouter{}
	err := c.client.Get(ctx, request.NamespacedName, router)
	if client.IgnoreNotFound(err) != nil {
		return reconcile.Result{}, fmt.Errorf("read egress router: %w", err)
	}
	if err != nil || router.DeletionTimestamp != nil {
		// Kubernetes garbage-collects the objects of the router.
		delete(c.memory, request.NamespacedName)
		return reconcile.Result{}, nil
	}
	if c.startWatches != nil {
		if err := c.startWatches(); err != nil {
			return reconcile.Result{}, err
		}
	}
	if served := c.attachments.Load(); served != nil && served.startWatches != nil {
		if err := served.startWatches(); err != nil {
			return reconcile.Result{}, err
		}
	}
	w, err := c.observe(ctx, router)
	if err != nil {
		return reconcile.Result{}, err
	}
	state, err := c.converge(ctx, router, w)
	if err != nil {
		// The state is unknown; the status stays.
		return reconcile.Result{}, err
	}
	requeueAfter, err := c.publish(ctx, router, state)
	return reconcile.Result{RequeueAfter: requeueAfter}, err
}

// attachmentsAvailable reports whether NetworkAttachmentDefinitions can be created.
func (c *Controller) attachmentsAvailable() (bool, error) {
	if c.attachments.Load() == nil {
		return false, nil
	}
	served, err := c.Serves(KindAttachment)
	if err != nil {
		return false, fmt.Errorf("check whether %s is available: %w", kindAttachment.Kind, err)
	}
	return served, nil
}

// eventSubject returns the router with its kind set, which typed reads omit and events need.
func eventSubject(r *networkv1.EgressRouter) *networkv1.EgressRouter {
	return &networkv1.EgressRouter{TypeMeta: metav1.TypeMeta{APIVersion: networkv1.GroupVersion.String(), Kind: Kind.Kind}, ObjectMeta: r.ObjectMeta}
}
