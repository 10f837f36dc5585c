package controller

import (
	"slices"
	"strings"
	"time"

	"github.com/cluster-network-operator/cno/providers/flannel/record"
)

const (
	// goneGrace is how long the Node of a member must have been missing before its seat is given away.
	goneGrace = time.Minute
	// replacedGrace is the same for a Node that is there again with another UID or address: then it may well be the
	// same machine, whose member comes back with its data.
	replacedGrace = 5 * time.Minute
	// stalledGrace is how long a member with the new bundle may fail to get ready before the others get the bundle
	// too. It is longer than a start may take.
	stalledGrace = 5 * time.Minute
)

// view is what the managed etcd looks like at one moment.
type view struct {
	now     time.Time
	managed record.Managed
	// trust is the hash of the authorities that members are to trust.
	trust string
	// token is one that was never used. again requests a new cluster, even if there is one.
	token string
	anew  bool
	// candidates are the control-plane nodes, the oldest first.
	candidates []record.Candidate
	// nodes are all nodes, by name.
	nodes map[string]record.Candidate
	// away says since when the Node of a member has been missing or another one, by the member's name.
	away map[string]time.Time
	// actual is etcd's own list; known is false if it cannot be had, for lack of a quorum or of a connection.
	actual []Member
	known  bool
	// answers holds the names of the members that answer, settled those whose pod is ready and as recorded.
	answers, settled map[string]bool
	// databases are what the members that answer report of their databases.
	databases map[string]Database
	// stalled holds the names of the members that have not been settled for longer than a start takes.
	stalled map[string]bool
}

// verb is what a step asks of etcd.
type verb string

const (
	add     verb = "add"
	promote verb = "promote"
	remove  verb = "remove"
	move    verb = "move"
)

// step is the one next thing to do, or what is waited for. It is done whole or not at all, so that the loop may be
// stopped between any two: the next pass sees what was done, and goes on.
type step struct {
	// record is to be written, if not nil.
	record *record.Membership
	// verb is asked of etcd, if not empty, for the member with this name, number and URL.
	verb   verb
	member string
	id     uint64
	url    string
	// waiting and problem are sentences: the one for what takes its time, the other for what needs a person.
	waiting, problem string
}

// rule is one reason to do something. ok is false if it does not apply.
type rule func(m record.Membership, v view) (s step, ok bool)

// plan returns the next step for a membership; the zero step if all is as it should be. The rules are in order of
// precedence: what is known is noted before anything is decided, and members leave before others join.
func plan(m record.Membership, v view) step {
	for _, r := range [...]rule{found, note, adopt, moved, unlisted, readdress, leave, roll, catchUp, grow, join} {
		if s, ok := r(m, v); ok {
			return s
		}
	}
	return step{}
}

// listed returns etcd's line for a member. Two members that follow one another at the same address are distinguished by
// their names, once they have one.
func listed(m record.Member, actual []Member) (Member, bool) {
	for _, a := range actual {
		if a.PeerURL == m.PeerURL && (a.Name == "" || a.Name == m.Name) {
			return a, true
		}
	}
	return Member{}, false
}

// initialCluster is what a member that joins is told: everybody who has started, and itself.
func initialCluster(m record.Member, actual []Member) string {
	var out []string
	for _, a := range actual {
		if a.Name != "" && a.Name != m.Name {
			out = append(out, a.Name+"="+a.PeerURL)
		}
	}
	slices.Sort(out)
	return strings.Join(append(out, m.Name+"="+m.PeerURL), ",")
}

func write(before, next record.Membership) step {
	next.ClientTrust, next.NodeIdentity, next.UsersChecked = before.ClientTrust, before.NodeIdentity, before.UsersChecked
	return step{record: &next}
}

func trusting(m record.Membership, trust string) record.Membership {
	for i := range m.Members {
		m.Members[i].Trust = trust
	}
	return m
}

func clone(m record.Membership) record.Membership {
	m.Members = slices.Clone(m.Members)
	return m
}
