package node

import (
	"maps"
	"net/netip"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/cluster-network-operator/cno/providers/flannel/agentconfig"
	"github.com/cluster-network-operator/cno/providers/flannel/node/store"
)

// hostGWLease is a lease with host-gw.
func hostGWLease(v4, address string) store.Lease {
	return peerLease(v4, address, "", "", "host-gw", "")
}

// vxlanLease is a lease with vxlan.
func vxlanLease(v4, address, mac string) store.Lease {
	return peerLease(v4, address, "", "", "vxlan", `{"VNI":1,"VtepMAC":"`+mac+`"}`)
}

// own is what belongs to the node in these tests.
var own = ownership{
	Subnets:   []netip.Prefix{subnet4, subnet6},
	Addresses: []netip.Addr{netip.MustParseAddr("192.168.0.100"), netip.MustParseAddr("fd00::100")},
	MACs:      []string{"02:00:00:00:00:15"},
}

// reservations are those of nodes, each with a subnet and an address.
func reservations(list map[string][2]string) map[string]agentconfig.Reservation {
	out := map[string]agentconfig.Reservation{}
	for node, r := range list {
		out[node] = agentconfig.Reservation{Node: node, Subnet: netip.MustParsePrefix(r[0]), PublicIP: netip.MustParseAddr(r[1])}
	}
	return out
}

func byKey(leases ...store.Lease) map[string]store.Lease {
	out := map[string]store.Lease{}
	for _, l := range leases {
		out[l.Key] = l
	}
	return out
}

// followed lists where the routes of accepted leases lead: "subnet to address".
func followed(d desired) []string {
	var out []string
	for _, l := range d.Accepted {
		out = append(out, l.IPv4.String()+" to "+l.PublicIP().String())
	}
	slices.Sort(out)
	return out
}

