package controller

import (
	"net/netip"
	"strings"
	"testing"

	"github.com/cluster-network-operator/cno/internal/etcdcluster"
	"github.com/cluster-network-operator/cno/internal/etcdcluster/etcdclient"
	"github.com/cluster-network-operator/cno/internal/etcdcluster/etcdmanager"
	"github.com/cluster-network-operator/cno/internal/nodeblocks"
	"github.com/cluster-network-operator/cno/providers/flannel/agentconfig"
)

func TestSubnetsAreReservedForNodesThatReport(t *testing.T) {
	config := agentconfig.Default()
	config.Network = agentconfig.Network{IPv4: netip.MustParsePrefix("10.1.0.0/22"), IPv4SubnetLen: 24} // three subnets
	p := netip.MustParsePrefix
	at := func(subnet, address string) lease {
		return lease{key: etcdclient.KeyValue{Key: agentconfig.SubnetKey(config.Etcd.Prefix, p(subnet), netip.Prefix{}), Revision: 7}, subnet: p(subnet), publicIP: netip.MustParseAddr(address)}
	}
	reserved := func(node, subnet string) reservation {
		return reservation{key: etcdclient.KeyValue{Revision: 3}, Reservation: agentconfig.Reservation{Node: node, Subnet: p(subnet)}}
	}
	reports := func(subnet, address string) agent {
		a := agent{AgentStatus: agentconfig.AgentStatus{PublicIP: netip.MustParseAddr(address)}}
		if subnet != "" {
			a.Subnet = p(subnet)
		}
		return a
	}
	const own, other = "192.0.2.1", "192.0.2.2"
	for _, tt := range []struct {
		why          string
		leases       []lease
		reservations map[string]reservation
		agents       map[string]agent
		want         string // of node a; "any" is one that is free, "" none
		full         bool
	}{
		{"a node that does not report", nil, nil, nil, "", false},
		{"a new node", nil, nil, map[string]agent{"a": reports("", own)}, "any", false},
		{"a node that has one", nil, map[string]reservation{"a": reserved("a", "10.1.2.0/24")}, map[string]agent{"a": reports("", own)}, "", false},
		{"etcd has lost everything", nil, nil, map[string]agent{"a": reports("10.1.3.0/24", own)}, "10.1.3.0/24", false},
		{"its lease exists", []lease{at("10.1.3.0/24", own)}, nil, map[string]agent{"a": reports("10.1.3.0/24", own)}, "10.1.3.0/24", false},
		{"another node holds what it reports", []lease{at("10.1.3.0/24", other)}, nil, map[string]agent{"a": reports("10.1.3.0/24", own)}, "any", false},
		{"what it reports is another node's", nil, map[string]reservation{"b": reserved("b", "10.1.3.0/24")}, map[string]agent{"a": reports("10.1.3.0/24", own)}, "any", false},
		{"what it reports is no subnet of the network", nil, nil, map[string]agent{"a": reports("10.1.0.0/22", own)}, "any", false},
		{"a reservation of another network", nil, map[string]reservation{"a": reserved("a", "10.9.3.0/24")}, map[string]agent{"a": reports("", own)}, "any", false},
		{"a node that does not exist", nil, nil, map[string]agent{"gone": reports("", own)}, "", false},
		{"none is left", []lease{at("10.1.1.0/24", other)}, map[string]reservation{"b": reserved("b", "10.1.2.0/24"), "c": reserved("c", "10.1.3.0/24")},
			map[string]agent{"a": reports("", own)}, "", true},
	} {
		s := store{prefix: config.Etcd.Prefix, leases: tt.leases, reservations: tt.reservations, agents: tt.agents}
		changes, err := s.reserve(config, map[string]etcdmanager.Node{"a": {Candidate: etcdcluster.Candidate{Name: "a", UID: "uid"}}})
		if (err != nil) != tt.full {
			t.Errorf("%s: %v", tt.why, err)
		}
		if len(changes) == 0 || tt.want == "" {
			if len(changes) != 0 || tt.want != "" {
				t.Errorf("%s: changes are %v, want %q", tt.why, changes, tt.want)
			}
			continue
		}
		r, err := agentconfig.DecodeReservation(changes[0].Put[agentconfig.ReservationKey(s.prefix, "a")])
		if err != nil || r.UID != "uid" || r.PublicIP.IsValid() {
			t.Errorf("%s: the reservation is %+v, %v", tt.why, r, err)
		}
		if tt.want != "any" && r.Subnet.String() != tt.want || !nodeblocks.Usable(config.Network.IPv4, 24, r.Subnet) {
			t.Errorf("%s: it is %s, want %s", tt.why, r.Subnet, tt.want)
		}
		for _, l := range tt.leases {
			if l.subnet == r.Subnet && l.publicIP.String() != own {
				t.Errorf("%s: %s is held by %s", tt.why, r.Subnet, l.publicIP)
			}
		}
	}
}

func TestTwoNodesNeverGetOneSubnet(t *testing.T) {
	config := agentconfig.Default()
	config.Network = agentconfig.Network{IPv4: netip.MustParsePrefix("10.1.0.0/16"), IPv4SubnetLen: 24}
	claimed := agent{AgentStatus: agentconfig.AgentStatus{Subnet: netip.MustParsePrefix("10.1.3.0/24")}}
	s := store{prefix: config.Etcd.Prefix, agents: map[string]agent{}}
	nodes := map[string]etcdmanager.Node{}
	for _, name := range strings.Split("abcdefghij", "") {
		s.agents[name], nodes[name] = claimed, etcdmanager.Node{}
	}
	changes, err := s.reserve(config, nodes)
	if err != nil {
		t.Fatal(err)
	}
	seen := map[netip.Prefix]bool{}
	for _, c := range changes {
		for _, value := range c.Put {
			r, err := agentconfig.DecodeReservation(value)
			if err != nil || seen[r.Subnet] {
				t.Errorf("%+v, %v", r, err)
			}
			seen[r.Subnet] = true
		}
	}
	if len(seen) != 10 {
		t.Errorf("%d subnets were reserved for ten nodes", len(seen))
	}
}
