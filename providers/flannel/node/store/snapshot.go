package store

import (
	"encoding/json"
	"fmt"
	"net/netip"

	"github.com/flannel-io/flannel/pkg/lease"
	"go.etcd.io/etcd/api/v3/etcdserverpb"
	"go.etcd.io/etcd/api/v3/mvccpb"
	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/cluster-network-operator/cno/providers/flannel/agentconfig"
)

// Lease is the lease of a subnet by a node.
type Lease struct {
	// Key is the lease's key in etcd, which contains the subnets.
	Key string
	// IPv4 and IPv6 are the subnets; IPv6 is zero if there is none.
	IPv4, IPv6 netip.Prefix
	// Attrs is the value, in flannel's form.
	Attrs lease.LeaseAttrs
	// Revision is the revision of the last write of the key.
	Revision int64
	// ID is the etcd lease of the key; 0 means that it never expires.
	ID clientv3.LeaseID
}

// PublicIP returns the address of the node that holds the lease.
func (l Lease) PublicIP() netip.Addr {
	addr, _ := netip.AddrFromSlice(l.Attrs.PublicIP.ToIP().To4())
	return addr
}

// PublicIPv6 returns the IPv6 address of the node that holds the lease; zero if it has none.
func (l Lease) PublicIPv6() netip.Addr {
	if l.Attrs.PublicIPv6 == nil {
		return netip.Addr{}
	}
	addr, _ := netip.AddrFromSlice(l.Attrs.PublicIPv6.ToIP().To16())
	return addr
}

// Reservation is a reservation with the revision of its last write.
type Reservation struct {
	agentconfig.Reservation
	Revision int64
}

// Snapshot is the content of etcd at one revision.
type Snapshot struct {
	// Cluster identifies the etcd cluster.
	Cluster uint64
	// Revision is the revision of the snapshot.
	Revision int64
	// NetworkConfig is the value of flannel's configuration key; nil if it does not exist.
	NetworkConfig []byte
	// Leases are keyed by key, Reservations by node.
	Leases       map[string]Lease
	Reservations map[string]Reservation
	// Unreadable are the keys with invalid values. Their subnets count as taken if the key contains them.
	Unreadable []string
}

// Taken returns every subnet of the given family and length in leases and reservations, except the node's own reservation.
func (s Snapshot) Taken(node string, v6 bool, length int) []netip.Prefix {
	var out []netip.Prefix
	add := func(v4Subnet, v6Subnet netip.Prefix) {
		if v6 {
			v4Subnet = v6Subnet
		}
		if v4Subnet.IsValid() && v4Subnet.Bits() == length {
			out = append(out, v4Subnet)
		}
	}
	for _, l := range s.Leases {
		add(l.IPv4, l.IPv6)
	}
	for name, r := range s.Reservations {
		if name != node {
			add(r.Subnet, r.IPv6Subnet)
		}
	}
	return out
}

// snapshotOps returns the operations that read a snapshot, whose responses decodeSnapshot decodes.
func snapshotOps(prefix string) []clientv3.Op {
	return []clientv3.Op{
		clientv3.OpGet(agentconfig.ConfigKey(prefix)),
		clientv3.OpGet(agentconfig.SubnetDir(prefix), clientv3.WithPrefix()),
		clientv3.OpGet(agentconfig.ReservationDir(prefix), clientv3.WithPrefix()),
	}
}

func decodeSnapshot(prefix string, header *etcdserverpb.ResponseHeader, responses []*etcdserverpb.ResponseOp) Snapshot {
	snap := Snapshot{
		Cluster:      header.GetClusterId(),
		Revision:     header.GetRevision(),
		Leases:       map[string]Lease{},
		Reservations: map[string]Reservation{},
	}
	for _, response := range responses {
		for _, kv := range response.GetResponseRange().GetKvs() {
			snap.add(prefix, kv)
		}
	}
	return snap
}

func (s *Snapshot) add(prefix string, kv *mvccpb.KeyValue) {
	if string(kv.GetKey()) == agentconfig.ConfigKey(prefix) {
		s.NetworkConfig = kv.GetValue()
		return
	}
	l, r, err := decode(prefix, kv)
	if err != nil {
		s.Unreadable = append(s.Unreadable, fmt.Sprintf("%s: %v", kv.GetKey(), err))
	}
	if l != nil {
		s.Leases[l.Key] = *l
	}
	if r != nil {
		s.Reservations[r.Node] = *r
	}
}

// decode decodes a lease or a reservation. It returns a lease with an invalid value together with the error, since its key contains the taken subnet.
func decode(prefix string, kv *mvccpb.KeyValue) (*Lease, *Reservation, error) {
	key := string(kv.GetKey())
	if v4, v6, ok := agentconfig.ParseSubnetKey(prefix, key); ok {
		l := &Lease{Key: key, IPv4: v4, IPv6: v6, Revision: kv.GetModRevision(), ID: clientv3.LeaseID(kv.GetLease())}
		if err := json.Unmarshal(kv.GetValue(), &l.Attrs); err != nil {
			l.Attrs = lease.LeaseAttrs{}
			return l, nil, fmt.Errorf("decode lease: %w", err)
		}
		return l, nil, nil
	}
	node, ok := agentconfig.ParseNodeKey(agentconfig.ReservationDir(prefix), key)
	if !ok {
		return nil, nil, fmt.Errorf("is neither a lease nor a reservation")
	}
	r, err := agentconfig.DecodeReservation(kv.GetValue())
	if err != nil {
		return nil, nil, err
	}
	if r.Node != node {
		return nil, nil, fmt.Errorf("the reservation under this key is for node %q", r.Node)
	}
	return nil, &Reservation{Reservation: r, Revision: kv.GetModRevision()}, nil
}
