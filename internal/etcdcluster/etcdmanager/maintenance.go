package etcdmanager

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/cluster-network-operator/cno/internal/etcdcluster"
	"github.com/cluster-network-operator/cno/internal/etcdcluster/etcdclient"
	"github.com/cluster-network-operator/cno/internal/status"
)

const (
	// DefragmentThreshold is the size in bytes from which on a database is defragmented when half of it is free.
	DefragmentThreshold = etcdcluster.Quota / 8
	// disarmThreshold is the maximum size of databases, in bytes, at which the alarm is disarmed.
	disarmThreshold = etcdcluster.Quota / 10 * 9
	// memberPause is the pause after the regular defragmentation of a member, and before an unsuccessful repair of a full etcd is repeated.
	memberPause = time.Minute
	// maxFailurePause is the maximum pause after a regular defragmentation failed: 1, 2, 4 and 8 minutes, then this one.
	maxFailurePause = 10 * time.Minute
)

// DatabaseSize is the size of the database of the member on a node, for metrics.
type DatabaseSize struct {
	Node        string
	Size, InUse int64
	// NoSpace is true while that member reports the alarm NOSPACE, which may be the alarm of another member.
	NoSpace bool
}

// task is a maintenance operation.
type task string

const (
	compact    task = "compact"
	defragment task = "defragment"
	disarm     task = "disarm"
)

// memberDatabase is the database of a running member.
type memberDatabase struct {
	etcdcluster.Member
	etcdclient.Database
}

// maintenance is the state of the maintenance of databases. It is lost in a restart, and operations may then be repeated.
type maintenance struct {
	// compacted reports whether etcd was compacted, and defragmented has the members that were defragmented, since the alarm was raised.
	compacted    bool
	defragmented map[uint64]bool
	// pausedUntil is the end of the current pause.
	pausedUntil time.Time
	// failures counts the tasks that failed one after another; failure is the error of the last one, nil if the last one succeeded.
	failures int
	failure  error
}

// failed records the error of a task. Repairs of a full etcd are repeated sooner than regular defragmentations.
func (u *maintenance) failed(err error, full bool, now time.Time) {
	pause := min(memberPause<<min(u.failures, 10), maxFailurePause)
	if full {
		pause = Soon
	}
	u.failure, u.failures, u.pausedUntil = err, u.failures+1, now.Add(pause)
}

// next returns the next task and its member; an empty task if none is due. The leader is the last member, so that it changes at most once. members must be
// all running members, and all must answer.
func (u maintenance) next(members []memberDatabase, now time.Time) (task, memberDatabase) {
	if now.Before(u.pausedUntil) {
		return "", memberDatabase{}
	}
	full := isFull(members)
	if full && !u.compacted {
		return compact, memberDatabase{}
	}
	for _, m := range leaderLast(members) {
		if full && !u.defragmented[m.Database.ID] || !full && m.Size >= DefragmentThreshold && m.InUse <= m.Size/2 {
			return defragment, m
		}
	}
	if full && !overLimit(members) {
		return disarm, memberDatabase{}
	}
	return "", memberDatabase{}
}

func leaderLast(members []memberDatabase) []memberDatabase {
	return slices.SortedStableFunc(slices.Values(members), func(a, b memberDatabase) int {
		switch {
		case a.Leader == b.Leader:
			return cmp.Compare(a.Name, b.Name)
		case a.Leader:
			return 1
		default:
			return -1
		}
	})
}

func isFull(members []memberDatabase) bool {
	return slices.ContainsFunc(members, func(m memberDatabase) bool { return m.NoSpace })
}

// overLimit reports whether a database is so large that the alarm would soon be raised again.
func overLimit(members []memberDatabase) bool {
	return slices.ContainsFunc(members, func(m memberDatabase) bool { return m.Size > disarmThreshold })
}

// reported returns the databases of running members; all is false if a member does not answer, is not up to date, or has no vote yet.
func (v view) reported(members []etcdcluster.Member) (out []memberDatabase, all bool) {
	all = true
	for _, m := range members {
		if !m.Runs() {
			continue
		}
		if !v.answers[m.Name] {
			all = false
			continue
		}
		all = all && m.Votes() && v.upToDate[m.Name]
		out = append(out, memberDatabase{m, v.databases[m.Name]})
	}
	return out, all && len(out) > 0
}

