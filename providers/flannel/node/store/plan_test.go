package store_test

import (
	"errors"
	"net/netip"
	"strings"
	"testing"

	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/cluster-network-operator/cno/internal/nodeblocks"
	"github.com/cluster-network-operator/cno/providers/flannel/agentconfig"
	"github.com/cluster-network-operator/cno/providers/flannel/node/store"
)

// lease is what a node with an address holds.
func held(subnet, address string, id clientv3.LeaseID) store.Lease {
	v4 := netip.MustParsePrefix(subnet)
	return store.Lease{Key: agentconfig.SubnetKey(prefix, v4, netip.Prefix{}), IPv4: v4, Attrs: attrs(address), Revision: 5, ID: id}
}

func reserved(node, subnet, address string) store.Reservation {
	r := agentconfig.Reservation{Node: node, Subnet: netip.MustParsePrefix(subnet)}
	if address != "" {
		r.PublicIP = netip.MustParseAddr(address)
	}
	return store.Reservation{Reservation: r, Revision: 3}
}

func snapshot(leases []store.Lease, reservations ...store.Reservation) store.Snapshot {
	s := store.Snapshot{Leases: map[string]store.Lease{}, Reservations: map[string]store.Reservation{}}
	for _, l := range leases {
		s.Leases[l.Key] = l
	}
	for _, r := range reservations {
		s.Reservations[r.Node] = r
	}
	return s
}

func TestPlanKeepsTheNodesOwnSubnet(t *testing.T) {
	req := request("node-1", "192.168.0.100")
	remembering := req
	remembering.PreviousIPv4 = netip.MustParsePrefix("10.1.9.0/24")
	for _, tt := range []struct {
		why      string
		req      store.Request
		snap     store.Snapshot
		subnet   string // empty: any that is free
		guarded  bool
		writes   bool // a reservation
		revision int64
		release  int
	}{
		{"no lease exists: a free subnet, and a reservation for it", req, snapshot(nil), "", true, true, 0, 0},
		{"the operator reserved one", req, snapshot(nil, reserved("node-1", "10.1.15.0/24", "")), "10.1.15.0/24", false, true, 0, 0},
		{"it is back after its lease ended", req,
			snapshot(nil, reserved("node-1", "10.1.15.0/24", "192.168.0.100")), "10.1.15.0/24", false, false, 0, 0},
		{"it restarts", req, snapshot([]store.Lease{held("10.1.15.0/24", "192.168.0.100", 7)},
			reserved("node-1", "10.1.15.0/24", "192.168.0.100")), "10.1.15.0/24", false, false, 5, 0},
		{"its address changed while its lease lives", req, snapshot([]store.Lease{held("10.1.15.0/24", "192.168.0.55", 7)},
			reserved("node-1", "10.1.15.0/24", "192.168.0.55")), "10.1.15.0/24", false, true, 5, 0},
		{"it had a lease before there were reservations", req,
			snapshot([]store.Lease{held("10.1.15.0/24", "192.168.0.100", 7)}), "10.1.15.0/24", true, true, 5, 0},
		{"etcd lost its data, the node did not", remembering, snapshot(nil), "10.1.9.0/24", true, true, 0, 0},
		{"what it remembers is reserved for another node", remembering,
			snapshot(nil, reserved("node-2", "10.1.9.0/24", "")), "", true, true, 0, 0},
		{"the operator moved it to another subnet", req, snapshot([]store.Lease{held("10.1.15.0/24", "192.168.0.100", 7)},
			reserved("node-1", "10.1.16.0/24", "192.168.0.100")), "10.1.16.0/24", false, false, 0, 1},
		{"its reservation is of another network", req,
			snapshot(nil, reserved("node-1", "10.9.15.0/24", "192.168.0.100")), "", true, true, 0, 0},
		{"a node that had its address is reserved another one", req, snapshot([]store.Lease{held("10.1.20.0/24", "192.168.0.100", 7)},
			reserved("node-1", "10.1.15.0/24", "192.168.0.100"), reserved("node-2", "10.1.20.0/24", "")), "10.1.15.0/24", false, false, 0, 0},
	} {
		claim, err := store.Plan(prefix, tt.req, tt.snap)
		if err != nil {
			t.Errorf("%s: %v", tt.why, err)
			continue
		}
		if tt.subnet != "" && claim.IPv4.String() != tt.subnet || !nodeblocks.Usable(config().Network.IPv4, 24, claim.IPv4) {
			t.Errorf("%s: the subnet is %s", tt.why, claim.IPv4)
		}
		if claim.Exclusive != tt.guarded || (claim.Reservation != nil) != tt.writes || claim.Revision != tt.revision || len(claim.Release) != tt.release {
			t.Errorf("%s: the claim is %+v", tt.why, claim)
		}
		for _, r := range tt.snap.Reservations {
			if r.Node != "node-1" && r.Subnet.Overlaps(claim.IPv4) {
				t.Errorf("%s: %s is reserved for %s", tt.why, claim.IPv4, r.Node)
			}
		}
	}
}

