// Package egressrouter runs egress routers: pods with an address in a network outside of the cluster, to which other pods send what is
// to leave with that address.
//
// Input: EgressRouters of all namespaces, and what became of the pods. Output, in the namespace of each: a NetworkAttachmentDefinition for
// each address, a Deployment of one pod, the router's status, and events about it.
//
// It must never say anything of a router on the cluster's status: who writes a router that cannot be reads so on that router. It never
// touches an object that is not the router's, whatever its name. It takes nothing away because of a mistake: while a specification is
// wrong, what was made of the last one that was right stays. Without NetworkAttachmentDefinitions it waits.
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
	// Name is the name of the loop in logs and events.
	Name = "egressrouter"
	// fieldManager owns the fields of what the loop makes.
	fieldManager = client.FieldOwner("cluster-network-operator/egressrouter")
)

// Controller is the loop. The exported fields must be set, but for Image and Version, which may be empty, and Nodes.
type Controller struct {
	// Live reads what no cache has.
	Live client.Reader
	// Serves reports whether the API server serves a kind. Not knowing is an error.
	Serves func(schema.GroupKind) (bool, error)
	// Image is that of the routers' pods. Without one no router can be made, and each says so.
	Image string
	// Version is that of the operator.
	Version string
	// Nodes lists the nodes, whose addresses no router may have. Without it addresses are not compared with those of others.
	Nodes NodeLister
	// Workloads returns the overrides of workloads that are applied; nil is none.
	Workloads func(context.Context) ([]operatorv1.Workload, error)
	Metrics   *Metrics
	Events    events.EventRecorder
	Now       func() time.Time
	Log       *slog.Logger

	// client reads from the loop's caches, and writes. setup sets it.
	client client.Client
	loop   *loop.Loop
	// again starts a reconcile of every router.
	again atomic.Pointer[func() error]
	// follow has what is made of routers watched. setup sets it: where there is no router, there is nothing to watch.
	follow func() error
	// attachments are NetworkAttachmentDefinitions. It is nil until setupAttachments, when they are served.
	attachments atomic.Pointer[attachments]
	// known is what the loop remembers of each router, so as not to ask, and not to tell, twice.
	known map[types.NamespacedName]*known
	// oldDefinition is true if the definition of the kind has been seen to drop observedGeneration, as OpenShift's does.
	oldDefinition bool
}

// attachments are the NetworkAttachmentDefinitions that are served.
type attachments struct {
	// Reader reads those of routers.
	client.Reader
	// follow has them watched: where there is no router, there is nothing to watch.
	follow func() error
}

// known is what the loop remembers of a router while it runs. Nothing is wrong if it is lost.
type known struct {
	uid types.UID
	// looked is true once objects with the names that OpenShift's operator gives have been looked for.
	looked bool
	// versions are the resource versions of what was applied last.
	versions map[objectKey]string
}

// knownOf returns what is remembered of a router, but not of an earlier one of the same name.
func (c *Controller) knownOf(r *networkv1.EgressRouter) *known {
	key := client.ObjectKeyFromObject(r)
	if k := c.known[key]; k != nil && k.uid == r.UID {
		return k
	}
	c.known[key] = &known{uid: r.UID, versions: map[objectKey]string{}}
	return c.known[key]
}

// Kinds that the loop needs: the first to be set up, the other for setupAttachments.
var (
	Kind           = schema.GroupKind{Group: networkv1.GroupVersion.Group, Kind: "EgressRouter"}
	KindAttachment = kindAttachment.GroupKind()
)

// oursByLabel selects what the loop has made.
func oursByLabel() cache.ByObject {
	return cache.ByObject{Label: labels.SelectorFromSet(labels.Set{manifest.LabelComponent: component}), Transform: trim}
}

// owns are the kinds that the controller reads from a cache of its own.
func owns() map[client.Object]cache.ByObject {
	return map[client.Object]cache.ByObject{&appsv1.Deployment{}: oursByLabel(), &corev1.Pod{}: oursByLabel()}
}

// ownsAttachments is the same for setupAttachments.
func ownsAttachments() map[client.Object]cache.ByObject {
	return map[client.Object]cache.ByObject{newAttachment(): oursByLabel()}
}

func newAttachment() *unstructured.Unstructured {
	u := &unstructured.Unstructured{}
	u.SetGroupVersionKind(kindAttachment)
	return u
}

// Specs returns the controller as data, and the part that watches attachments.
func (c *Controller) Specs() []loop.Spec {
	return []loop.Spec{
		{Name: Name, Needs: []schema.GroupKind{Kind}, Owns: owns(), Setup: c.setup},
		{Name: Name + "/attachments", Needs: []schema.GroupKind{Kind, KindAttachment}, Owns: ownsAttachments(), Setup: c.setupAttachments},
	}
}

