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

// credentials has the client certificate in the Secret of agents, and the hash of the bundle that members should trust.
type credentials struct {
	client map[string][]byte
	trust  string
	// operator is the operator's client certificate for a managed etcd; nil if it is the same.
	operator map[string][]byte
}

// own returns the operator's client certificate.
func (c credentials) own() map[string][]byte {
	if c.operator != nil {
		return c.operator
	}
	return c.client
}

// clientTrust returns the hash of the files that agents read at their start; empty if there are none.
func (c credentials) clientTrust() string {
	if len(c.client) == 0 {
		return ""
	}
	return etcdcluster.Hash(string(c.client[corev1.TLSCertKey]), string(c.client[etcdcluster.BundleKey]))
}

// ensureManaged creates the CA of the managed etcd and the certificates of its members and clients, and replaces them before they expire.
func (e *Manager) ensureManaged(ctx context.Context, members []etcdcluster.Member, identity bool) (credentials, error) {
	rotation, err := e.ensureCA(ctx, members)
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

// leaf is a certificate of the managed etcd in a Secret.
type leaf struct {
	client.ObjectKey
	want certs.Request
}

// leaves returns the certificates of the members and the operator, and the shared certificate of agents unless every node has its own.
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

// rootKey returns the name of the Secret with the operator's client certificate.
func (e *Manager) rootKey() client.ObjectKey {
	return client.ObjectKey{Namespace: e.deps.Namespace, Name: e.cluster.RootSecret()}
}

func trustOf(r certs.Rotation) string { return etcdcluster.Hash(string(r.Bundle().PEM())) }

// spread reports whether all running members have the bundle with the given hash. A member that is down but has, or will start with, the bundle counts,
// since it rejects no certificate.
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

// ensureCA advances the rotation of the CA after all members have started with its bundle.
func (e *Manager) ensureCA(ctx context.Context, members []etcdcluster.Member) (certs.Rotation, error) {
	data, err := e.readSecret(ctx, e.deps.Namespace, e.cluster.CASecret())
	if err != nil {
		return certs.Rotation{}, err
	}
	if len(data) == 0 {
		return e.replaceCA(ctx, members)
	}
	r, err := DecodeRotation(data)
	if err != nil {
		return certs.Rotation{}, fmt.Errorf("read Secret %s/%s: %w; restore it from a backup, or delete it: the operator then creates another CA, "+
			"restarts the members of %s one at a time so that they trust both, and replaces their certificates a day later",
			e.deps.Namespace, e.cluster.CASecret(), err, e.cluster.Title())
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
	return r, e.writeCA(ctx, r)
}

// replaceCA creates the first CA, or a replacement for a CA whose Secret was deleted. The certificate of the lost CA remains in the bundle, because members
// trust only that CA until they restart.
func (e *Manager) replaceCA(ctx context.Context, members []etcdcluster.Member) (certs.Rotation, error) {
	before, err := e.trustedBefore(ctx, members)
	if err != nil {
		return certs.Rotation{}, err
	}
	r, _, err := certs.Rotation{}.Step(Policy(e.cluster), e.deps.Now())
	if err != nil {
		return r, err
	}
	r.Previous = before
	return r, e.writeCA(ctx, r)
}

func (e *Manager) writeCA(ctx context.Context, r certs.Rotation) error {
	return e.writeSecret(ctx, e.deps.Namespace, e.cluster.CASecret(), encodeRotation(r), "CA of "+e.cluster.Title())
}

// trustedBefore returns the CAs in the bundles of clients and members. It uses the readable parts of damaged bundles, which are replaced soon.
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

// ensureBundle removes the shared certificate from the Secret of agents, which then only has the CAs.
func (e *Manager) ensureBundle(ctx context.Context, r certs.Rotation) (map[string][]byte, error) {
	fresh := map[string][]byte{corev1.TLSCertKey: {}, corev1.TLSPrivateKeyKey: {}, etcdcluster.BundleKey: r.Bundle().PEM()}
	data, err := e.readSecret(ctx, e.cluster.Namespace, e.cluster.ClientSecret())
	if err != nil || maps.EqualFunc(data, fresh, bytes.Equal) {
		return data, err
	}
	return fresh, e.writeSecret(ctx, e.cluster.Namespace, e.cluster.ClientSecret(), fresh, "agents present their own certificates")
}

func (e *Manager) ensureLeaf(ctx context.Context, l leaf, issue issuer) (map[string][]byte, error) {
	data, err := e.readSecret(ctx, l.Namespace, l.Name)
	if err != nil {
		return nil, err
	}
	fresh, why, err := issue.refresh(data, l.want)
	if err != nil {
		return nil, err
	}
	if maps.EqualFunc(data, fresh, bytes.Equal) {
		return data, nil
	}
	if why == "" {
		why = "has a new bundle"
	}
	return fresh, e.writeSecret(ctx, l.Namespace, l.Name, fresh, "certificate "+why)
}

// copyExternal copies the user's CA bundle and client certificate from the operator's namespace to the network's. problem is a message if they are missing
// or invalid.
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
		return credentials{}, fmt.Sprintf("ConfigMap %s/%s must have the CAs of the external etcd under the key %s, in PEM form%s", e.deps.Namespace, x.CAConfigMap, key, because(err, parseErr)), nil
	}
	fresh[etcdcluster.BundleKey] = bundle.PEM()
	fresh[corev1.TLSCertKey], fresh[corev1.TLSPrivateKeyKey] = []byte{}, []byte{}
	if x.ClientSecret != "" {
		data, err := e.readSecret(ctx, e.deps.Namespace, x.ClientSecret)
		if err != nil {
			return credentials{}, "", err
		}
		if len(data[corev1.TLSCertKey]) == 0 || len(data[corev1.TLSPrivateKeyKey]) == 0 {
			return credentials{}, fmt.Sprintf("Secret %s/%s must have the client certificate and key for the external etcd under the keys tls.crt and tls.key; create it with kubectl create secret tls", e.deps.Namespace, x.ClientSecret), nil
		}
		fresh[corev1.TLSCertKey], fresh[corev1.TLSPrivateKeyKey] = data[corev1.TLSCertKey], data[corev1.TLSPrivateKeyKey]
	}
	live, err := e.readSecret(ctx, e.cluster.Namespace, e.cluster.ClientSecret())
	if err == nil && !maps.EqualFunc(live, fresh, bytes.Equal) {
		err = e.writeSecret(ctx, e.cluster.Namespace, e.cluster.ClientSecret(), fresh, "copy of the user's certificates")
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

// readSecret returns the data of a Secret; nil if it does not exist.
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

// writeSecret creates or updates a Secret, and logs the reason why.
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

func (e *Manager) labels(existing map[string]string) map[string]string {
	out := maps.Clone(existing)
	if out == nil {
		out = map[string]string{}
	}
	out[manifest.LabelManagedBy], out[manifest.LabelComponent] = manifest.ManagedBy, e.cluster.Component
	return out
}
