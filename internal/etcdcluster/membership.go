package etcdcluster

import (
	"encoding/json"
	"fmt"
	"net/netip"
)

// Membership says who the members of the managed etcd are, and what agents present to etcd. The zero value is a
// cluster that was never founded.
type Membership struct {
	// ClientTrust is the hash of what is in the clients' Secret. It is empty while there is no such Secret, so that no agent
	// is started that would wait for it, or if none is needed.
	ClientTrust string `json:"clientTrust,omitempty"`
	// Token tells this cluster from one that was founded earlier, perhaps on the same nodes.
	Token string `json:"token,omitempty"`
	// NodeIdentity is true once etcd checks permissions: every node has a certificate of its own, and the one that
	// agents shared before is of no use.
	NodeIdentity bool `json:"nodeIdentity,omitempty"`
	// UsersChecked is true once the operator has compared all users of etcd since etcd began to check permissions: before
	// that, every client could create users.
	UsersChecked bool `json:"usersChecked,omitempty"`
	// Members in the order in which they joined.
	Members []Member `json:"members,omitempty"`
}

// State is how far a member has come.
type State string

// The states of a member, in their order.
const (
	// Promised members are going to be added to etcd. Nothing runs for them yet.
	Promised State = "promised"
	// Learner members were added to etcd, and have no vote until they have caught up.
	Learner State = "learner"
	// New is the state of the one founder for as long as it is alone: if its disk is lost, it founds again.
	New State = "new"
	// Existing members have a vote in a cluster of several. Should they lose their disk, they never found a
	// cluster of their own.
	Existing State = "existing"
)

// Member is one member of the managed etcd.
type Member struct {
	// Name is the member's name in etcd and of its directory on the node. No two members ever have the same, also not
	// one after the other on one node, so that none finds the data of the one before.
	Name string `json:"name"`
	// Node and UID tell the node it runs on; UID is that of the Node object.
	Node string `json:"node"`
	UID  string `json:"uid"`
	// Address is the node's address, which the URLs are made of.
	Address   string `json:"address"`
	PeerURL   string `json:"peerURL"`
	ClientURL string `json:"clientURL"`
	State     State  `json:"state"`
	// ID is etcd's own number for the member, in hexadecimal; empty while etcd has not given one.
	ID string `json:"memberID,omitempty"`
	// InitialCluster is what the member is told of the others when it starts with an empty disk.
	InitialCluster string `json:"initialCluster,omitempty"`
	// Image is what it runs, Trust the hash of the certificates that it trusts. They differ between members only
	// while a change goes round, one member at a time.
	Image string `json:"image"`
	Trust string `json:"trust,omitempty"`
}

// NewMember returns a member for a node, without a state. Ports and image are those of Managed. The token must not
// have been used for a member on that node before.
func NewMember(c Candidate, m Managed, token string) Member {
	return Member{
		Name: c.Name + "-" + token, Node: c.Name, UID: c.UID, Address: c.Address.String(), Image: m.Image,
		PeerURL: endpoint(c.Address, m.PeerPort), ClientURL: endpoint(c.Address, m.ClientPort),
	}
}

func endpoint(a netip.Addr, port uint16) string {
	return "https://" + netip.AddrPortFrom(a, port).String()
}

// Runs reports whether a Deployment is to be rendered for the member.
func (m Member) Runs() bool { return m.State != Promised }

// Votes reports whether the member counts for the quorum.
func (m Member) Votes() bool { return m.State == New || m.State == Existing }

// Encode writes a membership out as JSON.
func (m Membership) Encode() (string, error) {
	out, err := json.MarshalIndent(m, "", "  ")
	return string(out) + "\n", err
}

// DecodeMembership reads a membership. What cannot be read is an error, never an empty membership: founding a second
// cluster beside the first would give the same subnets out twice.
func DecodeMembership(content string) (Membership, error) {
	var m Membership
	if err := json.Unmarshal([]byte(content), &m); err != nil {
		return Membership{}, fmt.Errorf("decode members of etcd: %w", err)
	}
	for _, member := range m.Members {
		if _, err := netip.ParseAddr(member.Address); err != nil || member.Name == "" || member.Node == "" {
			return Membership{}, fmt.Errorf("decode members of etcd: member %q on node %q with address %q is not one",
				member.Name, member.Node, member.Address)
		}
	}
	return m, nil
}
