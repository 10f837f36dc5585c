package node

import (
	"bytes"
	"encoding/json"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/flannel-io/flannel/pkg/backend"
	"github.com/flannel-io/flannel/pkg/backend/hostgw"
	"github.com/flannel-io/flannel/pkg/ip"
	"github.com/flannel-io/flannel/pkg/lease"
	"github.com/flannel-io/flannel/pkg/subnet"

	"github.com/cluster-network-operator/cno/internal/agent"
	"github.com/cluster-network-operator/cno/internal/testing/golden"
	"github.com/cluster-network-operator/cno/providers/flannel/agentconfig"
	"github.com/cluster-network-operator/cno/providers/flannel/node/store"
)

func single() agentconfig.Config {
	c := agentconfig.Default()
	c.Etcd.Endpoints = []string{"https://192.168.0.1:2379"}
	c.Network = agentconfig.Network{IPv4: netip.MustParsePrefix("10.1.0.0/16"), IPv4SubnetLen: 24}
	return c
}

func dual() agentconfig.Config {
	c := single()
	c.Network.IPv6, c.Network.IPv6SubnetLen = netip.MustParsePrefix("fd00:10::/48"), 64
	return c
}

var (
	subnet4 = netip.MustParsePrefix("10.1.15.0/24")
	subnet6 = netip.MustParsePrefix("fd00:10:0:15::/64")
)

// peerLease is a lease of another node; index distinguishes them. v6 and data may be empty.
func peerLease(v4, address, v6, address6, kind, data string) store.Lease {
	l := store.Lease{IPv4: netip.MustParsePrefix(v4), Attrs: lease.LeaseAttrs{BackendType: kind, PublicIP: ip.MustParseIP4(address)}}
	if v6 != "" {
		l.IPv6 = netip.MustParsePrefix(v6)
		l.Attrs.PublicIPv6 = ip.MustParseIP6(address6)
	}
	if data != "" {
		l.Attrs.BackendData, l.Attrs.BackendV6Data = json.RawMessage(data), json.RawMessage(data)
	}
	l.Key = agentconfig.SubnetKey("/coreos.com/network", l.IPv4, l.IPv6)
	return l
}

func TestDesiredKernelStateFollowsFromLeases(t *testing.T) {
	hostGW := []store.Lease{
		peerLease("10.1.20.0/24", "192.168.0.200", "", "", "host-gw", ""),
		peerLease("10.1.7.0/24", "192.168.0.7", "", "", "host-gw", ""),
		peerLease("10.1.30.0/24", "192.168.0.30", "", "", "vxlan", `{"VNI":1,"VtepMAC":"02:00:00:00:00:30"}`),
		peerLease("10.9.1.0/24", "192.168.0.9", "", "", "host-gw", ""),
		{Key: "/coreos.com/network/subnets/10.1.99.0-24", IPv4: netip.MustParsePrefix("10.1.99.0/24"), Attrs: lease.LeaseAttrs{BackendType: "host-gw"}},
	}
	vxlan := []store.Lease{
		peerLease("10.1.20.0/24", "192.168.0.200", "fd00:10:0:20::/64", "fd00::200", "vxlan", `{"VNI":1,"VtepMAC":"02:00:00:00:00:20"}`),
		peerLease("10.1.21.0/24", "192.168.0.201", "fd00:10:0:21::/64", "fd00::201", "vxlan", `{"VNI":1}`),
		peerLease("10.1.22.0/24", "192.168.0.202", "", "", "vxlan", ""),
	}
	for _, tt := range []struct {
		file    string
		config  agentconfig.Config
		backend string
		on      links
		leases  []store.Lease
	}{
		{"host-gw.json", single(), "host-gw", links{IPv4: "eth0"}, hostGW},
		{"host-gw-dual.json", dual(), "host-gw", links{IPv4: "eth0", IPv6: "eth0"},
			[]store.Lease{peerLease("10.1.20.0/24", "192.168.0.200", "fd00:10:0:20::/64", "fd00::200", "host-gw", "")}},
		{"vxlan-dual.json", dual(), "vxlan", links{IPv4: "flannel.1", IPv6: "flannel-v6.1"}, vxlan},
	} {
		got := desire(admission{Network: tt.config.Network, Backend: tt.backend}, tt.on, tt.leases)
		var rejected []string
		for _, r := range got.Rejected {
			rejected = append(rejected, r.Reason)
		}
		out, err := json.MarshalIndent(struct {
			Routes    []route
			Neighbors []neighbor
			Foreign   int
			Rejected  []string
		}{got.Routes, got.Neighbors, len(got.Foreign), rejected}, "", "  ")
		if err != nil {
			t.Fatal(err)
		}
		golden.Compare(t, filepath.Join("testdata", tt.file), append(out, '\n'))
	}
}