func TestPlanRefusesSubnetsOfOtherNodes(t *testing.T) {
	req := request("node-1", "192.168.0.100")
	for _, tt := range []struct {
		why  string
		snap store.Snapshot
	}{
		{"another node holds the very subnet", snapshot([]store.Lease{held("10.1.15.0/24", "192.168.0.200", 7)},
			reserved("node-1", "10.1.15.0/24", "192.168.0.100"))},
		{"two reservations are for the same subnet, and the other node was first", snapshot(
			[]store.Lease{held("10.1.15.0/24", "192.168.0.200", 7)},
			reserved("node-1", "10.1.15.0/24", ""), reserved("node-2", "10.1.15.0/24", "192.168.0.200"))},
	} {
		var refused *store.HeldError
		if claim, err := store.Plan(prefix, req, tt.snap); !errors.As(err, &refused) || refused.Holder.String() != "192.168.0.200" {
			t.Errorf("%s: the claim is %+v, the error %v", tt.why, claim, err)
		}
	}
}

// TestPlanIgnoresLeasesOfAnotherLength: agents do not follow them, and one over the whole network would keep every
// node from getting a subnet.
func TestPlanIgnoresLeasesOfAnotherLength(t *testing.T) {
	req := request("node-1", "192.168.0.100")
	odd := []store.Lease{held("10.1.15.128/25", "192.168.0.200", 7), held("10.1.0.0/16", "192.168.0.200", 7), held("10.1.15.7/32", "192.168.0.200", 7)}
	claim, err := store.Plan(prefix, req, snapshot(odd, reserved("node-1", "10.1.15.0/24", "192.168.0.100")))
	if err != nil || claim.IPv4.String() != "10.1.15.0/24" {
		t.Errorf("a node with a reservation: the claim is %+v, the error %v", claim, err)
	}
	if claim, err := store.Plan(prefix, req, snapshot(odd)); err != nil || !claim.IPv4.IsValid() {
		t.Errorf("a new node: the claim is %+v, the error %v", claim, err)
	}
}

// TestNodeWithItsOwnIdentityWritesOnlyItsLease: it has no permission for anything else.
func TestNodeWithItsOwnIdentityWritesOnlyItsLease(t *testing.T) {
	req := request("node-1", "192.168.0.100")
	req.Reserved, req.PreviousIPv4 = true, netip.MustParsePrefix("10.1.9.0/24")
	for _, tt := range []struct {
		why      string
		snap     store.Snapshot
		subnet   string // empty: none is reserved
		revision int64
	}{
		{"the operator has yet to reserve one", snapshot(nil), "", 0},
		{"another node's reservation", snapshot(nil, reserved("node-2", "10.1.15.0/24", "")), "", 0},
		{"a reservation of another network", snapshot(nil, reserved("node-1", "10.9.15.0/24", "")), "", 0},
		{"a new node", snapshot(nil, reserved("node-1", "10.1.15.0/24", "")), "10.1.15.0/24", 0},
		{"its address changed", snapshot([]store.Lease{held("10.1.15.0/24", "192.168.0.55", 7)}, reserved("node-1", "10.1.15.0/24", "")), "10.1.15.0/24", 5},
		{"its own lease for another subnet", snapshot([]store.Lease{held("10.1.9.0/24", "192.168.0.100", 7)}, reserved("node-1", "10.1.15.0/24", "192.168.0.100")), "10.1.15.0/24", 0},
	} {
		claim, err := store.Plan(prefix, req, tt.snap)
		if tt.subnet == "" {
			if !errors.Is(err, store.ErrNotReserved) {
				t.Errorf("%s: the claim is %+v, the error %v", tt.why, claim, err)
			}
			continue
		}
		if err != nil || claim.IPv4.String() != tt.subnet || claim.Revision != tt.revision || claim.Reservation != nil || len(claim.Release) > 0 || claim.Exclusive {
			t.Errorf("%s: the claim is %+v, the error %v", tt.why, claim, err)
		}
	}
}

func TestPlanReportsAFullNetwork(t *testing.T) {
	req := request("node-1", "192.168.0.100")
	req.Network.IPv4 = netip.MustParsePrefix("10.1.0.0/22")
	_, err := store.Plan(prefix, req, snapshot([]store.Lease{held("10.1.1.0/24", "192.168.0.2", 1)},
		reserved("node-3", "10.1.2.0/24", ""), reserved("node-4", "10.1.3.0/24", "")))
	if err == nil || !strings.Contains(err.Error(), "10.1.0.0/22 has no free subnet of length 24") {
		t.Errorf("the error is %v", err)
	}
}

func TestPlanGivesAnIPv6SubnetToANodeThatHadNone(t *testing.T) {
	req := request("node-1", "192.168.0.100")
	req.Network.IPv6, req.Network.IPv6SubnetLen = netip.MustParsePrefix("fd00:10::/48"), 64
	claim, err := store.Plan(prefix, req, snapshot([]store.Lease{held("10.1.15.0/24", "192.168.0.100", 7)},
		reserved("node-1", "10.1.15.0/24", "192.168.0.100")))
	if err != nil {
		t.Fatal(err)
	}
	if claim.IPv4.String() != "10.1.15.0/24" || !claim.IPv6.IsValid() || claim.Reservation == nil || !claim.Exclusive || len(claim.Release) != 1 {
		t.Errorf("the claim is %+v", claim)
	}
}
