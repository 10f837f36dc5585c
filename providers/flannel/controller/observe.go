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
		if err := p.renew(ctx, p.in.members.Members); err != nil {
			return err
		}
	}
	data, err := p.readSecret(ctx, record.Namespace, record.ClientSecret)
	if err != nil {
		return err
	}
	if len(data) == 0 && len(p.in.members.ClientTrust) > 0 {
		p.findings = append(p.findings, finding(status.Degraded, "EtcdCredentials",
			fmt.Sprintf("Secret %s/%s is missing, without which agents and the operator have no access to etcd; the operator creates it when the network is managed again",
				record.Namespace, record.ClientSecret)))
		return nil
	}
	if err := p.connect(credentials{client: data}); err != nil {
		return err
	}
	known := p.etcd != nil
	if p.in.settings.Managed != nil {
		v, down, err := p.view(ctx, "")
		if err != nil {
			return err
		}
		p.reportMembers(down)
		known = v.known
	}
	if known {
		p.observeKeys(ctx)
	}
	p.again = later
	return nil
}

// observeKeys reports what agents have written into etcd.
func (p *pass) observeKeys(ctx context.Context) {
	content, err := p.etcd.Read(ctx, p.in.agents.Etcd.Prefix+"/")
	if err != nil {
		p.unreachable(err)
		return
	}
	p.succeeded()
	p.findings = append(p.findings, complaints(readStore(p.in.agents.Etcd.Prefix, content), p.in.nodes)...)
}

// renew replaces certificates in time, with the CA that signs now and that their holders trust. It creates nothing
// that does not exist.
func (c *Controller) renew(ctx context.Context, members []record.Member) error {
	data, err := c.readSecret(ctx, c.deps.Namespace, record.AuthoritySecret)
	if err != nil || len(data) == 0 {
		return err
	}
	rotation, err := decodeRotation(data)
	if err != nil {
		return fmt.Errorf("read Secret %s/%s: %w; restore it from a backup", c.deps.Namespace, record.AuthoritySecret, err)
	}
	issue := c.issuer(ctx, members, rotation)
	for name, want := range requests(members) {
		if err := c.renewLeaf(ctx, name, want, issue); err != nil {
			return err
		}
	}
	return nil
}

func (c *Controller) renewLeaf(ctx context.Context, name string, want certs.Request, issue issuer) error {
	data, err := c.readSecret(ctx, record.Namespace, name)
	if err != nil || !certs.Salvage(data[record.BundleKey]).Contains(certs.Bundle{issue.rotation.Current.Certificate()}) {
		return err
	}
	fresh, why, err := issue.refreshed(data, want)
	if err != nil {
		return err
	}
	fresh[record.BundleKey] = data[record.BundleKey]
	if maps.EqualFunc(data, fresh, bytes.Equal) {
		return nil
	}
	return c.writeSecret(ctx, record.Namespace, name, fresh, "certificate "+why)
}
