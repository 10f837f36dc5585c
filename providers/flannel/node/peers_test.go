package node

import (
	"context"
	"net/netip"
	"testing"

	"github.com/flannel-io/flannel/pkg/lease"
	"github.com/google/go-cmp/cmp"

	"github.com/cluster-network-operator/cno/providers/flannel/agentconfig"
	"github.com/cluster-network-operator/cno/providers/flannel/node/store"
)

const prefix = "/coreos.com/network"

// fixedLease stands for a node that holds subnet4.
func fixedLease(_ context.Context, attrs *lease.LeaseAttrs) (*lease.Lease, error) {
	return flannelLease(subnet4, netip.Prefix{}, *attrs), nil
}

func keys(p peers) map[string]string {
	out := map[string]string{}
	for _, l := range p.list("") {
		out[l.IPv4.String()] = p.names[l.IPv4]
	}
	return out
}

func snapshot(cluster uint64, revision int64, leases ...store.Lease) store.Snapshot {
	s := store.Snapshot{Cluster: cluster, Revision: revision, Leases: map[string]store.Lease{}, Reservations: map[string]store.Reservation{}}
	for _, l := range leases {
		s.Leases[l.Key] = l
	}
	return s
}

func TestPeersFollowSnapshotsAndEvents(t *testing.T) {
	a := peerLease("10.1.20.0/24", "192.168.0.200", "", "", "host-gw", "")
	b := peerLease("10.1.30.0/24", "192.168.0.30", "", "", "host-gw", "")
	dir := agentconfig.ReservationDir(prefix)
	first := peers{}.withSnapshot(snapshot(1, 10, a), "", false)
	if !first.known || !first.current {
		t.Error("a snapshot is not taken for current")
	}
	next := first.withEvents(dir, []store.Event{
		{Key: b.Key, Revision: 12, Lease: &b},
		{Key: dir + "node2", Revision: 13, Reservation: &store.Reservation{Reservation: agentconfig.Reservation{Node: "node2", Subnet: b.IPv4}}},
	})
	if diff := cmp.Diff(map[string]string{"10.1.20.0/24": "", "10.1.30.0/24": "node2"}, keys(next)); diff != "" {
		t.Errorf("after events (-want +got):\n%s", diff)
	}
	if next.revision != 13 {
		t.Errorf("leases are known up to revision %d", next.revision)
	}
	gone := next.withEvents(dir, []store.Event{{Key: a.Key, Revision: 14}, {Key: dir + "node2", Revision: 15}})
	if diff := cmp.Diff(map[string]string{"10.1.30.0/24": ""}, keys(gone)); diff != "" {
		t.Errorf("after deletions (-want +got):\n%s", diff)
	}
	if len(keys(first)) != 1 {
		t.Error("an earlier view has changed")
	}
}

func TestPeersAreKeptWhenTheNodesOwnLeaseIsLostToo(t *testing.T) {
	own := peerLease("10.1.15.0/24", "192.168.0.100", "", "", "host-gw", "")
	a := peerLease("10.1.20.0/24", "192.168.0.200", "", "", "host-gw", "")
	known := peers{}.withSnapshot(snapshot(1, 10, own, a), own.Key, false)

	kept := known.withSnapshot(snapshot(2, 1), own.Key, true)
	if diff := cmp.Diff(map[string]string{"10.1.20.0/24": ""}, keys(kept)); diff != "" {
		t.Errorf("kept (-want +got):\n%s", diff)
	}
	if kept.current {
		t.Error("what was kept counts as current, so that routes would be swept")
	}
	elsewhere := peerLease("10.1.20.0/25", "192.168.0.99", "", "", "host-gw", "")
	if diff := cmp.Diff(map[string]string{"10.1.20.0/25": ""}, keys(known.withSnapshot(snapshot(2, 1, elsewhere), own.Key, true))); diff != "" {
		t.Errorf("a subnet that another node took meanwhile is kept too (-want +got):\n%s", diff)
	}
}

func TestTenureEndsWhenItsLeaseIsDeletedOrTaken(t *testing.T) {
	own := peerLease("10.1.15.0/24", "192.168.0.100", "", "", "host-gw", "")
	other := peerLease("10.1.15.0/24", "192.168.0.200", "", "", "host-gw", "")
	held := holding{desired: &own.Attrs, key: own.Key, id: 7, revision: 20}
	for _, tt := range []struct {
		why   string
		known peers
		t     holding
		want  bool
	}{
		{"it exists", peers{}.withSnapshot(snapshot(1, 20, own), own.Key, false), held, false},
		{"the lease is deleted", peers{}.withSnapshot(snapshot(1, 21), own.Key, false), held, true},
		{"another node has it", peers{}.withSnapshot(snapshot(1, 21, other), own.Key, false), held, true},
		{"what is known is older than the holding", peers{}.withSnapshot(snapshot(1, 19), own.Key, false), held, false},
		{"nothing is confirmed yet", peers{}.withSnapshot(snapshot(1, 21), own.Key, false), holding{key: own.Key}, false},
	} {
		if got := tt.known.lost(tt.t); got != tt.want {
			t.Errorf("%s: lost is %v", tt.why, got)
		}
	}
}

func TestAnotherEtcdIsRecognized(t *testing.T) {
	known := peers{}.withSnapshot(snapshot(1, 10), "", false)
	for _, tt := range []struct {
		why  string
		snap store.Snapshot
		want bool
	}{
		{"the same, later", snapshot(1, 11), false},
		{"another", snapshot(2, 11), true},
		{"the same, set back", snapshot(1, 9), true},
	} {
		if got := known.replaced(tt.snap); got != tt.want {
			t.Errorf("%s: replaced is %v", tt.why, got)
		}
	}
	if (peers{}).replaced(snapshot(1, 1)) {
		t.Error("the first etcd counts as another")
	}
}
