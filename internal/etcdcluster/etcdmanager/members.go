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

// membership takes one step towards the desired members. known is false while etcd does not answer because it lacks members. The error is ErrStale if the
// record has changed.
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
		r.reportSpace(v, "the operator compacts and defragments it when its members are up to date")
	}
	switch {
	case s.problem != "":
		r.Findings = append(r.Findings, r.Finding(status.Degraded, "EtcdQuorumLost", s.problem))
	case s.record != nil:
		s.record.ClientTrust = cred.clientTrust()
		return v.known, r.save(ctx, *s.record, describe(r.Members, *s.record))
	case s.verb != "":
		return v.known, r.change(ctx, s)
	case s.waiting != "":
		r.wait(s.waiting)
	}
	return v.known, nil
}

func (r *Run) wait(sentence string) {
	r.Findings = append(r.Findings, r.Finding(status.Progressing, "EtcdMembers", sentence))
	r.Requeue(Soon)
}

// change carries out the verb of a step in etcd, after checking that the record has not changed.
func (r *Run) change(ctx context.Context, s step) error {
	live, found, err := r.configMap(ctx, r.deps.Live, r.cluster.MembersConfigMap())
	if err != nil {
		return err
	}
	if !found || live.ResourceVersion != r.membersMap.ResourceVersion {
		r.Requeue(Instantly)
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
		r.Requeue(10 * time.Millisecond)
	case s.waiting != "":
		r.wait(fmt.Sprintf("%s (%v)", s.waiting, err))
	default:
		r.Findings = append(r.Findings, r.Finding(status.Degraded, "EtcdMembers", err.Error()))
		r.Failed()
	}
	return nil
}

// save writes the record and returns ErrStale. A conflict means that the reconcile used an outdated record.
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
		r.Requeue(Instantly)
		return ErrStale
	}
	if err != nil {
		return fmt.Errorf("write ConfigMap %s/%s: %w", r.cluster.Namespace, r.cluster.MembersConfigMap(), err)
	}
	r.deps.Log.Info("wrote the members of etcd", "why", why)
	r.Requeue(10 * time.Millisecond)
	return ErrStale
}

// describe describes the difference between two records.
func describe(before, after etcdcluster.Membership) string {
	var out []string
	states := map[string]etcdcluster.Member{}
	for _, m := range before.Members {
		states[m.Name] = m
	}
	for _, m := range after.Members {
		if old, ok := states[m.Name]; !ok {
			out = append(out, fmt.Sprintf("%s is %s", m.Name, m.State))
		} else if old != m {
			out = append(out, fmt.Sprintf("%s is %s, was %s", m.Name, m.State, old.State))
		}
		delete(states, m.Name)
	}
	for name := range states {
		out = append(out, name+" is removed")
	}
	slices.Sort(out)
	return strings.Join(out, ", ")
}

// view observes the members. down has the errors of running members that do not answer, by node.
func (r *Run) view(ctx context.Context, trust string) (v view, down map[string]error, err error) {
	v = view{
		cluster: r.cluster, now: r.deps.Now(), managed: *r.Settings.Managed, trust: trust, token: r.deps.Token(),
		bootstrapAgain: r.membersMap.Annotations[etcdcluster.FoundAgain] == "true",
		candidates:     r.ControlPlane, nodes: map[string]etcdcluster.Candidate{}, missingSince: map[string]time.Time{},
		databases: map[string]etcdclient.Database{}, answers: map[string]bool{}, upToDate: map[string]bool{}, stalled: map[string]bool{},
	}
	for name, n := range r.Nodes {
		v.nodes[name] = n.Candidate
	}
	for _, m := range r.Members.Members {
		key := "member " + m.Name
		r.since.Note(key, !v.present(m), v.now)
		if since, ok := r.since[key]; ok {
			v.missingSince[m.Name] = since
			r.Requeue(Soon)
		}
		if v.upToDate[m.Name], err = r.upToDate(ctx, m, trust); err != nil {
			return v, nil, err
		}
		v.stalled[m.Name] = r.stalled(m, v.upToDate[m.Name])
	}
	return v, r.queryMembers(ctx, &v), nil
}

// upToDate reports whether a member's pod is ready and matches the record. It does not read Deployments unless the image or bundle of a member changes.
func (r *Run) upToDate(ctx context.Context, m etcdcluster.Member, trust string) (bool, error) {
	if !slices.ContainsFunc(r.Members.Members, func(m etcdcluster.Member) bool {
		return m.Image != r.Settings.Managed.Image || m.Trust != trust
	}) {
		return true, nil
	}
	return r.updated(ctx, m)
}

// stalled reports whether a member has not been up to date for StalledGrace since its last update.
func (r *Run) stalled(m etcdcluster.Member, upToDate bool) bool {
	all := "unsettled " + m.Name + " "
	key := all + m.PodHash()
	r.since.Note(key, !upToDate, r.deps.Now())
	maps.DeleteFunc(r.since, func(k string, _ time.Time) bool { return k != key && strings.HasPrefix(k, all) })
	since, found := r.since[key]
	return found && r.deps.Now().Sub(since) >= StalledGrace
}

// updated reports whether the pod of a member is ready and matches the record.
func (e *Manager) updated(ctx context.Context, m etcdcluster.Member) (bool, error) {
	d, err := e.replaced(ctx, m)
	return d != nil && d.Status.AvailableReplicas == 1, err
}

// replaced returns the Deployment of a member if its only pod matches the record, ready or not; nil otherwise.
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

// queryMembers queries the status of all members in parallel, and etcd's member list.
func (r *Run) queryMembers(ctx context.Context, v *view) map[string]error {
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
			database, err := r.Etcd.Status(ctx, m.ClientURL)
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

// addresses returns the client addresses of the members on some nodes and of members in the state Promised.
func addresses(m etcdcluster.Membership, nodes map[string]error) map[string]bool {
	out := map[string]bool{}
	for _, member := range m.Members {
		if u, err := url.Parse(member.ClientURL); err == nil && (nodes[member.Node] != nil || !member.Runs()) {
			out[u.Host] = true
		}
	}
	return out
}

// reportMembers reports members that do not answer while others do. A member that has never been in the cluster is reported as starting. It also reports a
// cluster of two members, which tolerates no failure.
func (r *Run) reportMembers(down map[string]error) {
	none := !slices.ContainsFunc(r.Members.Members, func(m etcdcluster.Member) bool { return m.Runs() && down[m.Node] == nil })
	for _, m := range r.Members.Members {
		err := down[m.Node]
		if err == nil {
			continue
		}
		if m.ID == "" || m.State == etcdcluster.Learner {
			r.wait(fmt.Sprintf("%s is being started on node %s", r.cluster.Title(), m.Node))
			continue
		}
		if none {
			continue // Unreachable reports it
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
