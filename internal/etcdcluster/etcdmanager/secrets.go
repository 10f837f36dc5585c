package etcdmanager

import (
	"bytes"
	"context"
	"crypto/x509"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/cluster-network-operator/cno/internal/certs"
	"github.com/cluster-network-operator/cno/internal/etcdcluster"
	"github.com/cluster-network-operator/cno/internal/manifest"
)

// credentials are what is presented to etcd, as the Secret for agents holds it, and what members are to trust.
type credentials struct {
	client map[string][]byte
	trust  string
	// operator is what the operator presents to a managed etcd; nil if it is the same.
	operator map[string][]byte
}

// own is what the operator presents to etcd.
func (c credentials) own() map[string][]byte {
	if c.operator != nil {
		return c.operator
	}
	return c.client
}

// clientTrust is the hash of what agents read once; it is empty if they read nothing.
func (c credentials) clientTrust() string {
	if len(c.client) == 0 {
		return ""
	}
	return etcdcluster.Hash(string(c.client[corev1.TLSCertKey]), string(c.client[etcdcluster.BundleKey]))
}

// ensureManaged creates the CA of the managed etcd and the certificates of its members and clients, and replaces them
// in time.
func (e *Manager) ensureManaged(ctx context.Context, members []etcdcluster.Member, identity bool) (credentials, error) {
	rotation, err := e.ensureAuthority(ctx, members)
	if err != nil {
		return credentials{}, err
	}
	issue, cred := e.issuer(ctx, members, rotation), credentials{trust: trustOf(rotation)}
	for _, l := range e.leaves(members, identity) {
		data, err := e.ensureLeaf(ctx, l, issue)
		if err != nil {
			return credentials{}, err
		}
		switch l.Name {
		case e.cluster.ClientSecret():
			cred.client = data
		case e.cluster.RootSecret():
			cred.operator = data
		}
	}
	if identity {
		cred.client, err = e.ensureBundle(ctx, rotation)
	}
	return cred, err
}

// issuer returns an issuer of certificates for the members.
func (e *Manager) issuer(ctx context.Context, members []etcdcluster.Member, r certs.Rotation) issuer {
	return issuer{policy: Policy(e.cluster), rotation: r, now: e.deps.Now(), spread: sync.OnceValues(func() (bool, error) { return e.spread(ctx, members, trustOf(r)) })}
}

// leaf is a certificate of the managed etcd that the operator keeps in a Secret.
type leaf struct {
	client.ObjectKey
	want certs.Request
}

// leaves returns the certificates of the members, of the operator, and, unless every node has an identity of its own,
// the one that agents share.
func (e *Manager) leaves(members []etcdcluster.Member, identity bool) []leaf {
	var out []leaf
	for _, m := range members {
		out = append(out, leaf{client.ObjectKey{Namespace: e.cluster.Namespace, Name: e.cluster.MemberSecret(m.Node)}, m.CertificateRequest()})
	}
	out = append(out, leaf{e.rootKey(), etcdcluster.RootRequest()})
	if !identity {
		out = append(out, leaf{client.ObjectKey{Namespace: e.cluster.Namespace, Name: e.cluster.ClientSecret()}, e.cluster.ClientRequest()})
	}
	return out
}

// rootKey names the Secret of what the operator presents to the managed etcd.
func (e *Manager) rootKey() client.ObjectKey {
	return client.ObjectKey{Namespace: e.deps.Namespace, Name: e.cluster.RootSecret()}
}

func trustOf(r certs.Rotation) string { return etcdcluster.Hash(string(r.Bundle().PEM())) }

// spread reports whether no member runs with another bundle than that of the given hash. A member that is down counts if
// it has started with that bundle before, or will: it rejects nothing.
func (e *Manager) spread(ctx context.Context, members []etcdcluster.Member, trust string) (bool, error) {
	for _, m := range members {
		if !m.Runs() {
			continue
		}
		if m.Trust != trust {
			return false, nil
		}
		if d, err := e.replaced(ctx, m); err != nil || d == nil {
			return false, err
		}
	}
	return true, nil
}

