package controller

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/cluster-network-operator/cno/internal/status"
)

// keys looks at what flannel keeps in etcd: it writes the network configuration, keeps reservations with their nodes,
// and says what agents complain of.
func (p *pass) keys(ctx context.Context) error {
	if p.etcd == nil {
		return nil
	}
	content, err := p.etcd.Read(ctx, p.in.agents.Etcd.Prefix+"/")
	if err != nil {
		p.unreachable(err)
		return nil
	}
	p.succeeded()
	s := readStore(p.in.agents.Etcd.Prefix, content)
	if err := p.configure(ctx, s); err != nil {
		return err
	}
	if err := p.access(ctx, s); err != nil {
		return err
	}
	changes, err := s.claim(p.in.nodes, p.in.members.NodeIdentity)
	if err != nil {
		return err
	}
	if p.in.settings.Managed != nil {
		reserved, err := s.reserve(p.in.agents, p.in.nodes)
		if err != nil {
			p.findings = append(p.findings, finding(status.Degraded, "PoolExhausted", err.Error()))
		}
		changes = append(changes, reserved...)
	}
	for _, c := range changes {
		p.commit(ctx, c)
	}
	if err := p.forget(ctx, s); err != nil {
		return err
	}
	p.findings = append(p.findings, complaints(s, p.in.nodes, p.down)...)
	p.contested(s)
	return p.migration(ctx, s)
}

// configure writes the network configuration, or says why not.
func (p *pass) configure(ctx context.Context, s store) error {
	want, waiting := s.growth(p.in.agents, p.in.nodes)
	if waiting != "" {
		p.findings = append(p.findings, finding(status.Progressing, "PoolGrows", waiting))
		p.soonest(growthPause)
	}
	change, problem, err := s.configure(want)
	if err != nil {
		return err
	}
	if problem != "" {
		p.findings = append(p.findings, finding(status.Degraded, "EtcdPrefixInUse", problem))
	}
	if change != nil && p.commit(ctx, *change) {
		p.deps.Log.Info("wrote flannel's network configuration", "prefix", s.prefix)
	}
	return nil
}

// forget frees the subnets of nodes that have been gone for long enough.
func (p *pass) forget(ctx context.Context, s store) error {
	now, absent := p.deps.Now(), s.absent(p.in.nodes)
	for what := range p.since {
		if name, ok := strings.CutPrefix(what, "node "); ok {
			p.since.note(what, slices.Contains(absent, name), now)
		}
	}
	for _, name := range absent {
		what := "node " + name
		p.since.note(what, true, now)
		if left := nodeGrace - now.Sub(p.since[what]); left > 0 {
			p.soonest(left)
			continue
		}
		// The cache may be behind, and what is deleted is gone.
		err := p.deps.Live.Get(ctx, client.ObjectKey{Name: name}, &corev1.Node{})
		if err == nil {
			continue
		}
		if !apierrors.IsNotFound(err) {
			return fmt.Errorf("read node %s: %w", name, err)
		}
		if p.commit(ctx, s.forget(name)) {
			p.deps.Log.Info("freed the subnet of a deleted node", "node", name, "subnet", s.reservations[name].Subnet)
			delete(p.since, what)
		}
	}
	return nil
}

// commit makes a change, and asks for another look if a third party was quicker.
func (p *pass) commit(ctx context.Context, c Change) bool {
	done, err := p.etcd.Commit(ctx, c)
	if err != nil {
		p.unreachable(err)
		return false
	}
	if !done {
		p.soonest(100 * time.Millisecond)
	}
	return done
}

// unreachable says that etcd does not answer. While its first member is being started, that is to be expected.
func (p *pass) unreachable(err error) {
	p.failed()
	for _, m := range p.in.members.Members {
		if p.in.settings.Managed != nil && m.Votes() && m.ID == "" {
			return
		}
	}
	p.findings = append(p.findings, finding(status.Degraded, "EtcdUnreachable",
		fmt.Sprintf("flannel's etcd at %s does not answer: %v; pods that run keep their network, nodes that join get none until it answers",
			strings.Join(p.votersOrExternal(), ", "), err)))
}
