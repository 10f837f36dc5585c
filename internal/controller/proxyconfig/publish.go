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
)

// publish writes what was decided, where it differs.
func (c *Controller) publish(ctx context.Context, w *world, d decision) error {
	if d.bundle != nil && !bundleIs(w.bundle, *d.bundle) {
		cm := corev1ac.ConfigMap(BundleName, BundleNamespace).
			WithAnnotations(map[string]string{ownerAnnotation: owner}).
			WithData(map[string]string{cabundle.Key: *d.bundle})
		if err := c.Client.Apply(ctx, cm, fieldManager, client.ForceOwnership); err != nil {
			return failure{reasonEnsure, "write ConfigMap " + BundleNamespace + "/" + BundleName, err}
		}
		c.Log.Info("trusted certificates are written", "system", w.system.path, "bytes", len(*d.bundle))
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
	c.Log.Info("proxy is set", "noProxy", d.status.NoProxy)
	c.Events.Eventf(about(w.proxy), nil, corev1.EventTypeNormal, reasonFollowed, eventaction.Of("Reconcile", followed(d.status)), "%s", followed(d.status))
	return nil
}

func followed(s *configv1.ProxyStatus) string {
	if *s == (configv1.ProxyStatus{}) {
		return "the cluster uses no proxy"
	}
	return "the cluster uses the proxy of this specification; noProxy is " + short(s.NoProxy)
}

func bundleIs(cm *corev1.ConfigMap, bundle string) bool {
	return cm != nil && cm.Data[cabundle.Key] == bundle && cm.Annotations[ownerAnnotation] == owner
}

// longestNote is how many bytes the API server lets the text of an event have, with some room for the mark that it was
// cut.
const longestNote = 1000

func short(text string) string {
	if len(text) <= longestNote {
		return text
	}
	return text[:longestNote] + "..."
}

// tell makes an event of every note that was not there the last time.
func (c *Controller) tell(proxy *configv1.Proxy, notes []note) {
	current := map[note]bool{}
	for _, n := range notes {
		current[n] = true
		if !c.told[n] {
			c.Events.Eventf(about(proxy), nil, corev1.EventTypeWarning, n.reason, eventaction.Of("Reconcile", n.message), "%s", short(n.message))
		}
	}
	c.told = current
}

// about is the Proxy with its kind, which objects from a cache do not have, and events need.
func about(proxy *configv1.Proxy) *configv1.Proxy {
	p := proxy.DeepCopy()
	p.SetGroupVersionKind(configv1.GroupVersion.WithKind("Proxy"))
	return p
}
