package controller

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
	"github.com/cluster-network-operator/cno/internal/manifest"
	"github.com/cluster-network-operator/cno/providers/flannel/record"
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
	return record.Hash(string(c.client[corev1.TLSCertKey]), string(c.client[record.BundleKey]))
}

// ensureManaged creates the CA of the managed etcd and the certificates of its members and clients, and replaces them
// in time.
func (c *Controller) ensureManaged(ctx context.Context, members []record.Member, identity bool) (credentials, error) {
	rotation, err := c.ensureAuthority(ctx, members)
	if err != nil {
		return credentials{}, err
	}
	issue, cred := c.issuer(ctx, members, rotation), credentials{trust: trustOf(rotation)}
	for _, l := range c.leaves(members, identity) {
		data, err := c.ensureLeaf(ctx, l, issue)
		if err != nil {
			return credentials{}, err
		}
		switch l.Name {
		case record.ClientSecret:
			cred.client = data
		case record.RootSecret:
			cred.operator = data
		}
	}
	if identity {
		cred.client, err = c.ensureBundle(ctx, rotation)
	}
	return cred, err
}

// issuer returns an issuer of certificates for the members.
func (c *Controller) issuer(ctx context.Context, members []record.Member, r certs.Rotation) issuer {
	return issuer{rotation: r, now: c.deps.Now(), spread: sync.OnceValues(func() (bool, error) { return c.spread(ctx, members, trustOf(r)) })}
}

// leaf is a certificate of the managed etcd that the operator keeps in a Secret.
type leaf struct {
	client.ObjectKey
	want certs.Request
}

// leaves returns the certificates of the members, of the operator, and, unless every node has an identity of its own,
// the one that agents share.
func (c *Controller) leaves(members []record.Member, identity bool) []leaf {
	var out []leaf
	for _, m := range members {
		out = append(out, leaf{client.ObjectKey{Namespace: record.Namespace, Name: record.MemberSecret(m.Node)}, memberRequest(m)})
	}
	out = append(out, leaf{c.rootKey(), rootRequest()})
	if !identity {
		out = append(out, leaf{client.ObjectKey{Namespace: record.Namespace, Name: record.ClientSecret}, clientRequest()})
	}
	return out
}

// rootKey names the Secret of what the operator presents to the managed etcd.
func (c *Controller) rootKey() client.ObjectKey {
	return client.ObjectKey{Namespace: c.deps.Namespace, Name: record.RootSecret}
}

func trustOf(r certs.Rotation) string { return record.Hash(string(r.Bundle().PEM())) }

// spread reports whether no member runs with another bundle than that of the given hash. A member that is down counts if
// it has started with that bundle before, or will: it rejects nothing.
func (c *Controller) spread(ctx context.Context, members []record.Member, trust string) (bool, error) {
	for _, m := range members {
		if !m.Runs() {
			continue
		}
		if m.Trust != trust {
			return false, nil
		}
		if d, err := c.replaced(ctx, m); err != nil || d == nil {
			return false, err
		}
	}
	return true, nil
}

// ensureAuthority advances the rotation, but not while members have yet to start with its bundle.
func (c *Controller) ensureAuthority(ctx context.Context, members []record.Member) (certs.Rotation, error) {
	data, err := c.readSecret(ctx, c.deps.Namespace, record.AuthoritySecret)
	if err != nil {
		return certs.Rotation{}, err
	}
	if len(data) == 0 {
		return c.replaceAuthority(ctx, members)
	}
	r, err := decodeRotation(data)
	if err != nil {
		return certs.Rotation{}, fmt.Errorf("read Secret %s/%s: %w; restore it from a backup, or delete it: the operator then creates another CA, "+
			"restarts flannel's etcd members one at a time so that they trust both, and replaces their certificates a day later",
			c.deps.Namespace, record.AuthoritySecret, err)
	}
	for _, m := range members {
		if m.Runs() && m.Trust != trustOf(r) && c.deps.Now().Before(r.Current.Certificate().NotAfter) {
			return r, nil
		}
	}
	r, changed, err := r.Step(policy(), c.deps.Now())
	if err != nil || !changed {
		return r, err
	}
	return r, c.writeAuthority(ctx, r)
}

// replaceAuthority creates the first CA, or one in place of a CA whose Secret was deleted. The certificate of the lost
// one stays in the bundle: members trust only what it has signed until they restart.
func (c *Controller) replaceAuthority(ctx context.Context, members []record.Member) (certs.Rotation, error) {
	before, err := c.trustedBefore(ctx, members)
	if err != nil {
		return certs.Rotation{}, err
	}
	r, _, err := certs.Rotation{}.Step(policy(), c.deps.Now())
	if err != nil {
		return r, err
	}
	r.Previous = before
	return r, c.writeAuthority(ctx, r)
}

func (c *Controller) writeAuthority(ctx context.Context, r certs.Rotation) error {
	return c.writeSecret(ctx, c.deps.Namespace, record.AuthoritySecret, encodeRotation(r), "CA of flannel's etcd")
}

