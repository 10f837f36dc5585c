package controller

import (
	"context"

	"github.com/cluster-network-operator/cno/internal/etcdcluster/etcdmanager"
)

// observe reports how etcd and agents are while the network is not to be changed. It writes nothing but certificates
// that are about to expire: without them, etcd would stop on its own.
func (p *pass) observe(ctx context.Context) error {
	known, err := p.Observe(ctx)
	if err != nil {
		return err
	}
	if known {
		p.observeKeys(ctx)
	}
	p.Again = etcdmanager.Later
	return nil
}

// observeKeys reports what agents have written into etcd.
func (p *pass) observeKeys(ctx context.Context) {
	content, err := p.Etcd.Read(ctx, p.agents.Etcd.Prefix+"/")
	if err != nil {
		p.Unreachable(err)
		return
	}
	p.Succeeded()
	s := readStore(p.agents.Etcd.Prefix, content)
	p.Findings = append(p.Findings, complaints(s, p.Nodes, p.Down)...)
	p.contested(s)
}
