package etcdmanager

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

	"github.com/cluster-network-operator/cno/internal/etcdcluster"
	"github.com/cluster-network-operator/cno/internal/etcdcluster/etcdclient"
	"github.com/cluster-network-operator/cno/internal/status"
)

// membership makes one step towards the members that are wanted. known is false while etcd does not answer for want
// of members. The error is ErrStale if the record has changed.
func (r *Run) membership(ctx context.Context, cred credentials) (known bool, err error) {
	if r.membersMap.ResourceVersion == "" && len(r.Members.Members) > 0 {
		return false, r.save(ctx, r.Members, "restored")
	}
	v, down, err := r.view(ctx, cred.trust)
	if err != nil {
		return false, err
	}
	r.reportMembers(down)
	s := plan(r.Members, v)
	if s == (step{}) && v.known {
		r.maintain(ctx, v)
	} else {
		r.reportSpace(v, "the operator compacts and defragments it when its members are as they should be")
	}
	switch {
	case s.problem != "":
		r.Findings = append(r.Findings, r.Finding(status.Degraded, "EtcdQuorumLost", s.problem))
	case s.record != nil:
		s.record.ClientTrust = cred.clientTrust()
		return v.known, r.save(ctx, *s.record, describe(r.Members, *s.record))
	case s.verb != "":
		return v.known, r.ask(ctx, s)
	case s.waiting != "":
		r.wait(s.waiting)
	}
	return v.known, nil
}

func (r *Run) wait(sentence string) {
	r.Findings = append(r.Findings, r.Finding(status.Progressing, "EtcdMembers", sentence))
	r.Soonest(Soon)
}

// ask asks etcd for what a step says, after making sure that no one has gone on from another record.
func (r *Run) ask(ctx context.Context, s step) error {
	live, found, err := r.configMap(ctx, r.deps.Live, r.cluster.MembersConfigMap())
	if err != nil {
		return err
	}
	if !found || live.ResourceVersion != r.membersMap.ResourceVersion {
		r.Soonest(Instantly)
		return ErrStale
	}
	switch s.verb {
	case add:
		err = r.Etcd.AddLearner(ctx, s.url)
	case promote:
		err = r.Etcd.Promote(ctx, s.id)
	case move:
		err = r.Etcd.Move(ctx, s.id, s.url)
	case remove:
		err = r.Etcd.Remove(ctx, s.id)
	}
	switch {
	case err == nil:
		r.deps.Log.Info("changed the members of etcd", "what", s.verb, "member", s.member, "id", fmt.Sprintf("%x", s.id), "url", s.url)
		r.Soonest(10 * time.Millisecond)
	case s.waiting != "":
		r.wait(fmt.Sprintf("%s (%v)", s.waiting, err))
	default:
		r.Findings = append(r.Findings, r.Finding(status.Degraded, "EtcdMembers", err.Error()))
		r.Failed()
	}
	return nil
}

// save writes the record. A conflict means that the reconcile used an older one: the next one uses the newer.
func (r *Run) save(ctx context.Context, m etcdcluster.Membership, why string) error {
	content, err := m.Encode()
	if err != nil {
		return err
	}
	cm := r.membersMap.DeepCopy()
	cm.Labels, cm.Data = r.labels(cm.Labels), map[string]string{etcdcluster.MembersKey: content}
	delete(cm.Annotations, etcdcluster.FoundAgain)
	if cm.ResourceVersion == "" {
		err = r.deps.Client.Create(ctx, cm, r.owner)
	} else {
		err = r.deps.Client.Update(ctx, cm, r.owner)
	}
	if apierrors.IsConflict(err) || apierrors.IsAlreadyExists(err) || apierrors.IsNotFound(err) {
		r.Soonest(Instantly)
		return ErrStale
	}
	if err != nil {
		return fmt.Errorf("write ConfigMap %s/%s: %w", r.cluster.Namespace, r.cluster.MembersConfigMap(), err)
	}
	r.deps.Log.Info("wrote the members of etcd", "why", why)
	r.Soonest(10 * time.Millisecond)
	return ErrStale
}