// TestOneNodeCannotTakeTheTrafficOfAnother: the lease of the victim, 192.168.0.20, stays despite every lease that 192.168.0.66 writes.
func TestOneNodeCannotTakeTheTrafficOfAnother(t *testing.T) {
	const victim = "10.1.20.0/24 to 192.168.0.20"
	hold := map[string][2]string{"victim": {"10.1.20.0/24", "192.168.0.20"}, "attacker": {"10.1.66.0/24", "192.168.0.66"}}
	host := hostGWLease("10.1.20.0/24", "192.168.0.20")
	tunnel := vxlanLease("10.1.20.0/24", "192.168.0.20", "02:00:00:00:00:20")
	double := peerLease("10.1.20.0/24", "192.168.0.20", "fd00:10:0:20::/64", "fd00::20", "host-gw", "")
	v6 := func(subnet, address string) store.Lease {
		return peerLease("10.1.66.0/24", "192.168.0.66", subnet, address, "host-gw", "")
	}
	for _, tt := range []struct {
		why    string
		config agentconfig.Config
		victim store.Lease
		attack []store.Lease
		reason string
	}{
		{"half of a subnet", single(), host, []store.Lease{hostGWLease("10.1.20.0/25", "192.168.0.66")}, "prefix length 25"},
		{"the other half", single(), host, []store.Lease{hostGWLease("10.1.20.128/25", "192.168.0.66")}, "prefix length 25"},
		{"the whole network", single(), host, []store.Lease{hostGWLease("10.1.0.0/16", "192.168.0.66")}, "prefix length 16"},
		{"more than the network", single(), host, []store.Lease{hostGWLease("10.0.0.0/8", "192.168.0.66")}, "outside the network"},
		{"everything", single(), host, []store.Lease{hostGWLease("0.0.0.0/0", "192.168.0.66")}, "outside the network"},
		{"one pod of this node", single(), host, []store.Lease{hostGWLease("10.1.15.7/32", "192.168.0.66")}, "prefix length 32"},
		{"this node's subnet", dual(), host, []store.Lease{peerLease("10.1.15.0/24", "192.168.0.66", "fd00:10:0:66::/64", "fd00::66", "host-gw", "")}, "another lease has the same subnet"},
		{"a subnet outside the network", single(), host, []store.Lease{hostGWLease("192.168.0.0/24", "192.168.0.66")}, "outside the network"},
		{"the victim's key", single(), host, []store.Lease{hostGWLease("10.1.20.0/24", "192.168.0.66")}, "reserved for node victim with address 192.168.0.20"},
		{"the victim's subnet under another key", dual(), double, []store.Lease{hostGWLease("10.1.20.0/24", "192.168.0.66")}, "reserved for node victim"},
		{"the IPv6 default route", dual(), double, []store.Lease{v6("::/0", "fd00::66")}, "outside the network fd00:10::/48"},
		{"the IPv6 network", dual(), double, []store.Lease{v6("fd00:10::/48", "fd00::66")}, "prefix length 48"},
		{"the victim's IPv6 subnet", dual(), double, []store.Lease{v6("fd00:10:0:20::/64", "fd00::66")}, "another lease has the same subnet"},
		{"a pod's IPv6 address", dual(), double, []store.Lease{v6("fd00:10:0:20::7/128", "fd00::66")}, "prefix length 128"},
		{"this node's address", single(), host, []store.Lease{hostGWLease("10.1.67.0/24", "192.168.0.100")}, "this node's own"},
		{"this node's IPv6 address", dual(), host, []store.Lease{v6("fd00:10:0:66::/64", "fd00::100")}, "this node's own"},
		{"a pod's address as that of a node", single(), host, []store.Lease{hostGWLease("10.1.67.0/24", "10.1.20.7")}, "inside the pod network"},
		{"no address", single(), host, []store.Lease{hostGWLease("10.1.67.0/24", "0.0.0.0")}, "not the address of a node"},
		{"a loopback address", single(), host, []store.Lease{hostGWLease("10.1.67.0/24", "127.0.0.1")}, "not the address of a node"},
		{"a multicast address", single(), host, []store.Lease{hostGWLease("10.1.67.0/24", "224.0.0.1")}, "not the address of a node"},
		{"the broadcast address", single(), host, []store.Lease{hostGWLease("10.1.67.0/24", "255.255.255.255")}, "not the address of a node"},
		{"the victim's MAC address", single(), tunnel, []store.Lease{vxlanLease("10.1.66.0/24", "192.168.0.66", "02:00:00:00:00:20")}, "the same MAC address"},
		{"this node's MAC address", single(), tunnel, []store.Lease{vxlanLease("10.1.66.0/24", "192.168.0.66", "02:00:00:00:00:15")}, "the same MAC address"},
		{"a multicast MAC address", single(), tunnel, []store.Lease{vxlanLease("10.1.66.0/24", "192.168.0.66", "03:00:00:00:00:66")}, "not the MAC address"},
		{"the MAC address of all", single(), tunnel, []store.Lease{vxlanLease("10.1.66.0/24", "192.168.0.66", "ff:ff:ff:ff:ff:ff")}, "not the MAC address"},
		{"no MAC address", single(), tunnel, []store.Lease{vxlanLease("10.1.66.0/24", "192.168.0.66", "00:00:00:00:00:00")}, "not the MAC address"},
		{"a long MAC address", single(), tunnel, []store.Lease{vxlanLease("10.1.66.0/24", "192.168.0.66", "02:00:00:00:00:00:00:66")}, "not the MAC address"},
	} {
		a := admission{
			Network: tt.config.Network, Backend: tt.victim.Attrs.BackendType, Own: own, Reservations: reservations(hold), Before: byKey(tt.victim),
		}
		leases := byKey(tt.victim)
		for i, l := range tt.attack {
			l.Revision = int64(100 + i) // later than the victim's
			leases[l.Key] = l
		}
		d := desire(a, links{IPv4: "eth0", IPv6: "eth0"}, slices.Collect(maps.Values(leases)))
		if diff := cmp.Diff([]string{victim}, followed(d)); diff != "" {
			t.Errorf("%s: leases that are followed (-want +got):\n%s", tt.why, diff)
		}
		if len(d.Rejected) != 1 || !strings.Contains(d.Rejected[0].Reason, tt.reason) {
			t.Errorf("%s: rejected are %v, want a reason with %q", tt.why, d.Rejected, tt.reason)
		}
	}
}

