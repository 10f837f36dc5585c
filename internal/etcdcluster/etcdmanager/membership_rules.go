package etcdmanager

import (
	"fmt"
	"slices"
	"strconv"

	"github.com/cluster-network-operator/cno/internal/etcdcluster"
)

// found names the first members. Only one founds a cluster, and only where there was none.
func found(m etcdcluster.Membership, v view) (step, bool) {
	if len(m.Members) > 0 && !v.again {
		return step{}, false
	}
	next := etcdcluster.Found(v.candidates, v.managed, v.token)
	if len(next.Members) == 0 {
		return step{waiting: v.cluster.Title() + " waits for a control-plane node with an address"}, true
	}
	return write(m, trusting(next, v.trust)), true
}

// note takes over what etcd says of its members: a step that was done, but not noted before the loop was stopped.
func note(m etcdcluster.Membership, v view) (step, bool) {
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
		was := *member
		member.ID = strconv.FormatUint(a.ID, 16)
		switch {
		case a.Learner && member.State != etcdcluster.Learner:
			member.State, member.InitialCluster = etcdcluster.Learner, initialCluster(*member, v.actual)
		case !a.Learner && (member.State != etcdcluster.New || len(v.actual) > 1):
			member.State = etcdcluster.Existing
		}
		changed = changed || *member != was
	}
	return write(m, next), changed
}

// adopt keeps a member whose Node object was recreated while its machine stayed: it answers, with its data.
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

// unlisted makes the record and etcd's own list agree, where someone or something has removed a member, or the record
// of one that was being added. A list that has none of the record's members is that of another etcd.
func unlisted(m etcdcluster.Membership, v view) (step, bool) {
	ours := map[uint64]bool{}
	missing := -1
	for i, member := range m.Members {
		a, ok := listed(member, v.actual)
		if ok {
			ours[a.ID] = true
		} else if member.Runs() {
			missing = i
		}
	}
	if !v.known || len(ours) == 0 {
		return step{}, false
	}
	for _, a := range v.actual {
		if !ours[a.ID] && (a.Learner || a.Name == "") {
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

// readdress moves the only member to the new address of its node, whose disk has the only copy of the data. If the disk
// is empty, it founds again.
func readdress(m etcdcluster.Membership, v view) (step, bool) {
	for i, member := range m.Members {
		n, exists := v.nodes[member.Node]
		since, away := v.away[member.Name]
		if !exists || !n.Address.IsValid() || n.Address.String() == member.Address || v.answers[member.Name] || !alone(m, member) {
			continue
		}
		if !away || v.now.Sub(since) < GoneGrace {
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

// moved has etcd list a member, which it knows by its number, at the address that the record has.
func moved(m etcdcluster.Membership, v view) (step, bool) {
	for _, member := range m.Members {
		for _, a := range v.actual {
			if v.known && strconv.FormatUint(a.ID, 16) == member.ID && a.PeerURL != member.PeerURL {
				return step{verb: move, member: member.Name, id: a.ID, url: member.PeerURL}, true
			}
		}
	}
	return step{}, false
}

// leave gives away the seat of a member whose node is gone for good.
func leave(m etcdcluster.Membership, v view) (step, bool) {
	for i, member := range m.Members {
		if !v.gone(member) {
			continue
		}
		if alone(m, member) {
			return write(m, trusting(etcdcluster.Found(v.candidates, v.managed, v.token), v.trust)), len(v.candidates) > 0
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

// gone reports whether a member's node has been missing, or another one, for long enough, and the member with it.
func (v view) gone(m etcdcluster.Member) bool {
	since, away := v.away[m.Name]
	if !away || v.answers[m.Name] {
		return false
	}
	grace := GoneGrace
	if _, again := v.nodes[m.Node]; again {
		grace = ReplacedGrace
	}
	if !m.Runs() {
		grace = 0 // it has no data that could come back
	}
	return v.now.Sub(since) >= grace
}

// present reports whether a member's node is the one that it was placed on.
func (v view) present(m etcdcluster.Member) bool {
	n, exists := v.nodes[m.Node]
	return exists && n.UID == m.UID && n.Address.String() == m.Address
}

// alone reports whether a member is the only one that ever ran: then no one else has its data, and no one else can
// remove it.
func alone(m etcdcluster.Membership, member etcdcluster.Member) bool {
	for _, other := range m.Members {
		if other.Name != member.Name && other.Runs() {
			return false
		}
	}
	return member.Runs()
}

// catchUp gives a learner its vote.
func catchUp(m etcdcluster.Membership, v view) (step, bool) {
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

// roll updates the image and the bundle of the members, one at a time. A member that is not ready does not wait for
// the others, since the old image or bundle may be the cause.
func roll(m etcdcluster.Membership, v view) (step, bool) {
	var waiting string
	for i, member := range m.Members {
		if member.Image == v.managed.Image && member.Trust == v.trust {
			continue
		}
		next := clone(m)
		next.Members[i].Image, next.Members[i].Trust = v.managed.Image, v.trust
		other, found := v.unsettled(m, member.Name)
		if !found || !v.settled[member.Name] {
			return write(m, next), true
		}
		if member.Trust != v.trust && v.rejected(m, member.Name) {
			next.Members[i].Image = member.Image // it may be the image that fails
			return write(m, next), true
		}
		if waiting == "" {
			waiting = fmt.Sprintf("%s on node %s is updated when the member on node %s is ready", v.cluster.Title(), member.Node, other)
		}
	}
	return step{waiting: waiting}, waiting != ""
}

// rejected reports whether every voting member that keeps the given one from being updated has had the new bundle for
// long enough to be ready. The members with the old bundle may reject it then, and it waits for them.
func (v view) rejected(m etcdcluster.Membership, but string) bool {
	for _, member := range m.Members {
		if member.Name != but && member.Votes() && !v.settled[member.Name] && (member.Trust != v.trust || !v.stalled[member.Name]) {
			return false
		}
	}
	return true
}

// unsettled returns the node of a voting member other than the given one whose pod is not ready or not as recorded.
func (v view) unsettled(m etcdcluster.Membership, but string) (node string, ok bool) {
	for _, member := range m.Members {
		if member.Name != but && member.Votes() && !v.settled[member.Name] {
			return member.Node, true
		}
	}
	return "", false
}

// grow promises the seats that are free to the oldest control-plane nodes that have none.
func grow(m etcdcluster.Membership, v view) (step, bool) {
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

// join adds a promised member to etcd. The founder is marked as one of several before it is.
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
		return step{waiting: fmt.Sprintf("%s grows when node %s is back, or has been gone for a while", v.cluster.Title(), m.Members[i].Node)}, true
	}
	if f := slices.IndexFunc(m.Members, func(member etcdcluster.Member) bool { return member.State == etcdcluster.New }); f >= 0 {
		next := clone(m)
		next.Members[f].State = etcdcluster.Existing
		return write(m, next), true
	}
	// etcd wants all members to have been connected for some seconds.
	return step{verb: add, member: m.Members[i].Name, url: m.Members[i].PeerURL,
		waiting: fmt.Sprintf("%s is about to grow to node %s", v.cluster.Title(), m.Members[i].Node)}, true
}