// trustedBefore returns the CAs in the bundles of clients and members: agents have one even if they share no
// certificate. Bundles that cannot be read in full are replaced soon; what can be read of them is used.
func (c *Controller) trustedBefore(ctx context.Context, members []record.Member) (certs.Bundle, error) {
	var out certs.Bundle
	for _, l := range c.leaves(members, false) {
		data, err := c.readSecret(ctx, l.Namespace, l.Name)
		if err != nil {
			return nil, err
		}
		out = out.With(certs.Salvage(data[record.BundleKey])...)
	}
	// The clients' Secret may still hold the bundle of an external etcd.
	out = slices.DeleteFunc(out, func(ca *x509.Certificate) bool { return !strings.HasPrefix(ca.Subject.CommonName, policy().Name+"@") })
	return out.Live(c.deps.Now()), nil
}

// ensureBundle leaves in the Secret of agents only the CAs: each node has a certificate of its own.
func (c *Controller) ensureBundle(ctx context.Context, r certs.Rotation) (map[string][]byte, error) {
	fresh := map[string][]byte{corev1.TLSCertKey: {}, corev1.TLSPrivateKeyKey: {}, record.BundleKey: r.Bundle().PEM()}
	data, err := c.readSecret(ctx, record.Namespace, record.ClientSecret)
	if err != nil || maps.EqualFunc(data, fresh, bytes.Equal) {
		return data, err
	}
	return fresh, c.writeSecret(ctx, record.Namespace, record.ClientSecret, fresh, "agents present certificates of their own")
}

func (c *Controller) ensureLeaf(ctx context.Context, l leaf, issue issuer) (map[string][]byte, error) {
	data, err := c.readSecret(ctx, l.Namespace, l.Name)
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
	return fresh, c.writeSecret(ctx, l.Namespace, l.Name, fresh, "certificate "+why)
}

// copyExternal brings what a user has named in the operator's namespace to where agents can mount it. The problem
// is a sentence if what is named cannot be used.
func (c *Controller) copyExternal(ctx context.Context, x record.External) (cred credentials, problem string, err error) {
	if x.CAConfigMap == "" {
		return credentials{}, "", nil
	}
	fresh := map[string][]byte{}
	var cm corev1.ConfigMap
	err = c.deps.Client.Get(ctx, client.ObjectKey{Namespace: c.deps.Namespace, Name: x.CAConfigMap}, &cm)
	if client.IgnoreNotFound(err) != nil {
		return credentials{}, "", fmt.Errorf("read ConfigMap %s/%s: %w", c.deps.Namespace, x.CAConfigMap, err)
	}
	const key = "ca-bundle.crt"
	bundle, parseErr := certs.ParseBundle([]byte(cm.Data[key]))
	if err != nil || parseErr != nil || len(bundle) == 0 {
		return credentials{}, fmt.Sprintf("ConfigMap %s/%s must hold the authorities of the external etcd under the key %s, in PEM form%s", c.deps.Namespace, x.CAConfigMap, key, because(err, parseErr)), nil
	}
	fresh[record.BundleKey] = bundle.PEM()
	fresh[corev1.TLSCertKey], fresh[corev1.TLSPrivateKeyKey] = []byte{}, []byte{}
	if x.ClientSecret != "" {
		data, err := c.readSecret(ctx, c.deps.Namespace, x.ClientSecret)
		if err != nil {
			return credentials{}, "", err
		}
		if len(data[corev1.TLSCertKey]) == 0 || len(data[corev1.TLSPrivateKeyKey]) == 0 {
			return credentials{}, fmt.Sprintf("Secret %s/%s must hold the certificate and key to present to the external etcd, under the keys tls.crt and tls.key; create it with kubectl create secret tls", c.deps.Namespace, x.ClientSecret), nil
		}
		fresh[corev1.TLSCertKey], fresh[corev1.TLSPrivateKeyKey] = data[corev1.TLSCertKey], data[corev1.TLSPrivateKeyKey]
	}
	have, err := c.readSecret(ctx, record.Namespace, record.ClientSecret)
	if err == nil && !maps.EqualFunc(have, fresh, bytes.Equal) {
		err = c.writeSecret(ctx, record.Namespace, record.ClientSecret, fresh, "copy of what the user has named")
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
func (c *Controller) readSecret(ctx context.Context, namespace, name string) (map[string][]byte, error) {
	var s corev1.Secret
	err := c.deps.Client.Get(ctx, client.ObjectKey{Namespace: namespace, Name: name}, &s)
	if apierrors.IsNotFound(err) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read Secret %s/%s: %w", namespace, name, err)
	}
	return s.Data, nil
}

// writeSecret creates or updates a Secret. Why goes to the log.
func (c *Controller) writeSecret(ctx context.Context, namespace, name string, data map[string][]byte, why string) error {
	s := corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}}
	err := c.deps.Client.Get(ctx, client.ObjectKeyFromObject(&s), &s)
	switch {
	case apierrors.IsNotFound(err):
		s.Type, s.Data, s.Labels = corev1.SecretTypeTLS, data, labels(nil)
		err = c.deps.Client.Create(ctx, &s, owner)
	case err == nil:
		s.Data, s.Labels = data, labels(s.Labels)
		err = c.deps.Client.Update(ctx, &s, owner)
	}
	if err != nil {
		return fmt.Errorf("write Secret %s/%s: %w", namespace, name, err)
	}
	c.deps.Log.Info("wrote Secret", "namespace", namespace, "name", name, "why", why)
	return nil
}

func labels(have map[string]string) map[string]string {
	out := maps.Clone(have)
	if out == nil {
		out = map[string]string{}
	}
	out[manifest.LabelManagedBy], out[manifest.LabelComponent] = manifest.ManagedBy, record.Component
	return out
}