func TestConflictingLeases(t *testing.T) {
	const mac = "02:00:00:00:00:20"
	single, double := hostGWLease("10.1.20.0/24", "192.168.0.20"), peerLease("10.1.20.0/24", "192.168.0.66", "fd00:10:0:20::/64", "fd00::66", "host-gw", "")
	moved := vxlanLease("10.1.66.0/24", "192.168.0.66", mac)
	moved.Revision = 9
	for _, tt := range []struct {
		why          string
		backend      string
		leases       []store.Lease
		reservations map[string][2]string
		before       []store.Lease
		want         []string
	}{
		{"the one that is reserved", "host-gw", []store.Lease{single, double}, map[string][2]string{"a": {"10.1.20.0/24", "192.168.0.20"}}, nil,
			[]string{"10.1.20.0/24 to 192.168.0.20"}},
		{"without a reservation none", "host-gw", []store.Lease{single, double}, nil, nil, nil},
		{"without a reservation what was accepted before stays", "host-gw", []store.Lease{single, double}, nil, []store.Lease{single},
			[]string{"10.1.20.0/24 to 192.168.0.20"}},
		{"two reservations of one subnet are none", "host-gw", []store.Lease{single, double},
			map[string][2]string{"a": {"10.1.20.0/24", "192.168.0.20"}, "b": {"10.1.20.0/24", "192.168.0.66"}}, nil, nil},
		{"of two with one MAC address the first, if both are reserved", "vxlan", []store.Lease{vxlanLease("10.1.20.0/24", "192.168.0.20", mac), moved},
			map[string][2]string{"a": {"10.1.20.0/24", "192.168.0.20"}, "b": {"10.1.66.0/24", "192.168.0.66"}}, nil,
			[]string{"10.1.20.0/24 to 192.168.0.20"}},
		{"and without reservations none", "vxlan", []store.Lease{vxlanLease("10.1.20.0/24", "192.168.0.20", mac), moved}, nil, nil, nil},
		{"a lease that turns bad leaves what it was", "vxlan", []store.Lease{vxlanLease("10.1.20.0/24", "192.168.0.20", mac), moved}, nil,
			[]store.Lease{vxlanLease("10.1.20.0/24", "192.168.0.20", mac), vxlanLease("10.1.66.0/24", "192.168.0.66", "02:00:00:00:00:66")},
			[]string{"10.1.20.0/24 to 192.168.0.20", "10.1.66.0/24 to 192.168.0.66"}},
		{"daemons that make no reservations", "host-gw", []store.Lease{hostGWLease("10.1.20.0/24", "192.168.0.20"), hostGWLease("10.1.21.0/24", "192.168.0.21")}, nil, nil,
			[]string{"10.1.20.0/24 to 192.168.0.20", "10.1.21.0/24 to 192.168.0.21"}},
		{"a node that changes its address", "host-gw", []store.Lease{hostGWLease("10.1.20.0/24", "192.168.0.21")},
			map[string][2]string{"a": {"10.1.20.0/24", "192.168.0.21"}}, []store.Lease{hostGWLease("10.1.20.0/24", "192.168.0.20")},
			[]string{"10.1.20.0/24 to 192.168.0.21"}},
	} {
		a := admission{Network: dual().Network, Backend: tt.backend, Own: own, Reservations: reservations(tt.reservations), Before: byKey(tt.before...)}
		for _, leases := range [][]store.Lease{tt.leases, slices.Collect(func(yield func(store.Lease) bool) {
			for _, l := range slices.Backward(tt.leases) {
				if !yield(l) {
					return
				}
			}
		})} {
			if diff := cmp.Diff(tt.want, followed(desire(a, links{IPv4: "eth0", IPv6: "eth0"}, leases))); diff != "" {
				t.Errorf("%s (-want +got):\n%s", tt.why, diff)
			}
		}
	}
}

func TestLeasesOfTheLargerNetworkAreFollowedOnceItIsKnown(t *testing.T) {
	l := hostGWLease("10.3.20.0/24", "192.168.0.20")
	small, large := single().Network, single().Network
	large.IPv4 = netip.MustParsePrefix("10.0.0.0/14")
	small.IPv4 = netip.MustParsePrefix("10.0.0.0/15")
	if got := followed(desire(admission{Network: small, Backend: "host-gw"}, links{IPv4: "eth0"}, []store.Lease{l})); len(got) != 0 {
		t.Errorf("a node that knows the smaller network follows %v", got)
	}
	if got := followed(desire(admission{Network: large, Backend: "host-gw"}, links{IPv4: "eth0"}, []store.Lease{l})); len(got) != 1 {
		t.Errorf("a node that knows the larger network follows %v", got)
	}
}

func TestManyRejectedLeasesAreCounted(t *testing.T) {
	var list []rejection
	for range 5 {
		list = append(list, rejection{Reason: "x"})
	}
	if err := rejections(list); err == nil || err.Error() != "x; x; x; and 2 more" {
		t.Errorf("the report has %v", err)
	}
	if err := rejections(nil); err != nil {
		t.Errorf("without rejected leases the report has %v", err)
	}
}
