package controller

import (
	"bytes"
	"context"
	"fmt"
	"maps"

	"github.com/cluster-network-operator/cno/internal/certs"
	"github.com/cluster-network-operator/cno/internal/status"
	"github.com/cluster-network-operator/cno/providers/flannel/record"
)

// observe reports how etcd and agents are while the network is not to be changed. It writes nothing but certificates
// that are about to expire: without them, etcd would stop on its own.
func (p *pass) observe(ctx context.Context) error {
	if p.in.settings.Managed != nil {
		if err := p.renew(ctx, p.in.members); err != nil {
			return err
		}
	}
	cred, missing, err := p.existing(ctx)
	if err != nil {
		return err
	}
	if missing != "" && len(p.in.members.ClientTrust) > 0 {
		p.findings = append(p.findings, finding(status.Degraded, "EtcdCredentials",
			fmt.Sprintf("Secret %s is missing, without which agents or the operator have no access to etcd; the operator creates it when the network is managed again", missing)))
		return nil
	}
	if err := p.connect(cred); err != nil {
		return err
	}
	if p.in.settings.Managed != nil {
		if err := p.answerRequests(ctx); err != nil {
			return err
		}
	}
	known := p.etcd != nil
	if p.in.settings.Managed != nil {
		v, down, err := p.view(ctx, "")
		if err != nil {
			return err
		}
		p.reportMembers(down)
		p.reportSpace(v, "the operator compacts and defragments it when the network is managed again")
		known = v.known
	}
	if known {
		p.observeKeys(ctx)
	}
	p.again = later
	return nil
}

// existing returns the credentials that are there, and the Secret that is missing of them. An operator of an earlier
// version has left none of its own: agents and operator share one then.
func (p *pass) existing(ctx context.Context) (cred credentials, missing string, err error) {
	if cred.client, err = p.readSecret(ctx, record.Namespace, record.ClientSecret); err != nil {
		return cred, "", err
	}
	if len(cred.client) == 0 {
		return cred, record.Namespace + "/" + record.ClientSecret, nil
	}
	if p.in.settings.Managed == nil {
		return cred, "", nil
	}
	root := p.rootKey()
	if cred.operator, err = p.readSecret(ctx, root.Namespace, root.Name); err != nil {
		return cred, "", err
	}
	if len(cred.operator) == 0 && p.in.members.NodeIdentity {
		missing = root.String()
	}
	return cred, missing, nil
}

// observeKeys reports what agents have written into etcd.
func (p *pass) observeKeys(ctx context.Context) {
	content, err := p.etcd.Read(ctx, p.in.agents.Etcd.Prefix+"/")
	if err != nil {
		p.unreachable(err)
		return
	}
	p.succeeded()
	s := readStore(p.in.agents.Etcd.Prefix, content)
	p.findings = append(p.findings, complaints(s, p.in.nodes, p.down)...)
	p.contested(s)
}

// renew replaces certificates in time, with the CA that signs now and that their holders trust. It creates nothing
// that does not exist.
func (c *Controller) renew(ctx context.Context, m record.Membership) error {
	data, err := c.readSecret(ctx, c.deps.Namespace, record.AuthoritySecret)
	if err != nil || len(data) == 0 {
		return err
	}
	rotation, err := decodeRotation(data)
	if err != nil {
		return fmt.Errorf("read Secret %s/%s: %w; restore it from a backup", c.deps.Namespace, record.AuthoritySecret, err)
	}
	issue := c.issuer(ctx, m.Members, rotation)
	for _, l := range c.leaves(m.Members, m.NodeIdentity) {
		if err := c.renewLeaf(ctx, l, issue); err != nil {
			return err
		}
	}
	return nil
}

func (c *Controller) renewLeaf(ctx context.Context, l leaf, issue issuer) error {
	data, err := c.readSecret(ctx, l.Namespace, l.Name)
	if err != nil || !certs.Salvage(data[record.BundleKey]).Contains(certs.Bundle{issue.rotation.Current.Certificate()}) {
		return err
	}
	fresh, why, err := issue.refreshed(data, l.want)
	if err != nil {
		return err
	}
	fresh[record.BundleKey] = data[record.BundleKey]
	if maps.EqualFunc(data, fresh, bytes.Equal) {
		return nil
	}
	return c.writeSecret(ctx, l.Namespace, l.Name, fresh, "certificate "+why)
}
