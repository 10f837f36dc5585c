package controller

import (
	"context"

	"github.com/cluster-network-operator/cno/internal/etcdcluster/etcdmanager"
	"github.com/cluster-network-operator/cno/internal/mtumigration"
	"github.com/cluster-network-operator/cno/providers/flannel"
	"github.com/cluster-network-operator/cno/providers/flannel/record"
)

// migration publishes the progress of an MTU migration on the nodes, and reports its phase.
func (p *reconciliation) migration(ctx context.Context, s store) error {
	m := p.settings.Migration
	if m == nil {
		return mtumigration.Withdraw(ctx, p.deps.Client, p.deps.Namespace)
	}
	progress, waiting := mtumigration.Progress(mtumigration.StateOf(p.agents.MTU, p.agents.Migration), s.migrating(p.Nodes))
	p.Findings = append(p.Findings, mtumigration.Findings(record.Component, flannel.New().MTUPath().String(), *m, progress, len(p.Nodes), waiting)...)
	stale, err := mtumigration.Publish(ctx, p.deps.Client, etcdmanager.Owner(record.Etcd), p.deps.Namespace, progress)
	if stale {
		p.Requeue(etcdmanager.Soon)
	}
	return err
}

// migrating returns the MTU in the reports of nodes' agents.
func (s store) migrating(nodes map[string]etcdmanager.Node) map[string]mtumigration.Node {
	out := make(map[string]mtumigration.Node, len(nodes))
	for name, n := range nodes {
		node := mtumigration.Node{Ready: n.Ready}
		if a, reports := s.agents[name]; reports {
			node.Report = &mtumigration.Report{Ready: a.Ready, Step: a.Step, MTU: a.MTU}
		}
		out[name] = node
	}
	return out
}