// describe says how a record differs from the one before.
func describe(before, after etcdcluster.Membership) string {
	var out []string
	states := map[string]etcdcluster.Member{}
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
func (r *Run) view(ctx context.Context, trust string) (v view, down map[string]error, err error) {
	v = view{
		cluster: r.cluster, now: r.deps.Now(), managed: *r.Settings.Managed, trust: trust, token: r.deps.Token(),
		again:      r.membersMap.Annotations[etcdcluster.FoundAgain] == "true",
		candidates: r.ControlPlane, nodes: map[string]etcdcluster.Candidate{}, away: map[string]time.Time{},
		databases: map[string]etcdclient.Database{}, answers: map[string]bool{}, settled: map[string]bool{}, stalled: map[string]bool{},
	}
	for name, n := range r.Nodes {
		v.nodes[name] = n.Candidate
	}
	for _, m := range r.Members.Members {
		key := "member " + m.Name
		r.since.Note(key, !v.present(m), v.now)
		if since, ok := r.since[key]; ok {
			v.away[m.Name] = since
			r.Soonest(Soon)
		}
		if v.settled[m.Name], err = r.settled(ctx, m, trust); err != nil {
			return v, nil, err
		}
		v.stalled[m.Name] = r.stalled(m, v.settled[m.Name])
	}
	return v, r.question(ctx, &v), nil
}

// settled reports whether a member's pod is ready and as recorded. No one is asked while all members are up to date,
// since no one then wants to know.
func (r *Run) settled(ctx context.Context, m etcdcluster.Member, trust string) (bool, error) {
	if !slices.ContainsFunc(r.Members.Members, func(m etcdcluster.Member) bool {
		return m.Image != r.Settings.Managed.Image || m.Trust != trust
	}) {
		return true, nil
	}
	return r.updated(ctx, m)
}

// stalled reports whether a member has not been ready for longer than a start takes since it was last updated.
func (r *Run) stalled(m etcdcluster.Member, settled bool) bool {
	all := "unsettled " + m.Name + " "
	key := all + m.PodHash()
	r.since.Note(key, !settled, r.deps.Now())
	maps.DeleteFunc(r.since, func(k string, _ time.Time) bool { return k != key && strings.HasPrefix(k, all) })
	since, found := r.since[key]
	return found && r.deps.Now().Sub(since) >= StalledGrace
}

// updated reports whether the pod of a member is ready and as recorded.
func (e *Manager) updated(ctx context.Context, m etcdcluster.Member) (bool, error) {
	d, err := e.replaced(ctx, m)
	return d != nil && d.Status.AvailableReplicas == 1, err
}

// replaced returns the Deployment of a member once its only pod is the one that is recorded, whether or not that is
// ready; nil before.
func (e *Manager) replaced(ctx context.Context, m etcdcluster.Member) (*appsv1.Deployment, error) {
	var d appsv1.Deployment
	key := client.ObjectKey{Namespace: e.cluster.Namespace, Name: e.cluster.MemberDeployment(m.Node)}
	if err := e.deps.Live.Get(ctx, key, &d); apierrors.IsNotFound(err) {
		return nil, nil
	} else if err != nil {
		return nil, fmt.Errorf("read Deployment %s: %w", key, err)
	}
	if d.Spec.Template.Annotations[etcdcluster.ConfigHash] != m.PodHash() || d.Status.ObservedGeneration != d.Generation ||
		d.Status.UpdatedReplicas != 1 || d.Status.Replicas != 1 {
		return nil, nil
	}
	return &d, nil
}

// question asks all members at once whether they answer, and those with a vote who the members are.
func (r *Run) question(ctx context.Context, v *view) map[string]error {
	if r.Etcd == nil {
		return nil
	}
	var group sync.WaitGroup
	var mu sync.Mutex
	down := map[string]error{}
	for _, m := range r.Members.Members {
		if !m.Runs() {
			continue
		}
		group.Go(func() {
			database, err := r.Etcd.Answers(ctx, m.ClientURL)
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
		v.actual, listErr = r.Etcd.List(ctx)
	})
	group.Wait()
	r.Down = addresses(r.Members, down)
	if v.known = listErr == nil; v.known {
		r.Succeeded()
	} else {
		r.Unreachable(listErr)
	}
	return down
}

// addresses returns the addresses that agents connect to, of the members on some nodes and of those that are only promised.
func addresses(m etcdcluster.Membership, nodes map[string]error) map[string]bool {
	out := map[string]bool{}
	for _, member := range m.Members {
		if u, err := url.Parse(member.ClientURL); err == nil && (nodes[member.Node] != nil || !member.Runs()) {
			out[u.Host] = true
		}
	}
	return out
}

// reportMembers says which members do not answer. One that has never been in the cluster is only being started. Two members are what is
// left of three: they tolerate no failure.
func (r *Run) reportMembers(down map[string]error) {
	for _, m := range r.Members.Members {
		err := down[m.Node]
		if err == nil {
			continue
		}
		if m.ID == "" || m.State == etcdcluster.Learner {
			r.wait(fmt.Sprintf("%s is being started on node %s", r.cluster.Title(), m.Node))
			continue
		}
		r.Findings = append(r.Findings, r.Finding(status.Degraded, "EtcdMemberDown",
			fmt.Sprintf("the member of %s on node %s does not answer at %s: %v", r.cluster.Title(), m.Node, m.ClientURL, err)))
	}
	if two := r.Members.Members; len(two) == 2 && two[0].Votes() && two[1].Votes() {
		r.Findings = append(r.Findings, r.Finding(status.Degraded, "EtcdTwoMembers",
			fmt.Sprintf("%s has two members, on nodes %s and %s, and loses its quorum if either of them fails; a third member is added as soon as there is another control-plane node",
				r.cluster.Title(), two[0].Node, two[1].Node)))
	}
}
