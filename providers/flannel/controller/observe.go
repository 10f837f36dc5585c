package controller

import (
	"context"

	"github.com/cluster-network-operator/cno/internal/etcdcluster/etcdmanager"
)

// observe reports the state of etcd and agents while the network must not be changed. It writes only certificates that are about to expire: without them etcd
// would stop.
func (p *reconciliation) observe(ctx context.Context) error {
	known, err := p.Observe(ctx)
	if err != nil {
		return err
	}
	if known {
		p.observeKeys(ctx)
	}
	p.RequeueAfter = etcdmanager.Later
	return nil
}

// observeKeys reports the problems in agents' reports.
func (p *reconciliation) observeKeys(ctx context.Context) {
	content, err := p.Etcd.Read(ctx, p.agents.Etcd.Prefix+"/")
	if err != nil {
		p.Unreachable(err)
		return
	}
	p.Succeeded()
	s := readStore(p.agents.Etcd.Prefix, content)
	p.Findings = append(p.Findings, agentFindings(s, p.Nodes, p.Down)...)
	p.contested(s)
}