// The routes are our own work, so that they can be repaired and reported; flannel's own backend is the measure.
func TestHostGWRoutesMatchFlannel(t *testing.T) {
	l := peerLease("10.1.20.0/24", "192.168.0.200", "", "", "host-gw", "")
	ours := desire(admission{Network: single().Network, Backend: "host-gw"}, links{IPv4: "lo"}, []store.Lease{l}).Routes[0]

	config, err := flannelConfig(single())
	if err != nil {
		t.Fatal(err)
	}
	ext, err := chosenInterface("lo", "cni0")
	if err != nil {
		t.Fatal(err)
	}
	m := &manager{config: config, acquire: fixedLease}
	be, err := hostgw.New(m, &backend.ExternalInterface{Iface: ext, IfaceAddr: []byte{127, 0, 0, 1}, ExtAddr: []byte{127, 0, 0, 1}})
	if err != nil {
		t.Fatal(err)
	}
	network, err := be.RegisterNetwork(t.Context(), nil, config)
	if err != nil {
		t.Fatal(err)
	}
	upstream := network.(*backend.RouteNetwork).GetRoute(flannelLease(l.IPv4, l.IPv6, l.Attrs))
	if upstream.Dst.String() != ours.To.String() || upstream.Gw.String() != ours.Via.String() || upstream.LinkIndex != ext.Index {
		t.Errorf("flannel would set %v, we %v", upstream, ours)
	}
}

func TestRoutesAreComparedWithTheKernels(t *testing.T) {
	on := links{IPv4: "eth0"}
	r := func(to, via, link string, boot bool) kernelRoute {
		out := kernelRoute{route: route{To: netip.MustParsePrefix(to), Link: link}, Boot: boot}
		if via != "" {
			out.Via = netip.MustParseAddr(via)
		}
		return out
	}
	want := []route{r("10.1.20.0/24", "192.168.0.200", "eth0", true).route}
	for _, tt := range []struct {
		why         string
		have        []kernelRoute
		set, remove int
	}{
		{"no route exists", nil, 1, 0},
		{"it exists", []kernelRoute{r("10.1.20.0/24", "192.168.0.200", "eth0", true)}, 0, 0},
		{"the route exists, created by a third party", []kernelRoute{r("10.1.20.0/24", "192.168.0.200", "eth0", false)}, 0, 0},
		{"it leads elsewhere", []kernelRoute{r("10.1.20.0/24", "192.168.0.201", "eth0", true)}, 1, 0},
		{"it leads out of another interface", []kernelRoute{r("10.1.20.0/24", "192.168.0.200", "eth1", true)}, 1, 0},
		{"a deleted node", []kernelRoute{r("10.1.21.0/24", "192.168.0.201", "eth0", true)}, 1, 1},
		{"an administrator's route", []kernelRoute{r("10.1.21.0/24", "192.168.0.201", "eth0", false)}, 1, 0},
		{"the node's own bridge", []kernelRoute{r("10.1.15.0/24", "", "cni0", false)}, 1, 0},
		{"a route without gateway", []kernelRoute{r("10.1.21.0/24", "", "eth0", true)}, 1, 0},
		{"another interface's business", []kernelRoute{r("10.1.21.0/24", "192.168.0.201", "tun0", true)}, 1, 0},
		{"outside the network", []kernelRoute{r("10.2.21.0/24", "192.168.0.201", "eth0", true)}, 1, 0},
		{"the network as a whole", []kernelRoute{r("10.1.0.0/16", "192.168.0.201", "eth0", true)}, 1, 0},
	} {
		set, remove := compareRoutes(single().Network, on, want, tt.have)
		if len(set) != tt.set || len(remove) != tt.remove {
			t.Errorf("%s: set %v, remove %v", tt.why, set, remove)
		}
	}
}

func TestConfigurationFiles(t *testing.T) {
	for _, tt := range []struct {
		file   string
		config agentconfig.Config
		v6     netip.Prefix
	}{
		{"single.conflist", single(), netip.Prefix{}},
		{"dual.conflist", dual(), subnet6},
	} {
		got, err := conflist(tt.config, subnet4, tt.v6, 1450)
		if err != nil {
			t.Fatal(err)
		}
		golden.Compare(t, filepath.Join("testdata", tt.file), got)
	}
}

