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
	// Wasteful is the size of a database, in bytes, from which on it is worth defragmenting when half of it is free.
	Wasteful = etcdcluster.Quota / 8
	// roomy is the size that databases must have before etcd may accept writes again, in bytes.
	roomy = etcdcluster.Quota / 10 * 9
	// betweenMembers is the pause after a member was defragmented on schedule, and before a repair of a full etcd that did not
	// help is repeated.
	betweenMembers = time.Minute
	// afterFailure is the pause after a member could not be defragmented on schedule.
	afterFailure = 10 * time.Minute
)

// DatabaseSize is the size of the database of the member on a node, for metrics.
type DatabaseSize struct {
	Node        string
	Size, InUse int64
	// NoSpace is true while that member reports the alarm NOSPACE, which may be that of another one.
	NoSpace bool
}

// chore is one thing to do for the databases.
type chore string

const (
	compact    chore = "compact"
	defragment chore = "defragment"
	disarm     chore = "disarm"
)

// stored is the database of a member that runs.
type stored struct {
	etcdcluster.Member
	etcdclient.Database
}

// upkeep is what the controller remembers of its work on the databases. A restart loses it, and then work may be
// repeated, which does no harm.
type upkeep struct {
	// compacted is true, and defragmented has a member, if that was done since the alarm was raised.
	compacted    bool
	defragmented map[uint64]bool
	// rest is the time before which nothing is done.
	rest time.Time
}

// next returns what is to be done now, and for which member: the leader comes last, so that it changes at most once. It is
// empty if nothing is. Members must be all that run, and answer.
func (u upkeep) next(members []stored, now time.Time) (chore, stored) {
	if now.Before(u.rest) {
		return "", stored{}
	}
	full := isFull(members)
	if full && !u.compacted {
		return compact, stored{}
	}
	for _, m := range leaderLast(members) {
		if full && !u.defragmented[m.Database.ID] || !full && m.Size >= Wasteful && m.InUse <= m.Size/2 {
			return defragment, m
		}
	}
	if full && !crowded(members) {
		return disarm, stored{}
	}
	return "", stored{}
}

func leaderLast(members []stored) []stored {
	return slices.SortedStableFunc(slices.Values(members), func(a, b stored) int {
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

func isFull(members []stored) bool {
	return slices.ContainsFunc(members, func(m stored) bool { return m.NoSpace })
}

// crowded reports whether a database is so large that the alarm would be raised again at once.
func crowded(members []stored) bool {
	return slices.ContainsFunc(members, func(m stored) bool { return m.Size > roomy })
}

// reported returns what the members that run report; all is false if one does not answer, or has no vote yet.
func (v view) reported(members []etcdcluster.Member) (out []stored, all bool) {
	all = true
	for _, m := range members {
		if !m.Runs() {
			continue
		}
		if !v.answers[m.Name] {
			all = false
			continue
		}
		all = all && m.Votes() && v.settled[m.Name]
		out = append(out, stored{m, v.databases[m.Name]})
	}
	return out, all && len(out) > 0
}

// reportSpace reports a full etcd, and the sizes of the databases. repair names what happens next.
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

// maintain does the next thing for the databases of the managed etcd, one at a time, and only while all members answer
// and vote, since a member that is defragmented answers nothing meanwhile.
func (r *Run) maintain(ctx context.Context, v view) {
	now := r.deps.Now()
	members, all := v.reported(r.Members.Members)
	full := isFull(members)
	if !full {
		r.upkeep.compacted, r.upkeep.defragmented = false, nil
	}
	if !all {
		r.reportSpace(v, "the operator compacts and defragments it when all members answer")
		return
	}
	what, m := r.upkeep.next(members, now)
	if what == "" {
		r.reportSpace(v, r.crowding(members, now))
		return
	}
	r.reportSpace(v, "the operator compacts and defragments it, one member after the other")
	if err := r.do(ctx, what, m); err != nil {
		r.Findings = append(r.Findings, r.Finding(status.Degraded, "EtcdUpkeepFailed", err.Error()))
		r.upkeep.rest = now.Add(afterFailure)
		if full {
			r.upkeep.rest = now.Add(Soon)
			r.Failed()
		}
		return
	}
	switch {
	case what == defragment && !full:
		r.upkeep.rest = now.Add(betweenMembers)
	case what == disarm:
		// Should the alarm be raised again at once, the repair begins again after a pause.
		r.upkeep = upkeep{rest: now.Add(betweenMembers)}
	}
	r.Soonest(Soon)
}

// crowding is the end of the sentence for a full etcd of which nothing can be done now. If all members were defragmented
// in vain, the repair is repeated after a pause.
func (r *Run) crowding(members []stored, now time.Time) string {
	if isFull(members) && !now.Before(r.upkeep.rest) {
		r.upkeep = upkeep{rest: now.Add(betweenMembers)}
	}
	if crowded(members) {
		return fmt.Sprintf("compaction and defragmentation did not reduce every database below %d MiB; find and delete the keys that fill it, see \"etcd is full\" in %s", int64(roomy>>20), r.cluster.Page())
	}
	return "the operator repeats compaction and defragmentation after a pause"
}

func (r *Run) do(ctx context.Context, what chore, m stored) error {
	var err error
	switch what {
	case compact:
		if err = r.Etcd.Compact(ctx); err == nil {
			r.upkeep.compacted, r.upkeep.defragmented = true, map[uint64]bool{}
			r.deps.Log.Warn("compacted an etcd that is full", "etcd", r.cluster.App)
		}
	case defragment:
		if err = r.Etcd.Defragment(ctx, m.ClientURL); err == nil {
			if r.upkeep.defragmented != nil {
				r.upkeep.defragmented[m.Database.ID] = true
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
