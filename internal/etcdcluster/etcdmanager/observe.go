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

// Observe reports the state of etcd while the network must not be changed. It only renews certificates that are about to expire, without which etcd would
// stop. ok is false while etcd does not answer.
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
	if err := r.handleRequests(ctx); err != nil {
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

// existing returns the existing credentials, and the name of a missing Secret. Earlier versions of the operator had no Secret of their own, and used that
// of agents.
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

// renew replaces certificates before they expire, with the current CA and only if their holders trust it. It does not create Secrets.
func (e *Manager) renew(ctx context.Context, m etcdcluster.Membership) error {
	data, err := e.readSecret(ctx, e.deps.Namespace, e.cluster.CASecret())
	if err != nil || len(data) == 0 {
		return err
	}
	rotation, err := DecodeRotation(data)
	if err != nil {
		return fmt.Errorf("read Secret %s/%s: %w; restore it from a backup", e.deps.Namespace, e.cluster.CASecret(), err)
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
	fresh, why, err := issue.refresh(data, l.want)
	if err != nil {
		return err
	}
	fresh[etcdcluster.BundleKey] = data[etcdcluster.BundleKey]
	if maps.EqualFunc(data, fresh, bytes.Equal) {
		return nil
	}
	return e.writeSecret(ctx, l.Namespace, l.Name, fresh, "certificate "+why)
}
