package etcdmanager

import (
	"slices"
	"strings"
	"time"

	"github.com/cluster-network-operator/cno/internal/etcdcluster"
	"github.com/cluster-network-operator/cno/internal/etcdcluster/etcdclient"
)

const (
	// GoneGrace is how long the Node of a member must have been missing before its seat is given away.
	GoneGrace = time.Minute
	// ReplacedGrace is the same for a Node that is there again with another UID or address: then it may well be the
	// same machine, whose member comes back with its data.
	ReplacedGrace = 5 * time.Minute
	// StalledGrace is how long a member with the new bundle may fail to get ready before the others get the bundle
	// too. It is longer than a start may take.
	StalledGrace = 5 * time.Minute
)

// view is what the managed etcd looks like at one moment.
type view struct {
	cluster etcdcluster.Cluster
	now     time.Time
	managed etcdcluster.Managed
	// trust is the hash of the authorities that members are to trust.
	trust string
	// token is one that was never used. again requests a new cluster, even if there is one.
	token string
	again bool
	// candidates are the control-plane nodes, the oldest first.
	candidates []etcdcluster.Candidate
	// nodes are all nodes, by name.
	nodes map[string]etcdcluster.Candidate
	// away says since when the Node of a member has been missing or another one, by the member's name.
	away map[string]time.Time
	// actual is etcd's own list; known is false if it cannot be had, for lack of a quorum or of a connection.
	actual []etcdclient.Member
	known  bool
	// answers holds the names of the members that answer, settled those whose pod is ready and as recorded.
	answers, settled map[string]bool
	// databases are what the members that answer report of their databases.
	databases map[string]etcdclient.Database
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

// step is the one next thing to do, or what is waited for. It is done whole or not at all, so that the operator may be
// stopped between any two: the next reconcile sees what was done, and goes on.
type step struct {
	// record is to be written, if not nil.
	record *etcdcluster.Membership
	// verb is asked of etcd, if not empty, for the member with this name, number and URL.
	verb   verb
	member string
	id     uint64
	url    string
	// waiting and problem are sentences: the one for what takes its time, the other for what needs a person.
	waiting, problem string
}

// rule is one reason to do something. ok is false if it does not apply.
type rule func(m etcdcluster.Membership, v view) (s step, ok bool)

// plan returns the next step for a membership; the zero step if all is as it should be. The rules are in order of
// precedence: what is known is noted before anything is decided, and members leave before others join.
func plan(m etcdcluster.Membership, v view) step {
	for _, r := range [...]rule{found, note, adopt, moved, unlisted, readdress, leave, roll, catchUp, grow, join} {
		if s, ok := r(m, v); ok {
			return s
		}
	}
	return step{}
}

// listed returns etcd's line for a member. Two members that follow one another at the same address are distinguished by
// their names, once they have one.
func listed(m etcdcluster.Member, actual []etcdclient.Member) (etcdclient.Member, bool) {
	for _, a := range actual {
		if a.PeerURL == m.PeerURL && (a.Name == "" || a.Name == m.Name) {
			return a, true
		}
	}
	return etcdclient.Member{}, false
}

// initialCluster is what a member that joins is told: everybody who has started, and itself.
func initialCluster(m etcdcluster.Member, actual []etcdclient.Member) string {
	var out []string
	for _, a := range actual {
		if a.Name != "" && a.Name != m.Name {
			out = append(out, a.Name+"="+a.PeerURL)
		}
	}
	slices.Sort(out)
	return strings.Join(append(out, m.Name+"="+m.PeerURL), ",")
}

func write(before, next etcdcluster.Membership) step {
	next.ClientTrust, next.NodeIdentity, next.UsersChecked = before.ClientTrust, before.NodeIdentity, before.UsersChecked
	return step{record: &next}
}

func trusting(m etcdcluster.Membership, trust string) etcdcluster.Membership {
	for i := range m.Members {
		m.Members[i].Trust = trust
	}
	return m
}

func clone(m etcdcluster.Membership) etcdcluster.Membership {
	m.Members = slices.Clone(m.Members)
	return m
}
