package etcdmanager

import (
	"fmt"
	"slices"
	"strconv"

	"github.com/cluster-network-operator/cno/internal/etcdcluster"
)

// bootstrap creates the record of a new cluster, if there is none or a new one is requested. Only its first member creates the cluster in etcd.
func bootstrap(m etcdcluster.Membership, v view) (step, bool) {
	if len(m.Members) > 0 && !v.bootstrapAgain {
		return step{}, false
	}
	next := etcdcluster.Bootstrap(v.candidates, v.managed, v.token)
	if len(next.Members) == 0 {
		return step{waiting: v.cluster.Title() + " waits for a control-plane node with an address"}, true
	}
	return write(m, trusting(next, v.trust)), true
}

// adoptList updates the states of members from etcd's list, for a step that was done but not recorded before the operator was stopped.
func adoptList(m etcdcluster.Membership, v view) (step, bool) {
	if !v.known {
		return step{}, false
	}
	next, changed := clone(m), false
	for i := range next.Members {
		member := &next.Members[i]
		a, ok := listed(*member, v.actual)
		if !ok {
			continue
		}
		before := *member
		member.ID = strconv.FormatUint(a.ID, 16)
		switch {
		case a.Learner && member.State != etcdcluster.Learner:
			member.State, member.InitialCluster = etcdcluster.Learner, initialCluster(*member, v.actual)
		case !a.Learner && (member.State != etcdcluster.New || len(v.actual) > 1):
			member.State = etcdcluster.Existing
		}
		changed = changed || *member != before
	}
	return write(m, next), changed
}

// adopt keeps a member that answers although its Node object was recreated: the machine and its data are the same.
func adopt(m etcdcluster.Membership, v view) (step, bool) {
	for i, member := range m.Members {
		n, exists := v.nodes[member.Node]
		if exists && n.UID != member.UID && n.Address.String() == member.Address && v.answers[member.Name] {
			next := clone(m)
			next.Members[i].UID = n.UID
			return write(m, next), true
		}
	}
	return step{}, false
}

// reconcileList removes unrecorded learners from etcd, and members that are not in etcd's list from the record. A list without any recorded member belongs
// to another etcd and is ignored.
func reconcileList(m etcdcluster.Membership, v view) (step, bool) {
	recorded := map[uint64]bool{}
	missing := -1
	for i, member := range m.Members {
		a, ok := listed(member, v.actual)
		if ok {
			recorded[a.ID] = true
		} else if member.Runs() {
			missing = i
		}
	}
	if !v.known || len(recorded) == 0 {
		return step{}, false
	}
	for _, a := range v.actual {
		if !recorded[a.ID] && (a.Learner || a.Name == "") {
			return step{verb: remove, member: a.Name, id: a.ID, url: a.PeerURL}, true
		}
	}
	if missing < 0 {
		return step{}, false
	}
	next := clone(m)
	next.Members = slices.Delete(next.Members, missing, missing+1)
	return write(m, next), true
}

// readdress moves the only member to the new address of its node, whose disk has the only copy of the data. If the disk is empty, the member creates a new
// cluster.
func readdress(m etcdcluster.Membership, v view) (step, bool) {
	for i, member := range m.Members {
		n, exists := v.nodes[member.Node]
		since, missing := v.missingSince[member.Name]
		if !exists || !n.Address.IsValid() || n.Address.String() == member.Address || v.answers[member.Name] || !isOnlyMember(m, member) {
			continue
		}
		if !missing || v.now.Sub(since) < MissingNodeGrace {
			return step{waiting: fmt.Sprintf("node %s has another address; its member of %s is moved to it soon", member.Node, v.cluster.Title())}, true
		}
		next, placed := clone(m), etcdcluster.NewMember(n, v.managed, "")
		at := &next.Members[i]
		at.UID, at.Address, at.PeerURL, at.ClientURL = placed.UID, placed.Address, placed.PeerURL, placed.ClientURL
		at.State, at.InitialCluster = etcdcluster.New, ""
		return write(m, next), true
	}
	return step{}, false
}

// updateURL updates the URL of a member in etcd to the recorded one.
func updateURL(m etcdcluster.Membership, v view) (step, bool) {
	for _, member := range m.Members {
		for _, a := range v.actual {
			if v.known && strconv.FormatUint(a.ID, 16) == member.ID && a.PeerURL != member.PeerURL {
				return step{verb: move, member: member.Name, id: a.ID, url: member.PeerURL}, true
			}
		}
	}
	return step{}, false
}

// removeLost removes a member whose node is lost. If it was the only member, a new cluster is created.
func removeLost(m etcdcluster.Membership, v view) (step, bool) {
	for i, member := range m.Members {
		if !v.nodeLost(member) {
			continue
		}
		if isOnlyMember(m, member) {
			return write(m, trusting(etcdcluster.Bootstrap(v.candidates, v.managed, v.token), v.trust)), len(v.candidates) > 0
		}
		a, ok := listed(member, v.actual)
		if member.Runs() && !v.known {
			return step{problem: fmt.Sprintf("node %s was deleted, and with it a member of %s; the others cannot remove it, since %s", member.Node, v.cluster.Title(), v.lostQuorum())}, true
		}
		if ok {
			return step{verb: remove, member: member.Name, id: a.ID, url: a.PeerURL}, true
		}
		next := clone(m)
		next.Members = slices.Delete(next.Members, i, i+1)
		return write(m, next), true
	}
	return step{}, false
}

func (v view) lostQuorum() string {
	return "fewer than half of its members answer; start one of them again, or see \"etcd has lost its quorum\" in " + v.cluster.Page()
}

