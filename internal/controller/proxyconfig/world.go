package proxyconfig

import (
	"context"
	"fmt"
	"time"

	configv1 "github.com/openshift/api/config/v1"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/cluster-network-operator/cno/internal/cabundle"
)

// Where things are in OpenShift.
const (
	clusterName = "cluster"
	// UserNamespace is where administrators put the ConfigMap that a Proxy names.
	UserNamespace = "openshift-config"
	// BundleNamespace and BundleName are where everybody else finds what is to be trusted.
	BundleNamespace = "openshift-config-managed"
	BundleName      = "trusted-ca-bundle"
	// installNamespace, installName and installKey are where OpenShift's installer leaves its configuration.
	installNamespace, installName, installKey = "kube-system", "cluster-config-v1", "install-config"

	// ownerAnnotation tells people whose an object is.
	ownerAnnotation, owner = "openshift.io/owning-component", "Networking / cluster-network-operator"
)

// world is all that a decision is made of.
type world struct {
	now   time.Time
	proxy *configv1.Proxy
	// network, infra, install, user and bundle are nil if there is no such object.
	network *configv1.Network
	infra   *configv1.Infrastructure
	install *corev1.ConfigMap
	// user is the ConfigMap that the Proxy names, and bundle the one that is made of it.
	user, bundle *corev1.ConfigMap
	system       systemTrust
	Settings
}

// gather reads the world. Proxy is nil if there is none; nothing else is read then.
func (c *Controller) gather(ctx context.Context) (*world, error) {
	w := &world{now: c.Now(), Settings: c.Settings}
	var err error
	if w.proxy, err = read(ctx, c.Client, client.ObjectKey{Name: clusterName}, &configv1.Proxy{}); err != nil || w.proxy == nil {
		return w, failure{reasonStatus, "read proxy", err}.orNil()
	}
	if w.network, err = read(ctx, c.Client, client.ObjectKey{Name: clusterName}, &configv1.Network{}); err != nil {
		return w, failure{reasonNetwork, "read networks.config.openshift.io/cluster", err}
	}
	if w.infra, err = read(ctx, c.Client, client.ObjectKey{Name: clusterName}, &configv1.Infrastructure{}); err != nil {
		return w, failure{reasonInfra, "read infrastructure", err}
	}
	if w.install, err = read(ctx, c.Live, client.ObjectKey{Namespace: installNamespace, Name: installName}, &corev1.ConfigMap{}); err != nil {
		return w, failure{reasonCluster, "read install-config", err}
	}
	if w.bundle, err = read(ctx, c.Live, client.ObjectKey{Namespace: BundleNamespace, Name: BundleName}, &corev1.ConfigMap{}); err != nil {
		return w, failure{reasonSync, "read trusted certificates", err}
	}
	switch name := w.proxy.Spec.TrustedCA.Name; name {
	case "":
	case BundleName:
		w.user = w.bundle
	default:
		if w.user, err = read(ctx, c.Live, client.ObjectKey{Namespace: UserNamespace, Name: name}, &corev1.ConfigMap{}); err != nil {
			return w, failure{reasonValidation, "read ConfigMap of trustedCA", err}
		}
	}
	w.system = readSystemTrust(c.TrustFiles)
	return w, nil
}

// read reads an object, nil if there is none.
func read[T client.Object](ctx context.Context, r client.Reader, key client.ObjectKey, into T) (T, error) {
	err := r.Get(ctx, key, into)
	if err == nil {
		return into, nil
	}
	var none T
	return none, client.IgnoreNotFound(err)
}

// failure is something that could not be read or written, with the reason that stands for it.
type failure struct {
	reason, what string
	err          error
}

func (f failure) Error() string { return fmt.Sprintf("%s: %v", f.what, f.err) }
func (f failure) Unwrap() error { return f.err }

// orNil returns the failure, or nothing if there was none.
func (f failure) orNil() error {
	if f.err == nil {
		return nil
	}
	return f
}

// content returns a bundle as it is in a ConfigMap, in either of its two forms.
func content(cm *corev1.ConfigMap) (text []byte, found bool) {
	if data, ok := cm.Data[cabundle.Key]; ok {
		return []byte(data), true
	}
	text, found = cm.BinaryData[cabundle.Key]
	return text, found
}
