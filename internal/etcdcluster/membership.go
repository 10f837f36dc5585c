package etcdcluster

import (
	"encoding/json"
	"fmt"
	"net/netip"
)

// Membership is the record of the members of the managed etcd. The zero value is a cluster that does not exist yet.
type Membership struct {
	// ClientTrust is the hash of the clients' Secret. It is empty if none is needed, or while the Secret does not exist: agents are then not
	// started, since they would wait for it.
	ClientTrust string `json:"clientTrust,omitempty"`
	// Token distinguishes this cluster from earlier ones on the same nodes.
	Token string `json:"token,omitempty"`
	// NodeIdentity is true after etcd has begun to check permissions: every node then has its own certificate, and the shared certificate of
	// agents is no longer used.
	NodeIdentity bool `json:"nodeIdentity,omitempty"`
	// UsersChecked is true after the operator has checked all users, which any client could create before etcd began to check permissions.
	UsersChecked bool `json:"usersChecked,omitempty"`
	// Members are in the order in which they joined.
	Members []Member `json:"members,omitempty"`
}

// State is the state of a member.
type State string

// The states of a member, in their order.
const (
	// Promised members will be added to etcd. They have no Deployment yet.
	Promised State = "promised"
	// Learner members are non-voting members of etcd until they have caught up.
	Learner State = "learner"
	// New is the state of the first member while it is the only one: if it loses its disk, it creates a new cluster.
	New State = "new"
	// Existing members are voting members of a cluster of several members. If they lose their disk, they do not create a new cluster.
	Existing State = "existing"
)

// Member is one member of the managed etcd.
type Member struct {
	// Name is the member's name in etcd and the name of its directory on the node. Names are never reused, not even on the same node, so that a
	// member never uses the data of an earlier one.
	Name string `json:"name"`
	// Node and UID are the name and UID of the Node object on whose node it runs.
	Node string `json:"node"`
	UID  string `json:"uid"`
	// Address is the node's address, which is part of the URLs.
	Address   string `json:"address"`
	PeerURL   string `json:"peerURL"`
	ClientURL string `json:"clientURL"`
	State     State  `json:"state"`
	// ID is etcd's ID of the member, in hexadecimal; empty until etcd has assigned one.
	ID string `json:"memberID,omitempty"`
	// InitialCluster is the setting initial-cluster, with which the member starts if its directory is empty.
	InitialCluster string `json:"initialCluster,omitempty"`
	// Image is its image, Trust the hash of the certificates that it trusts. They differ between members only during an update, which is done
	// one member at a time.
	Image string `json:"image"`
	Trust string `json:"trust,omitempty"`
}

// NewMember returns a member for a node, without a state. Ports and image are those of Managed. The token must be new for that node.
func NewMember(c Candidate, m Managed, token string) Member {
	return Member{
		Name: c.Name + "-" + token, Node: c.Name, UID: c.UID, Address: c.Address.String(), Image: m.Image,
		PeerURL: endpoint(c.Address, m.PeerPort), ClientURL: endpoint(c.Address, m.ClientPort),
	}
}

func endpoint(a netip.Addr, port uint16) string {
	return "https://" + netip.AddrPortFrom(a, port).String()
}

// Runs reports whether the member has a Deployment.
func (m Member) Runs() bool { return m.State != Promised }

// Votes reports whether the member is a voting member.
func (m Member) Votes() bool { return m.State == New || m.State == Existing }

// Encode returns a membership as JSON.
func (m Membership) Encode() (string, error) {
	out, err := json.MarshalIndent(m, "", "  ")
	return string(out) + "\n", err
}

// DecodeMembership reads a membership. Invalid content is an error and not an empty membership, because a second cluster would assign the same subnets
// again.
func DecodeMembership(content string) (Membership, error) {
	var m Membership
	if err := json.Unmarshal([]byte(content), &m); err != nil {
		return Membership{}, fmt.Errorf("decode members of etcd: %w", err)
	}
	for _, member := range m.Members {
		if _, err := netip.ParseAddr(member.Address); err != nil || member.Name == "" || member.Node == "" {
			return Membership{}, fmt.Errorf("decode members of etcd: member %q on node %q with address %q is invalid",
				member.Name, member.Node, member.Address)
		}
	}
	return m, nil
}
