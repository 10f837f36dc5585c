package controller

import (
	"context"
	"fmt"
	"maps"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/cluster-network-operator/cno/internal/etcdcluster/etcdmanager"
	"github.com/cluster-network-operator/cno/internal/facts"
	"github.com/cluster-network-operator/cno/internal/status"
	"github.com/cluster-network-operator/cno/providers/flannel/agentconfig"
	"github.com/cluster-network-operator/cno/providers/flannel/record"
)

// The reasons of what is said of a change of the MTU: one for each phase.
const (
	reasonPreflight = "MTUMigrationPreflight"
	reasonRouting   = "MTUMigrationRouting"
	reasonFinishing = "MTUMigrationFinishing"
	reasonFinished  = "MTUMigrationFinished"
)

// migration tells rendering how far the nodes have come with a change of the MTU, and users in which phase it is.
func (p *pass) migration(ctx context.Context, s store) error {
	m := p.settings.Migration
	if m == nil {
		return p.endMigration(ctx)
	}
	progress, waiting := progressOf(p.agents, s, p.Nodes)
	p.Findings = append(p.Findings, migrationFindings(*m, progress, len(p.Nodes), waiting)...)
	data, err := progress.Encode()
	if err != nil {
		return err
	}
	cm := corev1.ConfigMap{}
	key := client.ObjectKey{Namespace: p.deps.Namespace, Name: facts.MTUMigrationConfigMap}
	switch err := p.deps.Client.Get(ctx, key, &cm); {
	case apierrors.IsNotFound(err):
		cm.Namespace, cm.Name, cm.Data = key.Namespace, key.Name, data
		err = p.deps.Client.Create(ctx, &cm, etcdmanager.Owner(record.Etcd))
		return p.progressWritten(err)
	case err != nil:
		return fmt.Errorf("read ConfigMap %s: %w", key, err)
	case maps.Equal(cm.Data, data):
		return nil
	}
	changed := cm.DeepCopy()
	changed.Data = data
	return p.progressWritten(p.deps.Client.Update(ctx, changed, etcdmanager.Owner(record.Etcd)))
}

// progressWritten looks again if the cache was behind.
func (p *pass) progressWritten(err error) error {
	if apierrors.IsConflict(err) || apierrors.IsAlreadyExists(err) || apierrors.IsNotFound(err) {
		p.Soonest(etcdmanager.Soon)
		return nil
	}
	if err != nil {
		return fmt.Errorf("write ConfigMap %s/%s: %w", p.deps.Namespace, facts.MTUMigrationConfigMap, err)
	}
	return nil
}

// endMigration removes what was told of a migration that is over.
func (p *pass) endMigration(ctx context.Context) error {
	cm := corev1.ConfigMap{}
	key := client.ObjectKey{Namespace: p.deps.Namespace, Name: facts.MTUMigrationConfigMap}
	err := p.deps.Client.Get(ctx, key, &cm)
	if err == nil {
		err = p.deps.Client.Delete(ctx, &cm)
	}
	if client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("delete ConfigMap %s: %w", key, err)
	}
	return nil
}

// progressOf compares what agents report with what they are told, and says in a sentence of each node that is not done
// what it is waited for.
func progressOf(told agentconfig.Config, s store, nodes map[string]etcdmanager.Node) (facts.MTUMigration, []string) {
	progress := facts.MTUMigration{Active: true, MTU: told.MTU}
	if told.Migration != nil {
		progress.Step, progress.RoutableMTU = told.Migration.Step, told.Migration.RoutableMTU
	}
	var waiting []string
	for _, name := range sorted(nodes) {
		a, reports := s.agents[name]
		switch {
		case !nodes[name].Ready:
			waiting = append(waiting, fmt.Sprintf("node %s is not Ready", name))
		case !reports:
			waiting = append(waiting, fmt.Sprintf("the agent of node %s does not report", name))
		case !a.Ready || a.Step != progress.Step || a.MTU != progress.MTU:
			waiting = append(waiting, fmt.Sprintf("node %s still has MTU %d", name, a.MTU))
		}
	}
	progress.Done = len(waiting) == 0 && len(nodes) > 0
	return progress, waiting
}

// migrationFindings says in which phase a change of the MTU is, how far it is in percent, and whom it waits for.
func migrationFindings(m record.Migration, at facts.MTUMigration, nodes int, waiting []string) []status.Finding {
	done := nodes - len(waiting)
	reason, phase, percent := reasonPreflight, "Preflight: all nodes must be Ready and report", 0
	switch {
	case at.Step > 0 && at.RoutableMTU != 0:
		reason, percent = reasonRouting, 10+40*done/max(nodes, 1)
		phase = fmt.Sprintf("Routing: node by node, interfaces take packets of %d bytes, and send at most %d", at.MTU, at.RoutableMTU)
	case at.Step > 0 && at.MTU == m.To:
		reason, percent = reasonFinishing, 50+50*done/max(nodes, 1)
		phase = fmt.Sprintf("Finishing: node by node, interfaces get MTU %d", at.MTU)
	}
	what := fmt.Sprintf("The MTU of pods changes from %d to %d", m.From, m.To)
	switch {
	case m.Announced && at.Reached(m.To):
		return []status.Finding{finding(status.NotUpgradeable, reasonFinished,
			fmt.Sprintf("The MTU of all pods is %d. Remove spec.migration; if spec.defaultNetwork.flannelConfig.mtu is set, set it to %d or remove it, too", m.To, m.To))}
	case !m.Announced:
		what = fmt.Sprintf("spec.migration was removed: the MTU of pods goes back to %d", m.To)
	}
	message := fmt.Sprintf("%s (%d %%). %s", what, percent, phase)
	if len(waiting) > 0 {
		message += fmt.Sprintf(". %d of %d nodes are done: %s", done, nodes, etcdmanager.Sentence(waiting, ""))
	}
	return []status.Finding{finding(status.Progressing, reason, message), finding(status.NotUpgradeable, reason, message)}
}