// reportSpace reports a full etcd, and the sizes of the databases. repair describes the next operation.
func (r *Run) reportSpace(v view, repair string) {
	members, _ := v.reported(r.Members.Members)
	if r.deps.Databases != nil {
		var sizes []DatabaseSize
		for _, m := range members {
			sizes = append(sizes, DatabaseSize{m.Node, m.Size, m.InUse, m.NoSpace})
		}
		r.deps.Databases(sizes)
	}
	if isFull(members) {
		r.Findings = append(r.Findings, r.Finding(status.Degraded, "EtcdNoSpace",
			fmt.Sprintf("%s is full (alarm NOSPACE) and refuses all writes, so that %s; %s", r.cluster.Title(), r.cluster.WhenFull, repair)))
	}
}

// maintain carries out the next maintenance task of the managed etcd, while all members answer and vote: a member does not answer during its
// defragmentation.
func (r *Run) maintain(ctx context.Context, v view) {
	now := r.deps.Now()
	members, all := v.reported(r.Members.Members)
	full := isFull(members)
	if !full {
		r.maintenance.compacted, r.maintenance.defragmented = false, nil
	}
	if !all {
		r.reportSpace(v, "the operator compacts and defragments it when all members answer")
		return
	}
	what, m := r.maintenance.next(members, now)
	if what == "" {
		r.reportSpace(v, r.fullMessage(members, now))
		r.reportFailure(now)
		return
	}
	r.reportSpace(v, "the operator compacts and defragments it, one member after the other")
	if err := r.runTask(ctx, what, m); err != nil {
		r.deps.Log.Error("maintain the databases of etcd", "etcd", r.cluster.App, "task", string(what), "node", m.Node, "error", err)
		r.maintenance.failed(err, full, now)
		r.reportFailure(now)
		if full {
			r.Failed()
		}
		return
	}
	r.maintenance.failures, r.maintenance.failure = 0, nil
	switch {
	case what == defragment && !full:
		r.maintenance.pausedUntil = now.Add(memberPause)
	case what == disarm:
		// If the alarm is raised again at once, the repair starts again after a pause.
		r.maintenance = maintenance{pausedUntil: now.Add(memberPause)}
	}
	r.Requeue(Soon)
}

// reportFailure reports the task that failed last until it is repeated or no longer due.
func (r *Run) reportFailure(now time.Time) {
	if r.maintenance.failure == nil {
		return
	}
	if !now.Before(r.maintenance.pausedUntil) {
		r.maintenance.failures, r.maintenance.failure = 0, nil
		return
	}
	r.Requeue(r.maintenance.pausedUntil.Sub(now))
	r.Findings = append(r.Findings, r.Finding(status.Degraded, "EtcdUpkeepFailed", r.maintenance.failure.Error()))
}

// fullMessage returns the end of the message for a full etcd without a task. If defragmentation of all members was not sufficient, the repair is repeated
// after a pause.
func (r *Run) fullMessage(members []memberDatabase, now time.Time) string {
	if isFull(members) && !now.Before(r.maintenance.pausedUntil) {
		r.maintenance = maintenance{pausedUntil: now.Add(memberPause)}
	}
	if overLimit(members) {
		return fmt.Sprintf("compaction and defragmentation did not reduce every database below %d MiB; find and delete the keys that fill it, see \"etcd is full\" in %s", int64(disarmThreshold>>20), r.cluster.Page())
	}
	return "the operator repeats compaction and defragmentation after a pause"
}

func (r *Run) runTask(ctx context.Context, what task, m memberDatabase) error {
	var err error
	switch what {
	case compact:
		if err = r.Etcd.Compact(ctx); err == nil {
			r.maintenance.compacted, r.maintenance.defragmented = true, map[uint64]bool{}
			r.deps.Log.Warn("compacted an etcd that is full", "etcd", r.cluster.App)
		}
	case defragment:
		if err = r.Etcd.Defragment(ctx, m.ClientURL); err == nil {
			if r.maintenance.defragmented != nil {
				r.maintenance.defragmented[m.Database.ID] = true
			}
			r.deps.Log.Info("defragmented a member of etcd", "etcd", r.cluster.App, "node", m.Node, "bytes", m.Size, "used", m.InUse)
		}
	case disarm:
		if err = r.Etcd.Disarm(ctx); err == nil {
			r.deps.Log.Info("etcd accepts writes again", "etcd", r.cluster.App)
		}
	}
	return err
}
