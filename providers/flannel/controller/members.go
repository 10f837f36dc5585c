package controller

import (
	"context"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/cluster-network-operator/cno/internal/status"
	"github.com/cluster-network-operator/cno/providers/flannel/record"
)

// memory says since when things have been so. It is kept by the loop alone: after a restart, every grace starts again.
type memory map[string]time.Time

// note remembers since when a thing has been so, and forgets it when it is not.
func (m memory) note(what string, is bool, now time.Time) {
	if _, known := m[what]; is && !known {
		m[what] = now
	} else if !is {
		delete(m, what)
	}
}

// membership makes one step towards the members that are wanted. known is false while etcd does not answer for want
// of members. The error is errStale if the record has changed.
func (p *pass) membership(ctx context.Context, cred credentials) (known bool, err error) {
	if p.in.membersMap.ResourceVersion == "" && len(p.in.members.Members) > 0 {
		return false, p.save(ctx, p.in.members, "restored")
	}
	v, down, err := p.view(ctx, cred.trust)
	if err != nil {
		return false, err
	}
	p.reportMembers(down)
	s := plan(p.in.members, v)
	if s == (step{}) && v.known {
		p.maintain(ctx, v)
	} else {
		p.reportSpace(v, "the operator compacts and defragments it when its members are as they should be")
	}
	switch {
	case s.problem != "":
		p.findings = append(p.findings, finding(status.Degraded, "EtcdQuorumLost", s.problem))
	case s.record != nil:
		s.record.ClientTrust = cred.clientTrust()
		return v.known, p.save(ctx, *s.record, describe(p.in.members, *s.record))
	case s.verb != "":
		return v.known, p.ask(ctx, s)
	case s.waiting != "":
		p.wait(s.waiting)
	}
	return v.known, nil
}

func (p *pass) wait(sentence string) {
	p.findings = append(p.findings, finding(status.Progressing, "EtcdMembers", sentence))
	p.soonest(soon)
}

// ask asks etcd for what a step says, after making sure that no one has gone on from another record.
func (p *pass) ask(ctx context.Context, s step) error {
	live, found, err := p.configMap(ctx, p.deps.Live, record.MembersConfigMap)
	if err != nil {
		return err
	}
	if !found || live.ResourceVersion != p.in.membersMap.ResourceVersion {
		p.soonest(100 * time.Millisecond)
		return errStale
	}
	switch s.verb {
	case add:
		err = p.etcd.AddLearner(ctx, s.url)
	case promote:
		err = p.etcd.Promote(ctx, s.id)
	case move:
		err = p.etcd.Move(ctx, s.id, s.url)
	case remove:
		err = p.etcd.Remove(ctx, s.id)
	}
	switch {
	case err == nil:
		p.deps.Log.Info("changed the members of etcd", "what", s.verb, "member", s.member, "id", fmt.Sprintf("%x", s.id), "url", s.url)
		p.soonest(10 * time.Millisecond)
	case s.waiting != "":
		p.wait(fmt.Sprintf("%s (%v)", s.waiting, err))
	default:
		p.findings = append(p.findings, finding(status.Degraded, "EtcdMembers", err.Error()))
		p.failed()
	}
	return nil
}

// save writes the record. A conflict means that the pass went by an older one: the next pass uses the newer.
func (p *pass) save(ctx context.Context, m record.Membership, why string) error {
	content, err := m.Encode()
	if err != nil {
		return err
	}
	cm := p.in.membersMap.DeepCopy()
	cm.Labels, cm.Data = labels(cm.Labels), map[string]string{record.MembersKey: content}
	delete(cm.Annotations, FoundAnew)
	if cm.ResourceVersion == "" {
		err = p.deps.Client.Create(ctx, cm, owner)
	} else {
		err = p.deps.Client.Update(ctx, cm, owner)
	}
	if apierrors.IsConflict(err) || apierrors.IsAlreadyExists(err) || apierrors.IsNotFound(err) {
		p.soonest(100 * time.Millisecond)
		return errStale
	}
	if err != nil {
		return fmt.Errorf("write ConfigMap %s/%s: %w", record.Namespace, record.MembersConfigMap, err)
	}
	p.deps.Log.Info("wrote the members of etcd", "why", why)
	p.soonest(10 * time.Millisecond)
	return errStale
}

// describe says how a record differs from the one before.
func describe(before, after record.Membership) string {
	var out []string
	states := map[string]record.Member{}
	for _, m := range before.Members {
		states[m.Name] = m
	}
	for _, m := range after.Members {
		if was, ok := states[m.Name]; !ok {
			out = append(out, fmt.Sprintf("%s is %s", m.Name, m.State))
		} else if was != m {
			out = append(out, fmt.Sprintf("%s is %s, was %s", m.Name, m.State, was.State))
		}
		delete(states, m.Name)
	}
	for name := range states {
		out = append(out, name+" is gone")
	}
	slices.Sort(out)
	return strings.Join(out, ", ")
}

