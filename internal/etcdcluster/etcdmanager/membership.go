package etcdmanager

import (
	"slices"
	"strings"
	"time"

	"github.com/cluster-network-operator/cno/internal/etcdcluster"
	"github.com/cluster-network-operator/cno/internal/etcdcluster/etcdclient"
)

const (
	// MissingNodeGrace is how long the Node of a member must be missing before the member is replaced.
	MissingNodeGrace = time.Minute
	// ReplacedGrace is the same for a Node that exists with another UID or address: it may be the same machine, whose member returns with its
	// data.
	ReplacedGrace = 5 * time.Minute
	// StalledGrace is how long a member with the new bundle may be not ready before the other members get the bundle, too. It is longer than a
	// start takes.
	StalledGrace = 5 * time.Minute
)

// view is the observed state of the managed etcd.
type view struct {
	cluster etcdcluster.Cluster
	now     time.Time
	managed etcdcluster.Managed
	// trust is the hash of the CAs that members should trust.
	trust string
	// token is a new token. bootstrapAgain requests a new cluster, even if there is one.
	token          string
	bootstrapAgain bool
	// candidates are the control-plane nodes, the oldest first.
	candidates []etcdcluster.Candidate
	// nodes are all nodes, by name.
	nodes map[string]etcdcluster.Candidate
	// missingSince is the time since which the Node of a member is missing or replaced, by the member's name.
	missingSince map[string]time.Time
	// actual is etcd's member list; known is false if it cannot be read because there is no quorum or no connection.
	actual []etcdclient.Member
	known  bool
	// answers has the names of the members that answer, upToDate those whose pod is ready and matches the record.
	answers, upToDate map[string]bool
	// databases are the databases of the members that answer.
	databases map[string]etcdclient.Database
	// stalled has the names of the members that have not been up to date for StalledGrace.
	stalled map[string]bool
}

// verb is an operation of etcd.
type verb string

const (
	add     verb = "add"
	promote verb = "promote"
	remove  verb = "remove"
	move    verb = "move"
)

// step is the next operation, or the condition that is waited for. Steps are atomic, so that the operator may be stopped between any two: the next
// reconcile observes the result and continues.
type step struct {
	// record is the record to write, unless it is nil.
	record *etcdcluster.Membership
	// verb is the operation for the member with this name, ID and URL; empty for none.
	verb   verb
	member string
	id     uint64
	url    string
	// waiting is the message of an operation in progress, problem that of a condition that needs an administrator.
	waiting, problem string
}

// rule returns a step; ok is false if the rule does not apply.
type rule func(m etcdcluster.Membership, v view) (s step, ok bool)

// plan returns the next step for a membership; the zero step if none is needed. The rules are in order of precedence: observations are recorded before
// decisions, and members are removed before others are added.
func plan(m etcdcluster.Membership, v view) step {
	for _, r := range [...]rule{bootstrap, adoptList, adopt, updateURL, reconcileList, readdress, removeLost, rollOut, promoteLearner, addSeats, join} {
		if s, ok := r(m, v); ok {
			return s
		}
	}
	return step{}
}

// listed returns the entry of a member in etcd's member list. Successive members at the same address are distinguished by their names, if they have one.
func listed(m etcdcluster.Member, actual []etcdclient.Member) (etcdclient.Member, bool) {
	for _, a := range actual {
		if a.PeerURL == m.PeerURL && (a.Name == "" || a.Name == m.Name) {
			return a, true
		}
	}
	return etcdclient.Member{}, false
}

// initialCluster returns the initial cluster of a new member: all members that have started, and itself.
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
