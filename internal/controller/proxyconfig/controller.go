// Package proxyconfig applies the cluster's proxy: the status of Proxy/cluster, which all clients with connections out of the cluster read,
// and the trusted CAs of the cluster.
//
// Input: Proxy, Network.config and Infrastructure (each named cluster), the ConfigMap that the Proxy names in the namespace
// openshift-config, the install-config if there is one, and the system's CAs. Output: the status of the Proxy, the ConfigMap
// trusted-ca-bundle in openshift-config-managed, events on the Proxy, findings of component ProxyConfig.
//
// A Proxy that is invalid or whose readiness endpoints are unreachable is not applied; the previous status stays. Endpoints are probed
// outside of the reconcile, which never blocks. No output contains a password.
package proxyconfig

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	configv1 "github.com/openshift/api/config/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/tools/events"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/cluster-network-operator/cno/internal/loop"
	"github.com/cluster-network-operator/cno/internal/report"
	"github.com/cluster-network-operator/cno/internal/trigger"
)

// Name is the name of the controller in logs.
const Name = "proxyconfig"

// fieldManager owns the fields that the controller writes.
const fieldManager = client.FieldOwner("cluster-network-operator/proxyconfig")

// systemInterval is the interval at which the system's CAs are read, since changes of the file are not watched.
const systemInterval = 10 * time.Minute

// Settings are settings of the operator that affect proxies. The zero value is valid.
type Settings struct {
	// TrustFiles are candidate paths of the system's CAs; the first file with certificates is used.
	TrustFiles []string
	// HostedControlPlane is true if the control plane runs in another cluster.
	HostedControlPlane bool
	// ProxyInternalAPIServer is true if clients reach the internal address of the API server through the proxy.
	ProxyInternalAPIServer bool
}

// Controller reconciles Proxy/cluster. All exported fields must be set; Settings may be zero.
type Controller struct {
	// Client reads the kinds of config.openshift.io from a cache.
	Client client.Client
	// Live reads single ConfigMaps from the API server.
	Live client.Reader
	Settings
	Board   *report.Board
	Events  events.EventRecorder
	Metrics *Metrics
	Now     func() time.Time
	Log     *slog.Logger

	probes *prober
	wake   trigger.Trigger
	// recorded are the notes for which an event was recorded.
	recorded map[note]bool
}

// requiredKinds are the kinds that the API server must serve.
func requiredKinds() []schema.GroupKind {
	return []schema.GroupKind{
		{Group: configv1.GroupName, Kind: "Proxy"}, {Group: configv1.GroupName, Kind: "Network"}, {Group: configv1.GroupName, Kind: "Infrastructure"},
	}
}

// cacheOptions selects the ConfigMaps whose metadata the controller caches.
func cacheOptions() map[client.Object]cache.ByObject {
	only := func(name string) cache.Config {
		return cache.Config{FieldSelector: fields.OneTermEqualSelector("metadata.name", name)}
	}
	return map[client.Object]cache.ByObject{configMaps(): {
		Namespaces: map[string]cache.Config{UserNamespace: {}, BundleNamespace: only(BundleName), installNamespace: only(installName)},
		Transform:  trim,
	}}
}

func configMaps() *metav1.PartialObjectMetadata {
	m := &metav1.PartialObjectMetadata{}
	m.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("ConfigMap"))
	return m
}

// trim keeps name and version.
func trim(o any) (any, error) {
	m, ok := o.(*metav1.PartialObjectMetadata)
	if !ok {
		return o, nil
	}
	kept := metav1.ObjectMeta{Namespace: m.Namespace, Name: m.Name, UID: m.UID, ResourceVersion: m.ResourceVersion}
	return &metav1.PartialObjectMetadata{TypeMeta: m.TypeMeta, ObjectMeta: kept}, nil
}

// Specs returns the specification of the controller.
func (c *Controller) Specs() []loop.Spec {
	return []loop.Spec{{Name: Name, Needs: requiredKinds(), Owns: cacheOptions(), Setup: c.setup}}
}

func (c *Controller) setup(mgr manager.Manager) error {
	c.Client = mgr.GetClient()
	c.prepare()
	if err := mgr.Add(c.probes); err != nil {
		return fmt.Errorf("add probes of proxies: %w", err)
	}
	once := loop.Once()
	return loop.Add(mgr, Name, c.Reconcile, loop.Options{},
		loop.On(mgr, &configv1.Proxy{}, once),
		loop.On(mgr, &configv1.Network{}, once),
		loop.On(mgr, &configv1.Infrastructure{}, once),
		loop.On(mgr, configMaps(), once),
		c.wake.Source(),
	)
}

// prepare initializes the parts that need no manager.
func (c *Controller) prepare() {
	c.probes = &prober{timeout: probeTimeout, pause: probePause, tries: probeTries, now: c.Now, changed: c.wake.Fire, count: c.Metrics.probed}
}

// Reconcile applies the Proxy, or reports its problems.
func (c *Controller) Reconcile(ctx context.Context, _ reconcile.Request) (reconcile.Result, error) {
	w, err := c.observe(ctx)
	if err != nil {
		return c.fail(err)
	}
	if w.proxy == nil {
		c.probes.stop()
		c.Board.Report(Name)
		return reconcile.Result{}, nil
	}
	v := assess(w)
	results, done := c.probes.ask(v.probeRound)
	d := decide(w, v, results, done)
	c.Metrics.bundle(v.merged)
	if done {
		c.recordEvents(w.proxy, d.notes)
	}
	if err := c.publish(ctx, w, d); err != nil {
		return c.fail(err)
	}
	if done {
		c.Board.Report(Name, d.findings...)
	}
	return reconcile.Result{RequeueAfter: d.requeueAfter}, nil
}

// fail reports an error and returns it for a retry. Conflicts are not reported.
func (c *Controller) fail(err error) (reconcile.Result, error) {
	if f, ok := errors.AsType[failure](err); ok && !apierrors.IsConflict(err) {
		c.Board.Report(Name, failed(f))
	}
	return reconcile.Result{}, err
}