// view looks at the members. down says why members that run do not answer, by node.
func (p *pass) view(ctx context.Context, trust string) (v view, down map[string]error, err error) {
	v = view{
		now: p.deps.Now(), managed: *p.in.settings.Managed, trust: trust, token: p.deps.Token(),
		anew:       p.in.membersMap.Annotations[FoundAnew] == "true",
		candidates: p.in.controlPlane, nodes: map[string]record.Candidate{}, away: map[string]time.Time{},
		databases: map[string]Database{}, answers: map[string]bool{}, settled: map[string]bool{}, stalled: map[string]bool{},
	}
	for name, n := range p.in.nodes {
		v.nodes[name] = n.Candidate
	}
	for _, m := range p.in.members.Members {
		key := "member " + m.Name
		p.since.note(key, !v.present(m), v.now)
		if since, ok := p.since[key]; ok {
			v.away[m.Name] = since
			p.soonest(soon)
		}
		if v.settled[m.Name], err = p.settled(ctx, m, trust); err != nil {
			return v, nil, err
		}
		v.stalled[m.Name] = p.stalled(m, v.settled[m.Name])
	}
	return v, p.question(ctx, &v), nil
}

// settled reports whether a member's pod is ready and as recorded. No one is asked while all members are up to date,
// since no one then wants to know.
func (p *pass) settled(ctx context.Context, m record.Member, trust string) (bool, error) {
	if !slices.ContainsFunc(p.in.members.Members, func(m record.Member) bool {
		return m.Image != p.in.settings.Managed.Image || m.Trust != trust
	}) {
		return true, nil
	}
	return p.updated(ctx, m)
}

// stalled reports whether a member has not been ready for longer than a start takes since it was last updated.
func (p *pass) stalled(m record.Member, settled bool) bool {
	all := "unsettled " + m.Name + " "
	key := all + m.PodHash()
	p.since.note(key, !settled, p.deps.Now())
	maps.DeleteFunc(p.since, func(k string, _ time.Time) bool { return k != key && strings.HasPrefix(k, all) })
	since, found := p.since[key]
	return found && p.deps.Now().Sub(since) >= stalledGrace
}

// updated reports whether the pod of a member is ready and as recorded.
func (c *Controller) updated(ctx context.Context, m record.Member) (bool, error) {
	d, err := c.replaced(ctx, m)
	return d != nil && d.Status.AvailableReplicas == 1, err
}

// replaced returns the Deployment of a member once its only pod is the one that is recorded, whether or not that is
// ready; nil before.
func (c *Controller) replaced(ctx context.Context, m record.Member) (*appsv1.Deployment, error) {
	var d appsv1.Deployment
	key := client.ObjectKey{Namespace: record.Namespace, Name: record.MemberDeployment(m.Node)}
	if err := c.deps.Live.Get(ctx, key, &d); apierrors.IsNotFound(err) {
		return nil, nil
	} else if err != nil {
		return nil, fmt.Errorf("read Deployment %s: %w", key, err)
	}
	if d.Spec.Template.Annotations[record.ConfigHash] != m.PodHash() || d.Status.ObservedGeneration != d.Generation ||
		d.Status.UpdatedReplicas != 1 || d.Status.Replicas != 1 {
		return nil, nil
	}
	return &d, nil
}

// question asks all members at once whether they answer, and those with a vote who the members are.
func (p *pass) question(ctx context.Context, v *view) map[string]error {
	if p.etcd == nil {
		return nil
	}
	var group sync.WaitGroup
	var mu sync.Mutex
	down := map[string]error{}
	for _, m := range p.in.members.Members {
		if !m.Runs() {
			continue
		}
		group.Go(func() {
			database, err := p.etcd.Answers(ctx, m.ClientURL)
			mu.Lock()
			defer mu.Unlock()
			v.databases[m.Name] = database
			if v.answers[m.Name] = err == nil; err != nil {
				down[m.Node] = err
			}
		})
	}
	var listErr error
	group.Go(func() {
		v.actual, listErr = p.etcd.List(ctx)
	})
	group.Wait()
	p.down = addresses(p.in.members, down)
	if v.known = listErr == nil; v.known {
		p.succeeded()
	} else {
		p.unreachable(listErr)
	}
	return down
}

// addresses returns the addresses that agents connect to, of the members on some nodes and of those that are only promised.
func addresses(m record.Membership, nodes map[string]error) map[string]bool {
	out := map[string]bool{}
	for _, member := range m.Members {
		if u, err := url.Parse(member.ClientURL); err == nil && (nodes[member.Node] != nil || !member.Runs()) {
			out[u.Host] = true
		}
	}
	return out
}

// reportMembers says which members do not answer. One that has never been in the cluster is only being started.
func (p *pass) reportMembers(down map[string]error) {
	for _, m := range p.in.members.Members {
		err := down[m.Node]
		if err == nil {
			continue
		}
		if m.ID == "" || m.State == record.Learner {
			p.wait(fmt.Sprintf("flannel's etcd is being started on node %s", m.Node))
			continue
		}
		p.findings = append(p.findings, finding(status.Degraded, "EtcdMemberDown",
			fmt.Sprintf("the member of flannel's etcd on node %s does not answer at %s: %v", m.Node, m.ClientURL, err)))
	}
}