func (c *Controller) setup(mgr manager.Manager) error {
	c.client, c.known = mgr.GetClient(), map[types.NamespacedName]*known{}
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
	c.follow = sync.OnceValue(func() error {
		return c.loop.Watch(loop.On(mgr, &appsv1.Deployment{}, owner(mgr)), loop.On(mgr, &corev1.Pod{}, ofPod))
	})
	return c.loop.Watch(loop.On(mgr, &networkv1.EgressRouter{}, &handler.EnqueueRequestForObject{}),
		loop.On(mgr, &networkv1.EgressRouter{}, handler.EnqueueRequestsFromMapFunc(c.sharing), predicate.GenerationChangedPredicate{}))
}

// setupAttachments has the controller, which setup has added, create NetworkAttachmentDefinitions now that they are served.
func (c *Controller) setupAttachments(mgr manager.Manager) error {
	c.attachments.Store(&attachments{Reader: mgr.GetCache(), follow: sync.OnceValue(func() error {
		return c.loop.Watch(loop.On(mgr, newAttachment(), owner(mgr)))
	})})
	return c.loop.Watch(c.all())
}

// all starts a reconcile of every router, now and whenever Again is called.
func (c *Controller) all() source.Source {
	return source.Func(func(ctx context.Context, queue workqueue.TypedRateLimitingInterface[reconcile.Request]) error {
		again := func() error {
			var routers networkv1.EgressRouterList
			if err := c.client.List(ctx, &routers); err != nil {
				return fmt.Errorf("list egress routers: %w", err)
			}
			for i := range routers.Items {
				queue.Add(reconcile.Request{NamespacedName: client.ObjectKeyFromObject(&routers.Items[i])})
			}
			return nil
		}
		c.again.Store(&again)
		return again()
	})
}

// Again starts a reconcile of every router, for example when overrides of workloads were applied. Before NetworkAttachmentDefinitions are
// served there is none to change.
func (c *Controller) Again() {
	if again := c.again.Load(); again != nil {
		if err := (*again)(); err != nil {
			c.Log.Error("start a reconcile of all egress routers", "error", err)
		}
	}
}

// owner starts a pass for the router that an object was made of.
func owner(mgr manager.Manager) handler.EventHandler {
	return handler.EnqueueRequestForOwner(mgr.GetScheme(), mgr.GetRESTMapper(), &networkv1.EgressRouter{}, handler.OnlyControllerOwner())
}

// Reconcile makes everything of one router, and says what became of it.
func (c *Controller) Reconcile(ctx context.Context, request reconcile.Request) (reconcile.Result, error) {
	router := &networkv1.EgressRouter{}
	err := c.client.Get(ctx, request.NamespacedName, router)
	if client.IgnoreNotFound(err) != nil {
		return reconcile.Result{}, fmt.Errorf("read egress router: %w", err)
	}
	if err != nil || router.DeletionTimestamp != nil {
		// Kubernetes deletes what it owns.
		delete(c.known, request.NamespacedName)
		return reconcile.Result{}, nil
	}
	if c.follow != nil {
		if err := c.follow(); err != nil {
			return reconcile.Result{}, err
		}
	}
	if served := c.attachments.Load(); served != nil && served.follow != nil {
		if err := served.follow(); err != nil {
			return reconcile.Result{}, err
		}
	}
	w, err := c.gather(ctx, router)
	if err != nil {
		return reconcile.Result{}, err
	}
	state, err := c.converge(ctx, router, w)
	if err != nil {
		// Nothing is known of what became of the router: what its status says still holds.
		return reconcile.Result{}, err
	}
	again, err := c.publish(ctx, router, state)
	return reconcile.Result{RequeueAfter: again}, err
}

// isServed reports whether attachments can be made.
func (c *Controller) isServed() (bool, error) {
	if c.attachments.Load() == nil {
		return false, nil
	}
	served, err := c.Serves(KindAttachment)
	if err != nil {
		return false, fmt.Errorf("ask whether %s is served: %w", kindAttachment.Kind, err)
	}
	return served, nil
}

// about returns a router for an event, which needs the kind that reading leaves out.
func about(r *networkv1.EgressRouter) *networkv1.EgressRouter {
	return &networkv1.EgressRouter{TypeMeta: metav1.TypeMeta{APIVersion: networkv1.GroupVersion.String(), Kind: Kind.Kind}, ObjectMeta: r.ObjectMeta}
}
