package controller

import (
	"context"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/cluster-network-operator/cno/internal/etcdcluster"
	"github.com/cluster-network-operator/cno/internal/etcdcluster/etcdclient"
	"github.com/cluster-network-operator/cno/internal/etcdcluster/etcdmanager"
	"github.com/cluster-network-operator/cno/internal/status"
	"github.com/cluster-network-operator/cno/providers/flannel/record"
)

// keys reconciles flannel's keys in etcd: it writes the network configuration, maintains the reservations of nodes, and reports the problems of agents.
func (p *reconciliation) keys(ctx context.Context) error {
	if p.Etcd == nil {
		return nil
	}
	content, err := p.Etcd.Read(ctx, p.agents.Etcd.Prefix+"/")
	if err != nil {
		p.Unreachable(err)
		return nil
	}
	p.Succeeded()
	s := readStore(p.agents.Etcd.Prefix, content)
	if err := p.configure(ctx, s); err != nil {
		return err
	}
	if err := p.Access(ctx, p.identities(s)); err != nil {
		return err
	}
	changes, err := s.claim(p.Nodes, p.Members.NodeIdentity)
	if err != nil {
		return err
	}
	if p.settings.Managed != nil {
		reserved, err := s.reserve(p.agents, p.Nodes)
		if err != nil {
			p.Findings = append(p.Findings, finding(status.Degraded, "PoolExhausted", err.Error()))
		}
		changes = append(changes, reserved...)
	}
	for _, c := range changes {
		p.commit(ctx, c)
	}
	if err := p.release(ctx, s); err != nil {
		return err
	}
	p.Findings = append(p.Findings, agentFindings(s, p.Nodes, p.Down)...)
	p.contested(s)
	return p.migration(ctx, s)
}

// configure writes the network configuration, or reports why it cannot.
func (p *reconciliation) configure(ctx context.Context, s store) error {
	want, waiting := s.growth(p.agents, p.Nodes)
	if waiting != "" {
		p.Findings = append(p.Findings, finding(status.Progressing, "PoolGrows", waiting))
		p.Requeue(growthInterval)
	}
	change, problem, err := s.configure(want)
	if err != nil {
		return err
	}
	if problem != "" {
		p.Findings = append(p.Findings, finding(status.Degraded, "EtcdPrefixInUse", problem))
	}
	if change != nil && p.commit(ctx, *change) {
		p.deps.Log.Info("wrote flannel's network configuration", "prefix", s.prefix)
	}
	return nil
}

// release releases the subnets of nodes that have been deleted for nodeGrace.
func (p *reconciliation) release(ctx context.Context, s store) error {
	now, absent := p.deps.Now(), s.absent(p.Nodes)
	for what := range p.since {
		if name, ok := strings.CutPrefix(what, "node "); ok {
			p.since.Note(what, slices.Contains(absent, name), now)
		}
	}
	for _, name := range absent {
		what := "node " + name
		p.since.Note(what, true, now)
		if left := nodeGrace - now.Sub(p.since[what]); left > 0 {
			p.Requeue(left)
			continue
		}
		// The cache may lag, and the deletion cannot be undone.
		err := p.deps.Live.Get(ctx, client.ObjectKey{Name: name}, &corev1.Node{})
		if err == nil {
			continue
		}
		if !apierrors.IsNotFound(err) {
			return fmt.Errorf("read node %s: %w", name, err)
		}
		if p.commit(ctx, s.release(name)) {
			p.deps.Log.Info("freed the subnet of a deleted node", "node", name, "subnet", s.reservations[name].Subnet)
			delete(p.since, what)
		}
	}
	return nil
}

// commit commits a change, and requests another reconcile after a conflict.
func (p *reconciliation) commit(ctx context.Context, c etcdclient.Change) bool {
	done, err := p.Etcd.Commit(ctx, c)
	if err != nil {
		p.Unreachable(err)
		return false
	}
	if !done {
		p.Requeue(etcdmanager.Instantly)
	}
	return done
}

// identities returns the input of etcd's permissions.
func (p *reconciliation) identities(s store) etcdmanager.Agents {
	return etcdmanager.Agents{
		Permissions: func(node string) []etcdcluster.Permission {
			r := s.reservations[node]
			return record.NodePermissions(s.prefix, node, r.Subnet, r.IPv6Subnet)
		},
		Kept:   func(node string) bool { _, reserved := s.reservations[node]; return reserved },
		Report: len(s.agents) > 0, WithoutCertificate: withoutCertificate(s, p.Nodes),
		Cause: "the log of flanneld on these nodes has the cause",
	}
}

// withoutCertificate returns a sentence for each Ready node whose agent presents no certificate of its own. It omits nodes that are not Ready, since their
// agents request one at startup, and nodes without keys in etcd, which run no agent.
func withoutCertificate(s store, nodes map[string]etcdmanager.Node) []string {
	var out []string
	for _, name := range sorted(nodes) {
		a, reports := s.agents[name]
		_, reserved := s.reservations[name]
		if nodes[name].Ready && (reports || reserved) && !a.OwnCertificate {
			out = append(out, fmt.Sprintf("node %s does not present its own certificate to etcd", name))
		}
	}
	return out
}