// ensureAuthority advances the rotation, but not while members have yet to start with its bundle.
func (e *Manager) ensureAuthority(ctx context.Context, members []etcdcluster.Member) (certs.Rotation, error) {
	data, err := e.readSecret(ctx, e.deps.Namespace, e.cluster.AuthoritySecret())
	if err != nil {
		return certs.Rotation{}, err
	}
	if len(data) == 0 {
		return e.replaceAuthority(ctx, members)
	}
	r, err := DecodeRotation(data)
	if err != nil {
		return certs.Rotation{}, fmt.Errorf("read Secret %s/%s: %w; restore it from a backup, or delete it: the operator then creates another CA, "+
			"restarts the members of %s one at a time so that they trust both, and replaces their certificates a day later",
			e.deps.Namespace, e.cluster.AuthoritySecret(), err, e.cluster.Title())
	}
	for _, m := range members {
		if m.Runs() && m.Trust != trustOf(r) && e.deps.Now().Before(r.Current.Certificate().NotAfter) {
			return r, nil
		}
	}
	r, changed, err := r.Step(Policy(e.cluster), e.deps.Now())
	if err != nil || !changed {
		return r, err
	}
	return r, e.writeAuthority(ctx, r)
}

// replaceAuthority creates the first CA, or one in place of a CA whose Secret was deleted. The certificate of the lost
// one stays in the bundle: members trust only what it has signed until they restart.
func (e *Manager) replaceAuthority(ctx context.Context, members []etcdcluster.Member) (certs.Rotation, error) {
	before, err := e.trustedBefore(ctx, members)
	if err != nil {
		return certs.Rotation{}, err
	}
	r, _, err := certs.Rotation{}.Step(Policy(e.cluster), e.deps.Now())
	if err != nil {
		return r, err
	}
	r.Previous = before
	return r, e.writeAuthority(ctx, r)
}

func (e *Manager) writeAuthority(ctx context.Context, r certs.Rotation) error {
	return e.writeSecret(ctx, e.deps.Namespace, e.cluster.AuthoritySecret(), encodeRotation(r), "CA of "+e.cluster.Title())
}

// trustedBefore returns the CAs in the bundles of clients and members: agents have one even if they share no
// certificate. Bundles that cannot be read in full are replaced soon; what can be read of them is used.
func (e *Manager) trustedBefore(ctx context.Context, members []etcdcluster.Member) (certs.Bundle, error) {
	var out certs.Bundle
	for _, l := range e.leaves(members, false) {
		data, err := e.readSecret(ctx, l.Namespace, l.Name)
		if err != nil {
			return nil, err
		}
		out = out.With(certs.Salvage(data[etcdcluster.BundleKey])...)
	}
	// The clients' Secret may still hold the bundle of an external etcd.
	out = slices.DeleteFunc(out, func(ca *x509.Certificate) bool {
		return !strings.HasPrefix(ca.Subject.CommonName, Policy(e.cluster).Name+"@")
	})
	return out.Live(e.deps.Now()), nil
}

// ensureBundle leaves in the Secret of agents only the CAs: each node has a certificate of its own.
func (e *Manager) ensureBundle(ctx context.Context, r certs.Rotation) (map[string][]byte, error) {
	fresh := map[string][]byte{corev1.TLSCertKey: {}, corev1.TLSPrivateKeyKey: {}, etcdcluster.BundleKey: r.Bundle().PEM()}
	data, err := e.readSecret(ctx, e.cluster.Namespace, e.cluster.ClientSecret())
	if err != nil || maps.EqualFunc(data, fresh, bytes.Equal) {
		return data, err
	}
	return fresh, e.writeSecret(ctx, e.cluster.Namespace, e.cluster.ClientSecret(), fresh, "agents present certificates of their own")
}

func (e *Manager) ensureLeaf(ctx context.Context, l leaf, issue issuer) (map[string][]byte, error) {
	data, err := e.readSecret(ctx, l.Namespace, l.Name)
	if err != nil {
		return nil, err
	}
	fresh, why, err := issue.refreshed(data, l.want)
	if err != nil {
		return nil, err
	}
	if maps.EqualFunc(data, fresh, bytes.Equal) {
		return data, nil
	}
	if why == "" {
		why = "has a new bundle beside it"
	}
	return fresh, e.writeSecret(ctx, l.Namespace, l.Name, fresh, "certificate "+why)
}