func TestSubnetEnvMatchesFlannel(t *testing.T) {
	for _, tt := range []struct {
		why    string
		config agentconfig.Config
		v6     netip.Prefix
	}{
		{"one family", single(), netip.Prefix{}},
		{"both", dual(), subnet6},
	} {
		config, err := flannelConfig(tt.config)
		if err != nil {
			t.Fatal(err)
		}
		file := filepath.Join(t.TempDir(), "subnet.env")
		if err := subnet.WriteSubnetFile(file, config, true, flannelNet4(subnet4), flannelNet6(tt.v6), 1450); err != nil {
			t.Fatal(err)
		}
		upstream, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if ours := subnetEnv(tt.config, subnet4, tt.v6, 1450); !bytes.Equal(ours, upstream) {
			t.Errorf("%s: ours\n%s\nflannel's\n%s", tt.why, ours, upstream)
		}
	}
}

func TestStateRoundTripsAndFitsOnlyItsOwnNetwork(t *testing.T) {
	c := dual()
	c.StateDir = t.TempDir()
	own := holding{desired: &leaseAttrs{}, ipv4: subnet4, ipv6: subnet6}
	l := peerLease("10.1.20.0/24", "192.168.0.200", "fd00:10:0:20::/64", "fd00::200", "host-gw", "")
	known := peers{leases: map[string]store.Lease{l.Key: l}, names: map[netip.Prefix]string{l.IPv4: "node2"}, known: true}
	if err := agent.SaveState(stateFile(c), newState(c, "node1", own, known, known.leases)); err != nil {
		t.Fatal(err)
	}
	back, err := loadState(c, "node1")
	if err != nil {
		t.Fatal(err)
	}
	got := back.peers()
	if back.IPv4 != subnet4 || !got.known || got.current || len(got.leases) != 1 || got.peer(got.leases[l.Key]).Node != "node2" ||
		got.leases[l.Key].PublicIPv6() != l.PublicIPv6() {
		t.Errorf("the state round-trips to %+v", back)
	}
	other := c
	other.Network.IPv4SubnetLen = 25
	if s, err := loadState(other, "node1"); err != nil || s.IPv4.IsValid() {
		t.Errorf("the state of another network is used: %+v, %v", s, err)
	}
	if s, err := loadState(c, "node2"); err != nil || s.IPv4.IsValid() {
		t.Errorf("the state of another node is used: %+v, %v", s, err)
	}
	if err := os.WriteFile(stateFile(c), []byte("{"), 0o600); err != nil {
		t.Fatal(err)
	}
	if s, err := loadState(c, "node1"); err == nil || s.IPv4.IsValid() {
		t.Errorf("half a state is used: %+v, %v", s, err)
	}
}

func TestUnknownInterfaceErrorListsTheExistingOnes(t *testing.T) {
	_, err := chosenInterface("nosuch9", "cni0")
	if err == nil || !strings.Contains(err.Error(), `this node has no interface "nosuch9"; set spec.defaultNetwork.flannelConfig.interface to one that every node has (this one has `) {
		t.Errorf("the error is %v", err)
	}
	up := net.FlagUp
	addresses := map[string]string{"lo": "127.0.0.1", "eth0": "192.0.2.7", "eth1": "fe80::1", "eth2": "192.0.2.8", "cni0": "10.244.0.1", "flannel.1": "10.244.0.0", "flannel-v6.1": "2001:db8:1::", "bond0": "2001:db8::1"}
	all := []net.Interface{{Name: "lo", Flags: up | net.FlagLoopback}, {Name: "eth0", Flags: up}, {Name: "eth1", Flags: up}, {Name: "eth2"},
		{Name: "cni0", Flags: up}, {Name: "flannel.1", Flags: up}, {Name: "flannel-v6.1", Flags: up}, {Name: "bond0", Flags: up}}
	got := usable(all, "cni0", func(i *net.Interface) ([]net.Addr, error) {
		return []net.Addr{&net.IPNet{IP: net.ParseIP(addresses[i.Name]), Mask: net.CIDRMask(24, 32)}}, nil
	})
	if got != "eth0 with 192.0.2.7, bond0 with 2001:db8::1" {
		t.Errorf("interfaces for traffic between nodes: %s", got)
	}
	if got := usable(all[:1], "cni0", func(*net.Interface) ([]net.Addr, error) { return nil, nil }); got != "none with an address" {
		t.Errorf("a node without an address: %s", got)
	}
}
