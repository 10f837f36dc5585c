package etcdmanager

import (
	"bytes"
	"context"
	"fmt"
	"maps"

	"github.com/cluster-network-operator/cno/internal/certs"
	"github.com/cluster-network-operator/cno/internal/etcdcluster"
	"github.com/cluster-network-operator/cno/internal/status"
)

// Observe reports how etcd is while the network is not to be changed. It writes nothing but certificates
// that are about to expire, without which etcd would stop. ok is false while etcd does not answer.
func (r *Run) Observe(ctx context.Context) (ok bool, err error) {
	if r.Settings.Managed != nil {
		if err := r.renew(ctx, r.Members); err != nil {
			return false, err
		}
	}
	cred, missing, err := r.existing(ctx)
	if err != nil {
		return false, err
	}
	if missing != "" && len(r.Members.ClientTrust) > 0 {
		r.Findings = append(r.Findings, r.Finding(status.Degraded, "EtcdCredentials",
			fmt.Sprintf("Secret %s is missing, without which agents or the operator have no access to etcd; the operator creates it when the network is managed again", missing)))
		return false, nil
	}
	if err := r.connect(cred); err != nil {
		return false, err
	}
	if r.Settings.Managed == nil {
		return r.Etcd != nil, nil
	}
	if err := r.answerRequests(ctx); err != nil {
		return false, err
	}
	v, down, err := r.view(ctx, "")
	if err != nil {
		return false, err
	}
	r.reportMembers(down)
	r.reportSpace(v, "the operator compacts and defragments it when the network is managed again")
	return v.known, nil
}

// existing returns the credentials that are there, and the Secret that is missing of them. An operator of an earlier
// version has left none of its own: agents and operator share one then.
func (r *Run) existing(ctx context.Context) (cred credentials, missing string, err error) {
	if cred.client, err = r.readSecret(ctx, r.cluster.Namespace, r.cluster.ClientSecret()); err != nil {
		return cred, "", err
	}
	if len(cred.client) == 0 {
		return cred, r.cluster.Namespace + "/" + r.cluster.ClientSecret(), nil
	}
	if r.Settings.Managed == nil {
		return cred, "", nil
	}
	root := r.rootKey()
	if cred.operator, err = r.readSecret(ctx, root.Namespace, root.Name); err != nil {
		return cred, "", err
	}
	if len(cred.operator) == 0 && r.Members.NodeIdentity {
		missing = root.String()
	}
	return cred, missing, nil
}

// renew replaces certificates in time, with the CA that signs now and that their holders trust. It creates nothing
// that does not exist.
func (e *Manager) renew(ctx context.Context, m etcdcluster.Membership) error {
	data, err := e.readSecret(ctx, e.deps.Namespace, e.cluster.AuthoritySecret())
	if err != nil || len(data) == 0 {
		return err
	}
	rotation, err := DecodeRotation(data)
	if err != nil {
		return fmt.Errorf("read Secret %s/%s: %w; restore it from a backup", e.deps.Namespace, e.cluster.AuthoritySecret(), err)
	}
	issue := e.issuer(ctx, m.Members, rotation)
	for _, l := range e.leaves(m.Members, m.NodeIdentity) {
		if err := e.renewLeaf(ctx, l, issue); err != nil {
			return err
		}
	}
	return nil
}

func (e *Manager) renewLeaf(ctx context.Context, l leaf, issue issuer) error {
	data, err := e.readSecret(ctx, l.Namespace, l.Name)
	if err != nil || !certs.Salvage(data[etcdcluster.BundleKey]).Contains(certs.Bundle{issue.rotation.Current.Certificate()}) {
		return err
	}
	fresh, why, err := issue.refreshed(data, l.want)
	if err != nil {
		return err
	}
	fresh[etcdcluster.BundleKey] = data[etcdcluster.BundleKey]
	if maps.EqualFunc(data, fresh, bytes.Equal) {
		return nil
	}
	return e.writeSecret(ctx, l.Namespace, l.Name, fresh, "certificate "+why)
}
