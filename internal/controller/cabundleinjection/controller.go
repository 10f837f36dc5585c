// Package cabundleinjection injects the cluster's trusted certificates into ConfigMaps with the label
// config.openshift.io/inject-trusted-cabundle=true, in any namespace.
//
// Input: these ConfigMaps and openshift-config-managed/trusted-ca-bundle. Output: the key ca-bundle.crt in each of them, with a label and
// annotations; events on ConfigMaps; a finding if the source is invalid.
//
// The controller never modifies another key, and keeps no certificates in memory per ConfigMap. A problem of a tenant's ConfigMap is an
// event on it; it never makes the cluster Degraded and causes no repeated requests. While the source is missing or invalid, nothing is
// changed.
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

	"github.com/cluster-network-operator/cno/internal/loop"
	"github.com/cluster-network-operator/cno/internal/report"
	"github.com/cluster-network-operator/cno/internal/status"
	"github.com/cluster-network-operator/cno/internal/trigger"
)

const (
	// Name is the name of the controller in logs.
	Name = "cabundleinjection"
	// component is the component of the controller's findings, reasonInvalid their reason.
	component, reasonInvalid = "InjectorConfig", "InvalidInjectorConfig"
	// fieldManager owns the fields that the controller writes. It is the name that OpenShift's operator uses, so that its fields are taken
	// over.
	fieldManager = client.FieldOwner("cluster-network-operator/configmap_ca")
	// parallel is the number of ConfigMaps that are written concurrently. Each write takes the API server a few milliseconds.
	parallel = 8
)

// Controller injects trusted certificates. All exported fields must be set.
type Controller struct {
	// Client reads the metadata of labelled ConfigMaps from a cache, and writes.
	Client client.Client
	// Live reads from the API server.
	Live    client.Reader
	Board   *report.Board
	Events  events.EventRecorder
	Metrics *Metrics
	Now     func() time.Time
	Log     *slog.Logger

	bundleSource *bundleSource
	memory       *memory
	limits       limits
	initial      trigger.Trigger
}

// cacheOptions selects the labelled ConfigMaps, of which a few hundred bytes are cached.
func cacheOptions() map[client.Object]cache.ByObject {
	return map[client.Object]cache.ByObject{target(types.NamespacedName{}): {Label: injectSelector(), Transform: trim}}
}

func injectSelector() labels.Selector { return labels.SelectorFromSet(labels.Set{InjectLabel: "true"}) }

// target returns the metadata object for a ConfigMap.
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

// Specs returns the specification of the controller.
func (c *Controller) Specs() []loop.Spec {
	return []loop.Spec{{Name: Name, Needs: []schema.GroupKind{configv1.GroupVersion.WithKind("Proxy").GroupKind()}, Owns: cacheOptions(), Setup: c.setup}}
}

func (c *Controller) setup(mgr manager.Manager) error {
	c.Client = mgr.GetClient()
	sources, err := loop.SeparateCache(mgr, map[client.Object]cache.ByObject{&corev1.ConfigMap{}: {Namespaces: map[string]cache.Config{
		bundleNamespace: {FieldSelector: fields.OneTermEqualSelector("metadata.name", bundleName)},
	}}})
	if err != nil {
		return fmt.Errorf("trusted certificates: %w", err)
	}
	c.bundleSource = &bundleSource{reader: sources}
	c.memory = &memory{records: map[types.NamespacedName]*record{}, changed: c.Metrics.setState}
	c.initial.Fire()
	return loop.Add(mgr, Name, c.Reconcile, loop.Options{Workers: parallel},
		loop.On(mgr, target(types.NamespacedName{}), &handler.EnqueueRequestForObject{}),
		loop.From(sources, &corev1.ConfigMap{}, handler.EnqueueRequestsFromMapFunc(c.enqueueAll)),
		c.initial.Source(),
	)
}

// enqueueAll returns requests for all labelled ConfigMaps and for the source.
func (c *Controller) enqueueAll(ctx context.Context, _ client.Object) []reconcile.Request {
	requests := []reconcile.Request{{}}
	list := targets()
	if err := c.Client.List(ctx, list); err != nil {
		c.Log.Error("list ConfigMaps that request certificates", "error", err)
		return requests
	}
	for i := range list.Items {
		requests = append(requests, reconcile.Request{NamespacedName: client.ObjectKeyFromObject(&list.Items[i])})
	}
	return requests
}

// Reconcile injects into one ConfigMap, or releases it. The request without a name is for the source.
func (c *Controller) Reconcile(ctx context.Context, request reconcile.Request) (reconcile.Result, error) {
	b, problem, err := c.bundleSource.get(ctx)
	if err != nil {
		return reconcile.Result{}, err
	}
	if request.Name == "" {
		c.reportSource(problem)
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

// reportSource reports the problem of the source; empty if there is none.
func (c *Controller) reportSource(problem string) {
	if problem == "" {
		c.Board.Report(Name)
		return
	}
	c.Board.Report(Name, status.Finding{Component: component, Effect: status.Degraded, Reason: reasonInvalid, Immediate: true,
		Message: fmt.Sprintf("trust bundle %s/%s is not injected: %s", bundleNamespace, bundleName, problem)})
}
