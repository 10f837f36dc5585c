// Package cabundleinjection gives the trusted certificates of the cluster to anyone who asks for them: ConfigMaps with the
// label config.openshift.io/inject-trusted-cabundle=true, in any namespace.
//
// Input: these ConfigMaps, and openshift-config-managed/trusted-ca-bundle. Output: the key ca-bundle.crt in each of them, with
// a label and annotations that say so; events on ConfigMaps; the finding that the source is no good.
//
// It must never touch another key, nor keep certificates in memory for each ConfigMap. What is wrong with a tenant's
// ConfigMap never makes the cluster degraded, and never has the API server asked over and over: it is an event on that
// ConfigMap. A source that is missing or no good changes nothing anywhere.
package cabundleinjection

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	configv1 "github.com/openshift/api/config/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/events"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"

	"github.com/cluster-network-operator/cno/internal/loop"
	"github.com/cluster-network-operator/cno/internal/report"
	"github.com/cluster-network-operator/cno/internal/status"
	"github.com/cluster-network-operator/cno/internal/trigger"
)

const (
	// Name is the name of the loop in logs.
	Name = "cabundleinjection"
	// component is what findings of this loop are about, and reasonInvalid the one that there is.
	component, reasonInvalid = "InjectorConfig", "InvalidInjectorConfig"
	// fieldManager owns what this loop writes. It is the name that OpenShift's operator has, so that what it owns passes on.
	fieldManager = client.FieldOwner("cluster-network-operator/configmap_ca")
	// parallel is how many ConfigMaps are written at once. An API server takes a few milliseconds for each.
	parallel = 8
)

// Controller is the loop. All exported fields must be set.
type Controller struct {
	// Client reads the metadata of ConfigMaps as Owns says, and writes.
	Client client.Client
	// Live reads what is no longer in that cache.
	Live    client.Reader
	Board   *report.Board
	Events  events.EventRecorder
	Metrics *Metrics
	Now     func() time.Time
	Log     *slog.Logger

	origin *origin
	memory *memory
	limits limits
	start  trigger.Trigger
}

// owns is what the controller keeps of ConfigMaps: a few hundred bytes of each that asks.
func owns() map[client.Object]cache.ByObject {
	return map[client.Object]cache.ByObject{target(types.NamespacedName{}): {Label: asking(), Transform: trim}}
}

func asking() labels.Selector { return labels.SelectorFromSet(labels.Set{InjectLabel: "true"}) }

// target is the metadata of a ConfigMap.
func target(key types.NamespacedName) *metav1.PartialObjectMetadata {
	m := &metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{Namespace: key.Namespace, Name: key.Name}}
	m.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("ConfigMap"))
	return m
}

func targets() *metav1.PartialObjectMetadataList {
	list := &metav1.PartialObjectMetadataList{}
	list.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("ConfigMapList"))
	return list
}

// Specs returns the controller as data.
func (c *Controller) Specs() []loop.Spec {
	return []loop.Spec{{Name: Name, Needs: []schema.GroupKind{configv1.GroupVersion.WithKind("Proxy").GroupKind()}, Owns: owns(), Setup: c.setup}}
}

func (c *Controller) setup(mgr manager.Manager) error {
	c.Client = mgr.GetClient()
	origins, err := cache.New(mgr.GetConfig(), cache.Options{
		HTTPClient: mgr.GetHTTPClient(), Scheme: mgr.GetScheme(), Mapper: mgr.GetRESTMapper(), DefaultTransform: cache.TransformStripManagedFields(),
		ByObject: map[client.Object]cache.ByObject{&corev1.ConfigMap{}: {Namespaces: map[string]cache.Config{
			bundleNamespace: {FieldSelector: fields.OneTermEqualSelector("metadata.name", bundleName)}}}},
	})
	if err != nil {
		return fmt.Errorf("create cache of trusted certificates: %w", err)
	}
	if err := mgr.Add(origins); err != nil {
		return fmt.Errorf("add cache of trusted certificates: %w", err)
	}
	c.origin = &origin{reader: origins}
	c.memory = &memory{known: map[types.NamespacedName]*past{}, changed: c.Metrics.moved}
	c.start.Fire()
	return loop.Add(mgr, Name, c.Reconcile, loop.Options{Workers: parallel},
		loop.On(mgr, target(types.NamespacedName{}), &handler.EnqueueRequestForObject{}),
		source.Kind(origins, client.Object(&corev1.ConfigMap{}), handler.EnqueueRequestsFromMapFunc(c.everything)),
		c.start.Source(),
	)
}

// everything asks for a pass over all ConfigMaps that ask for certificates, and over these.
func (c *Controller) everything(ctx context.Context, _ client.Object) []reconcile.Request {
	requests := []reconcile.Request{{}}
	list := targets()
	if err := c.Client.List(ctx, list); err != nil {
		c.Log.Error("list ConfigMaps that ask for certificates", "error", err)
		return requests
	}
	for i := range list.Items {
		requests = append(requests, reconcile.Request{NamespacedName: client.ObjectKeyFromObject(&list.Items[i])})
	}
	return requests
}

// Reconcile brings one ConfigMap in line. The request without a name is about the certificates themselves.
func (c *Controller) Reconcile(ctx context.Context, request reconcile.Request) (reconcile.Result, error) {
	b, problem, err := c.origin.get(ctx)
	if err != nil {
		return reconcile.Result{}, err
	}
	if request.Name == "" {
		c.reportOrigin(problem)
		return reconcile.Result{}, c.releaseOrphans(ctx)
	}
	m := target(request.NamespacedName)
	err = c.Client.Get(ctx, request.NamespacedName, m)
	switch {
	case client.IgnoreNotFound(err) != nil:
		return reconcile.Result{}, fmt.Errorf("read ConfigMap: %w", err)
	case err != nil:
		return reconcile.Result{}, c.release(ctx, request.NamespacedName)
	case b == nil, m.DeletionTimestamp != nil, isSource(m):
		return reconcile.Result{}, nil
	case m.Annotations[hashAnnotation] == b.hash:
		return c.verify(ctx, m, b)
	}
	return c.inject(ctx, m, b)
}

// reportOrigin says what is wrong with the certificates.
func (c *Controller) reportOrigin(problem string) {
	if problem == "" {
		c.Board.Report(Name)
		return
	}
	c.Board.Report(Name, status.Finding{Component: component, Effect: status.Degraded, Reason: reasonInvalid, Immediate: true,
		Message: fmt.Sprintf("trust bundle %s/%s is not injected: %s", bundleNamespace, bundleName, problem)})
}
