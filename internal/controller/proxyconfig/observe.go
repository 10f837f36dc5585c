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

// Locations of objects in OpenShift.
const (
	clusterName = "cluster"
	// UserNamespace is the namespace of the ConfigMap that a Proxy names.
	UserNamespace = "openshift-config"
	// BundleNamespace and BundleName locate the merged trust bundle.
	BundleNamespace = "openshift-config-managed"
	BundleName      = "trusted-ca-bundle"
	// installNamespace, installName and installKey locate the installer's configuration.
	installNamespace, installName, installKey = "kube-system", "cluster-config-v1", "install-config"

	// ownerAnnotation names the owner of an object for users.
	ownerAnnotation, owner = "openshift.io/owning-component", "Networking / cluster-network-operator"
)

// input is the input of a decision.
type input struct {
	now   time.Time
	proxy *configv1.Proxy
	// network, infra, install, user and bundle are nil if they do not exist.
	network *configv1.Network
	infra   *configv1.Infrastructure
	install *corev1.ConfigMap
	// user is the ConfigMap that the Proxy names; bundle is the merged one.
	user, bundle *corev1.ConfigMap
	system       systemTrust
	Settings
}

// observe reads the input. If there is no Proxy, it is nil and nothing else is read.
func (c *Controller) observe(ctx context.Context) (*input, error) {
	w := &input{now: c.Now(), Settings: c.Settings}
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

// read reads an object. It returns nil if the object does not exist.
func read[T client.Object](ctx context.Context, r client.Reader, key client.ObjectKey, into T) (T, error) {
	err := r.Get(ctx, key, into)
	if err == nil {
		return into, nil
	}
	var none T
	return none, client.IgnoreNotFound(err)
}

// failure is an error of reading or writing, with the reason for the finding.
type failure struct {
	reason, what string
	err          error
}

func (f failure) Error() string { return fmt.Sprintf("%s: %v", f.what, f.err) }
func (f failure) Unwrap() error { return f.err }

// orNil returns the failure, or nil if it has no error.
func (f failure) orNil() error {
	if f.err == nil {
		return nil
	}
	return f
}

// content returns the bundle in a ConfigMap, from data or binaryData.
func content(cm *corev1.ConfigMap) (text []byte, found bool) {
	if data, ok := cm.Data[cabundle.Key]; ok {
		return []byte(data), true
	}
	text, found = cm.BinaryData[cabundle.Key]
	return text, found
}
