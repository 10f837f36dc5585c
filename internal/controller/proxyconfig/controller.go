// Package proxyconfig puts the proxy of a cluster into force: the status of Proxy/cluster, which everything that
// makes connections out of the cluster reads, and the certificate authorities that are trusted in the cluster.
//
// Input: Proxy, Network.config and Infrastructure (each named cluster), the ConfigMap that the Proxy names in the namespace
// openshift-config, the install-config if there is one, and what the operator's system trusts. Output: the status of the
// Proxy, the ConfigMap trusted-ca-bundle in openshift-config-managed, events on the Proxy, findings of component ProxyConfig.
//
// It must never put a Proxy into force that is wrong or whose readiness endpoints cannot be reached: what was in effect
// before stays. It must never wait for a proxy: endpoints are probed beside it. And it never tells anybody a password.
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

// Name is the name of the loop in logs.
const Name = "proxyconfig"

// fieldManager owns what this loop writes.
const fieldManager = client.FieldOwner("cluster-network-operator/proxyconfig")

// systemInterval is how often the system's trust is looked at: nothing reports when its file changes.
const systemInterval = 10 * time.Minute

// Settings are what of the operator's surroundings affects proxies. The zero value is an ordinary cluster.
type Settings struct {
	// TrustFiles are where the system's certificate authorities may be; the first file that has some counts.
	TrustFiles []string
	// HostedControlPlane is true if the control plane runs in another cluster.
	HostedControlPlane bool
	// ProxyInternalAPIServer is true if the internal address of the API server is reached through the proxy, too.
	ProxyInternalAPIServer bool
}

// Controller is the loop. All exported fields must be set; Settings may be zero.
type Controller struct {
	// Client reads the kinds of config.openshift.io from a cache.
	Client client.Client
	// Live reads single ConfigMaps from the API server, when they have changed.
	Live client.Reader
	Settings
	Board   *report.Board
	Events  events.EventRecorder
	Metrics *Metrics
	Now     func() time.Time
	Log     *slog.Logger

	probes *prober
	wake   trigger.Trigger
	// told are the notes that are events already.
	told map[note]bool
}

// needs are the kinds that the API server must serve.
func needs() []schema.GroupKind {
	return []schema.GroupKind{
		{Group: configv1.GroupName, Kind: "Proxy"}, {Group: configv1.GroupName, Kind: "Network"}, {Group: configv1.GroupName, Kind: "Infrastructure"},
	}
}

// owns is what the controller keeps of ConfigMaps: that they are there, and that they have changed.
func owns() map[client.Object]cache.ByObject {
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

// trim keeps a name and a version.
func trim(o any) (any, error) {
	m, ok := o.(*metav1.PartialObjectMetadata)
	if !ok {
		return o, nil
	}
	kept := metav1.ObjectMeta{Namespace: m.Namespace, Name: m.Name, UID: m.UID, ResourceVersion: m.ResourceVersion}
	return &metav1.PartialObjectMetadata{TypeMeta: m.TypeMeta, ObjectMeta: kept}, nil
}

// Specs returns the controller as data.
func (c *Controller) Specs() []loop.Spec {
	return []loop.Spec{{Name: Name, Needs: needs(), Owns: owns(), Setup: c.setup}}
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

// prepare makes the parts that need no manager.
func (c *Controller) prepare() {
	c.probes = &prober{timeout: probeTimeout, pause: probePause, tries: probeTries, now: c.Now, changed: c.wake.Fire, counts: c.Metrics.probed}
}

// Reconcile puts the Proxy into force, or says why not.
func (c *Controller) Reconcile(ctx context.Context, _ reconcile.Request) (reconcile.Result, error) {
	w, err := c.gather(ctx)
	if err != nil {
		return c.fail(err)
	}
	if w.proxy == nil {
		c.probes.stop()
		c.Board.Report(Name)
		return reconcile.Result{}, nil
	}
	v := judge(w)
	answers, done := c.probes.ask(v.round)
	d := conclude(w, v, answers, done)
	c.Metrics.bundle(v.merged)
	if done {
		c.tell(w.proxy, d.notes)
	}
	if err := c.publish(ctx, w, d); err != nil {
		return c.fail(err)
	}
	if done {
		c.Board.Report(Name, d.findings...)
	}
	return reconcile.Result{RequeueAfter: d.again}, nil
}

// fail reports what could not be read or written, and has it tried again. That a third party has written in between is
// nothing to report.
func (c *Controller) fail(err error) (reconcile.Result, error) {
	if f, ok := errors.AsType[failure](err); ok && !apierrors.IsConflict(err) {
		c.Board.Report(Name, failed(f))
	}
	return reconcile.Result{}, err
}