// copyExternal brings what a user has named in the operator's namespace to where agents can mount it. The problem
// is a sentence if what is named cannot be used.
func (e *Manager) copyExternal(ctx context.Context, x etcdcluster.External) (cred credentials, problem string, err error) {
	if x.CAConfigMap == "" {
		return credentials{}, "", nil
	}
	fresh := map[string][]byte{}
	var cm corev1.ConfigMap
	err = e.deps.Client.Get(ctx, client.ObjectKey{Namespace: e.deps.Namespace, Name: x.CAConfigMap}, &cm)
	if client.IgnoreNotFound(err) != nil {
		return credentials{}, "", fmt.Errorf("read ConfigMap %s/%s: %w", e.deps.Namespace, x.CAConfigMap, err)
	}
	const key = "ca-bundle.crt"
	bundle, parseErr := certs.ParseBundle([]byte(cm.Data[key]))
	if err != nil || parseErr != nil || len(bundle) == 0 {
		return credentials{}, fmt.Sprintf("ConfigMap %s/%s must hold the authorities of the external etcd under the key %s, in PEM form%s", e.deps.Namespace, x.CAConfigMap, key, because(err, parseErr)), nil
	}
	fresh[etcdcluster.BundleKey] = bundle.PEM()
	fresh[corev1.TLSCertKey], fresh[corev1.TLSPrivateKeyKey] = []byte{}, []byte{}
	if x.ClientSecret != "" {
		data, err := e.readSecret(ctx, e.deps.Namespace, x.ClientSecret)
		if err != nil {
			return credentials{}, "", err
		}
		if len(data[corev1.TLSCertKey]) == 0 || len(data[corev1.TLSPrivateKeyKey]) == 0 {
			return credentials{}, fmt.Sprintf("Secret %s/%s must hold the certificate and key to present to the external etcd, under the keys tls.crt and tls.key; create it with kubectl create secret tls", e.deps.Namespace, x.ClientSecret), nil
		}
		fresh[corev1.TLSCertKey], fresh[corev1.TLSPrivateKeyKey] = data[corev1.TLSCertKey], data[corev1.TLSPrivateKeyKey]
	}
	have, err := e.readSecret(ctx, e.cluster.Namespace, e.cluster.ClientSecret())
	if err == nil && !maps.EqualFunc(have, fresh, bytes.Equal) {
		err = e.writeSecret(ctx, e.cluster.Namespace, e.cluster.ClientSecret(), fresh, "copy of what the user has named")
	}
	return credentials{client: fresh}, "", err
}

func because(errs ...error) string {
	for _, err := range errs {
		if err != nil {
			return ": " + err.Error()
		}
	}
	return ""
}

// readSecret returns the data of a Secret; nil if there is none.
func (e *Manager) readSecret(ctx context.Context, namespace, name string) (map[string][]byte, error) {
	var s corev1.Secret
	err := e.deps.Client.Get(ctx, client.ObjectKey{Namespace: namespace, Name: name}, &s)
	if apierrors.IsNotFound(err) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read Secret %s/%s: %w", namespace, name, err)
	}
	return s.Data, nil
}

// writeSecret creates or updates a Secret. Why goes to the log.
func (e *Manager) writeSecret(ctx context.Context, namespace, name string, data map[string][]byte, why string) error {
	s := corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}}
	err := e.deps.Client.Get(ctx, client.ObjectKeyFromObject(&s), &s)
	switch {
	case apierrors.IsNotFound(err):
		s.Type, s.Data, s.Labels = corev1.SecretTypeTLS, data, e.labels(nil)
		err = e.deps.Client.Create(ctx, &s, e.owner)
	case err == nil:
		s.Data, s.Labels = data, e.labels(s.Labels)
		err = e.deps.Client.Update(ctx, &s, e.owner)
	}
	if err != nil {
		return fmt.Errorf("write Secret %s/%s: %w", namespace, name, err)
	}
	e.deps.Log.Info("wrote Secret", "namespace", namespace, "name", name, "why", why)
	return nil
}

func (e *Manager) labels(have map[string]string) map[string]string {
	out := maps.Clone(have)
	if out == nil {
		out = map[string]string{}
	}
	out[manifest.LabelManagedBy], out[manifest.LabelComponent] = manifest.ManagedBy, e.cluster.Component
	return out
}
