package controller

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/cluster-network-operator/cno/internal/status"
	"github.com/cluster-network-operator/cno/providers/flannel/record"
)

const (
	// wasteful is the size of a database, in bytes, from which on it is worth defragmenting when half of it is free.
	wasteful = record.Quota / 8
	// roomy is the size that databases must have before etcd may accept writes again, in bytes.
	roomy = record.Quota / 10 * 9
	// betweenMembers is the pause after a member was defragmented on schedule, and before a repair of a full etcd that did not
	// help is repeated.
	betweenMembers = time.Minute
	// afterFailure is the pause after a member could not be defragmented on schedule.
	afterFailure = 10 * time.Minute
)

// Database is what a member reports of its database.
type Database struct {
	// ID is etcd's number for the member.
	ID uint64
	// Size is the size of the file, and InUse how much of it holds data, in bytes.
	Size, InUse int64
	Leader      bool
	// NoSpace is true while the alarm NOSPACE of any member is active: etcd refuses all writes.
	NoSpace bool
}

// DatabaseSize is the size of the database of the member on a node, for metrics.
type DatabaseSize struct {
	Node        string
	Size, InUse int64
	// NoSpace is true while that member reports the alarm NOSPACE, which may be that of another one.
	NoSpace bool
}

// Upkeep keeps the databases of an etcd small.
type Upkeep interface {
	// Compact removes the history of all keys.
	Compact(ctx context.Context) error
	// Defragment returns the free space of one member's database to its disk. The member answers nothing meanwhile.
	Defragment(ctx context.Context, clientURL string) error
	// Disarm ends the alarm NOSPACE of all members.
	Disarm(ctx context.Context) error
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
	record.Member
	Database
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
		if full && !u.defragmented[m.Database.ID] || !full && m.Size >= wasteful && m.InUse <= m.Size/2 {
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
func (v view) reported(members []record.Member) (out []stored, all bool) {
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
func (p *pass) reportSpace(v view, repair string) {
	members, _ := v.reported(p.in.members.Members)
	if p.deps.Databases != nil {
		var sizes []DatabaseSize
		for _, m := range members {
			sizes = append(sizes, DatabaseSize{m.Node, m.Size, m.InUse, m.NoSpace})
		}
		p.deps.Databases(sizes)
	}
	if isFull(members) {
		p.findings = append(p.findings, finding(status.Degraded, "EtcdNoSpace",
			fmt.Sprintf("flannel's etcd is full (alarm NOSPACE) and refuses all writes, so that no lease can be renewed; %s", repair)))
	}
}

// maintain does the next thing for the databases of the managed etcd, one at a time, and only while all members answer
// and vote, since a member that is defragmented answers nothing meanwhile.
func (p *pass) maintain(ctx context.Context, v view) {
	now := p.deps.Now()
	members, all := v.reported(p.in.members.Members)
	full := isFull(members)
	if !full {
		p.upkeep.compacted, p.upkeep.defragmented = false, nil
	}
	if !all {
		p.reportSpace(v, "the operator compacts and defragments it when all members answer")
		return
	}
	what, m := p.upkeep.next(members, now)
	if what == "" {
		p.reportSpace(v, p.crowding(members, now))
		return
	}
	p.reportSpace(v, "the operator compacts and defragments it, one member after the other")
	if err := p.do(ctx, what, m); err != nil {
		p.findings = append(p.findings, finding(status.Degraded, "EtcdUpkeepFailed", err.Error()))
		p.upkeep.rest = now.Add(afterFailure)
		if full {
			p.upkeep.rest = now.Add(soon)
			p.failed()
		}
		return
	}
	switch {
	case what == defragment && !full:
		p.upkeep.rest = now.Add(betweenMembers)
	case what == disarm:
		// Should the alarm be raised again at once, the repair begins again after a pause.
		p.upkeep = upkeep{rest: now.Add(betweenMembers)}
	}
	p.soonest(soon)
}

// crowding is the end of the sentence for a full etcd of which nothing can be done now. If all members were defragmented
// in vain, the repair is repeated after a pause.
func (p *pass) crowding(members []stored, now time.Time) string {
	if isFull(members) && !now.Before(p.upkeep.rest) {
		p.upkeep = upkeep{rest: now.Add(betweenMembers)}
	}
	if crowded(members) {
		return fmt.Sprintf("compaction and defragmentation did not reduce every database below %d MiB; find and delete the keys that fill it, see \"etcd is full\" in docs/providers/flannel.md", int64(roomy>>20))
	}
	return "the operator repeats compaction and defragmentation after a pause"
}

func (p *pass) do(ctx context.Context, what chore, m stored) error {
	var err error
	switch what {
	case compact:
		if err = p.etcd.Compact(ctx); err == nil {
			p.upkeep.compacted, p.upkeep.defragmented = true, map[uint64]bool{}
			p.deps.Log.Warn("compacted flannel's etcd, which is full")
		}
	case defragment:
		if err = p.etcd.Defragment(ctx, m.ClientURL); err == nil {
			if p.upkeep.defragmented != nil {
				p.upkeep.defragmented[m.Database.ID] = true
			}
			p.deps.Log.Info("defragmented a member of flannel's etcd", "node", m.Node, "bytes", m.Size, "used", m.InUse)
		}
	case disarm:
		if err = p.etcd.Disarm(ctx); err == nil {
			p.deps.Log.Info("flannel's etcd accepts writes again")
		}
	}
	return err
}
