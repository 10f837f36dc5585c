package proxyconfig

import (
	"context"

	configv1 "github.com/openshift/api/config/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	corev1ac "k8s.io/client-go/applyconfigurations/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/cluster-network-operator/cno/internal/cabundle"
	"github.com/cluster-network-operator/cno/internal/eventaction"
	"github.com/cluster-network-operator/cno/internal/phrase"
)

// publish writes the bundle and the status if they differ.
func (c *Controller) publish(ctx context.Context, w *input, d decision) error {
	if d.bundle != nil && !bundleMatches(w.bundle, *d.bundle) {
		cm := corev1ac.ConfigMap(BundleName, BundleNamespace).
			WithAnnotations(map[string]string{ownerAnnotation: owner}).
			WithData(map[string]string{cabundle.Key: *d.bundle})
		if err := c.Client.Apply(ctx, cm, fieldManager, client.ForceOwnership); err != nil {
			return failure{reasonEnsure, "write ConfigMap " + BundleNamespace + "/" + BundleName, err}
		}
		c.Log.Info("wrote trusted certificates", "system", w.system.path, "bytes", len(*d.bundle))
	}
	if d.status == nil || *d.status == w.proxy.Status {
		return nil
	}
	next := w.proxy.DeepCopy()
	next.Status = *d.status
	err := c.Client.Status().Update(ctx, next, fieldManager)
	if apierrors.IsNotFound(err) {
		return nil
	}
	if err != nil {
		return failure{reasonStatus, "write status of proxy", err}
	}
	c.Log.Info("set the proxy", "noProxy", d.status.NoProxy)
	c.event(w.proxy, corev1.EventTypeNormal, reasonFollowed, statusMessage(d.status))
	return nil
}

func statusMessage(s *configv1.ProxyStatus) string {
	if *s == (configv1.ProxyStatus{}) {
		return "the cluster uses no proxy"
	}
	return "the cluster uses the proxy of this specification with noProxy " + s.NoProxy
}

func bundleMatches(cm *corev1.ConfigMap, bundle string) bool {
	return cm != nil && cm.Data[cabundle.Key] == bundle && cm.Annotations[ownerAnnotation] == owner
}

// recordEvents records an event for every new note.
func (c *Controller) recordEvents(proxy *configv1.Proxy, notes []note) {
	current := map[note]bool{}
	for _, n := range notes {
		current[n] = true
		if !c.recorded[n] {
			c.event(proxy, corev1.EventTypeWarning, n.reason, n.message)
		}
	}
	c.recorded = current
}

// event records an event about the Proxy.
func (c *Controller) event(proxy *configv1.Proxy, kind, reason, text string) {
	c.Events.Eventf(eventSubject(proxy), nil, kind, reason, eventaction.Of("Reconcile", text), "%s", phrase.Note(text))
}

// eventSubject returns the Proxy with its kind set, which cached objects lack and events need.
func eventSubject(proxy *configv1.Proxy) *configv1.Proxy {
	p := proxy.DeepCopy()
	p.SetGroupVersionKind(configv1.GroupVersion.WithKind("Proxy"))
	return p
}