// nodeLost reports whether a member does not answer, and its node has been missing or replaced for the grace period.
func (v view) nodeLost(m etcdcluster.Member) bool {
	since, missing := v.missingSince[m.Name]
	if !missing || v.answers[m.Name] {
		return false
	}
	grace := MissingNodeGrace
	if _, exists := v.nodes[m.Node]; exists {
		grace = ReplacedGrace
	}
	if !m.Runs() {
		grace = 0 // it has no data
	}
	return v.now.Sub(since) >= grace
}

// present reports whether a member's node exists with the recorded UID and address.
func (v view) present(m etcdcluster.Member) bool {
	n, exists := v.nodes[m.Node]
	return exists && n.UID == m.UID && n.Address.String() == m.Address
}

// isOnlyMember reports whether a member is the only one that runs: no other member has its data or can remove it.
func isOnlyMember(m etcdcluster.Membership, member etcdcluster.Member) bool {
	for _, other := range m.Members {
		if other.Name != member.Name && other.Runs() {
			return false
		}
	}
	return member.Runs()
}

// promoteLearner promotes a learner to a voting member.
func promoteLearner(m etcdcluster.Membership, v view) (step, bool) {
	for _, member := range m.Members {
		if member.State != etcdcluster.Learner {
			continue
		}
		a, ok := listed(member, v.actual)
		if !ok || a.Name == "" {
			return step{waiting: fmt.Sprintf("a member of %s is being started on node %s", v.cluster.Title(), member.Node)}, true
		}
		return step{verb: promote, member: member.Name, id: a.ID,
			waiting: fmt.Sprintf("the member of %s on node %s is catching up with the others", v.cluster.Title(), member.Node)}, true
	}
	return step{}, false
}

// rollOut updates the image and the bundle of the members, one at a time. It updates a member that is not ready at once, since the old image or bundle may
// be the cause.
func rollOut(m etcdcluster.Membership, v view) (step, bool) {
	var waiting string
	for i, member := range m.Members {
		if member.Image == v.managed.Image && member.Trust == v.trust {
			continue
		}
		next := clone(m)
		next.Members[i].Image, next.Members[i].Trust = v.managed.Image, v.trust
		other, found := v.notUpToDate(m, member.Name)
		if !found || !v.upToDate[member.Name] {
			return write(m, next), true
		}
		if member.Trust != v.trust && v.rejected(m, member.Name) {
			next.Members[i].Image = member.Image // the new image may be the cause
			return write(m, next), true
		}
		if waiting == "" {
			waiting = fmt.Sprintf("%s on node %s is updated when the member on node %s is ready", v.cluster.Title(), member.Node, other)
		}
	}
	return step{waiting: waiting}, waiting != ""
}

// rejected reports whether all voting members that are not up to date, except the given one, have the new bundle and are stalled: members with the old
// bundle may then reject their connections.
func (v view) rejected(m etcdcluster.Membership, but string) bool {
	for _, member := range m.Members {
		if member.Name != but && member.Votes() && !v.upToDate[member.Name] && (member.Trust != v.trust || !v.stalled[member.Name]) {
			return false
		}
	}
	return true
}

// notUpToDate returns the node of a voting member that is not up to date, except the given one.
func (v view) notUpToDate(m etcdcluster.Membership, but string) (node string, ok bool) {
	for _, member := range m.Members {
		if member.Name != but && member.Votes() && !v.upToDate[member.Name] {
			return member.Node, true
		}
	}
	return "", false
}

// addSeats adds members in the state Promised for the oldest control-plane nodes without a member.
func addSeats(m etcdcluster.Membership, v view) (step, bool) {
	seated := map[string]bool{}
	for _, member := range m.Members {
		seated[member.Node] = true
	}
	var free []etcdcluster.Candidate
	for _, c := range v.candidates {
		if !seated[c.Name] {
			free = append(free, c)
		}
	}
	next := clone(m)
	for range etcdcluster.Seats(len(seated)+len(free)) - len(m.Members) {
		member := etcdcluster.NewMember(free[0], v.managed, v.token)
		member.State, member.Trust = etcdcluster.Promised, v.trust
		next.Members, free = append(next.Members, member), free[1:]
	}
	return write(m, next), len(next.Members) > len(m.Members)
}

// join adds a member in the state Promised to etcd. Before that, it changes the state of the first member from New to Existing.
func join(m etcdcluster.Membership, v view) (step, bool) {
	i := slices.IndexFunc(m.Members, func(member etcdcluster.Member) bool { return member.State == etcdcluster.Promised })
	if i < 0 {
		return step{}, false
	}
	for _, member := range m.Members {
		if member.Votes() && !v.answers[member.Name] || !v.known {
			return step{waiting: fmt.Sprintf("%s grows to node %s when the member on node %s answers", v.cluster.Title(), m.Members[i].Node, member.Node)}, true
		}
	}
	if !v.present(m.Members[i]) {
		return step{waiting: fmt.Sprintf("%s grows when node %s is back, or has been missing for a while", v.cluster.Title(), m.Members[i].Node)}, true
	}
	if f := slices.IndexFunc(m.Members, func(member etcdcluster.Member) bool { return member.State == etcdcluster.New }); f >= 0 {
		next := clone(m)
		next.Members[f].State = etcdcluster.Existing
		return write(m, next), true
	}
	// etcd requires all members to have been connected for some seconds.
	return step{verb: add, member: m.Members[i].Name, url: m.Members[i].PeerURL,
		waiting: fmt.Sprintf("%s is about to grow to node %s", v.cluster.Title(), m.Members[i].Node)}, true
}
