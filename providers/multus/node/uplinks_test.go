package node

import (
	"net/netip"
	"strings"
	"testing"

	"github.com/containernetworking/plugins/pkg/ns"
	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/vishvananda/netlink"

	"github.com/cluster-network-operator/cno/internal/cniproto"
	"github.com/cluster-network-operator/cno/internal/multinet/wire"
	"github.com/cluster-network-operator/cno/internal/testing/netns"
	"github.com/cluster-network-operator/cno/providers/multus/agentconfig"
)

// interfacesOf reads the interfaces of a network namespace.
func interfacesOf(t *testing.T, at netns.Namespace) Interfaces {
	t.Helper()
	var all Interfaces
	if err := ns.WithNetNSPath(at.Path(), func(ns.NetNS) (err error) {
		all, err = ReadInterfaces()
		return err
	}); err != nil {
		t.Fatal(err)
	}
	return all
}

func TestNetworksOfTheNodeAreReserved(t *testing.T) {
	host := netns.New(t, "networks")
	for name, address := range map[string]string{"eth0": "192.0.2.9/24", "eth1": "198.51.100.9/25"} {
		host.Run("ip", "link", "add", name, "type", "veth", "peer", "name", name+"far")
		host.Run("ip", "link", "set", name, "up")
		host.Run("ip", "address", "add", address, "dev", name)
	}
	host.Run("ip", "address", "add", "2001:db8::9/64", "dev", "eth0", "nodad")
	host.Run("ip", "route", "add", "default", "via", "192.0.2.1")
	all := interfacesOf(t, host)
	first, second := []netip.Prefix{netip.MustParsePrefix("192.0.2.0/24"), netip.MustParsePrefix("2001:db8::/64")}, []netip.Prefix{netip.MustParsePrefix("198.51.100.0/25")}
	if diff := cmp.Diff(Interfaces{OtherNames: map[string]string{}, All: []string{"eth0", "eth0far", "eth1", "eth1far", "lo"}, Default: []string{"eth0"}, Uplinks: []string{"eth0", "eth1"},
		Networks: map[string][]netip.Prefix{"eth0": first, "eth1": second}}, all, cmpopts.EquateComparable(netip.Prefix{})); diff != "" {
		t.Error(diff)
	}
	for _, row := range []struct {
		why     string
		masters []string
		want    []netip.Prefix
	}{
		{"no masters", nil, append(first, second...)},
		{"a master for tenants", []string{"eth1"}, first},
		{"the interface of the default route is not one for tenants alone", []string{"eth0"}, append(first, second...)},
	} {
		if diff := cmp.Diff(row.want, all.reserved(row.masters), cmpopts.EquateComparable(netip.Prefix{})); diff != "" {
			t.Errorf("%s: %s", row.why, diff)
		}
	}
}

// TestUplinksAreAllThatTheNodeNeeds: a bridge with the address of the node, what is below it, and both ways of a default route.
func TestUplinksAreAllThatTheNodeNeeds(t *testing.T) {
	host := netns.New(t, "uplinks")
	for _, name := range []string{"nic0", "nic1", "nic2", "nic3", "free"} {
		host.Run("ip", "link", "add", name, "type", "veth", "peer", "name", name+"far")
	}
	host.Run("ip", "link", "add", "br-ex", "type", "bridge")
	host.Run("ip", "link", "set", "nic0", "master", "br-ex")
	host.Run("ip", "link", "add", "link", "nic1", "name", "upper", "type", "macvlan", "mode", "bridge")
	host.Run("ip", "link", "set", "upper", "master", "br-ex")
	host.Run("ip", "link", "add", "br-free", "type", "bridge")
	host.Run("ip", "link", "set", "free", "master", "br-free")
	host.Run("ip", "link", "property", "add", "dev", "nic0", "altname", "enp1s0")
	host.Run("ip", "link", "property", "add", "dev", "br-ex", "altname", "a-name-that-is-longer-than-fifteen")
	for _, name := range []string{"nic0", "nic1", "upper", "nic2", "nic3", "br-ex"} {
		host.Run("ip", "link", "set", name, "up")
	}
	host.Run("ip", "address", "add", "192.0.2.9/24", "dev", "br-ex")
	host.Run("ip", "route", "add", "default", "nexthop", "dev", "nic2", "nexthop", "dev", "nic3")
	all := interfacesOf(t, host)
	if diff := cmp.Diff([]string{"br-ex", "nic0", "nic1", "nic2", "nic3", "upper"}, all.Uplinks); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff(map[string]string{"enp1s0": "nic0", "a-name-that-is-longer-than-fifteen": "br-ex"}, all.OtherNames); diff != "" {
		t.Error(diff)
	}
}

// The kernels of the test machines may lack Open vSwitch, whose links look like these.
func TestPortsOfOpenvSwitchAreUplinks(t *testing.T) {
	link := func(kind, name string, index, master int) netlink.Link {
		return &netlink.GenericLink{LinkAttrs: netlink.LinkAttrs{Name: name, Index: index, MasterIndex: master}, LinkType: kind}
	}
	links := []netlink.Link{link("device", "nic0", 1, 3), link("device", "nic1", 2, 0), link(openvswitch, "ovs-system", 3, 0), link(openvswitch, "br-ex", 4, 0)}
	for _, row := range []struct {
		why          string
		needed, want map[int]bool
	}{
		{"a port of the bridge with the node's address", map[int]bool{4: true}, map[int]bool{4: true, 1: true}},
		{"nothing of the switch is needed", map[int]bool{2: true}, map[int]bool{2: true}},
	} {
		if addLower(row.needed, links); cmp.Diff(row.want, row.needed) != "" {
			t.Errorf("%s: %v, want %v", row.why, row.needed, row.want)
		}
	}
}

func TestRestrictedDefinitionsHaveNoAddressesOfNodes(t *testing.T) {
	static := func(address string) string {
		return `{"type":"macvlan","master":"eth1","ipam":{"type":"static","addresses":[{"address":"` + address + `"}]}}`
	}
	f := newFixture(t, nil, definitionOf("ns", "node", static("192.0.2.7/32")), definitionOf("ns", "own", static("198.51.100.7/25")), definitionOf("default", "node", static("192.0.2.7/32")))
	f.Config.Attachments, f.Config.Masters = agentconfig.Restricted, []string{"eth1"}
	f.Interfaces = func() (Interfaces, error) {
		return Interfaces{All: []string{"eth0", "eth1"}, Default: []string{"eth0"}, Uplinks: []string{"eth0", "eth1"}, Networks: map[string][]netip.Prefix{
			"eth0": {netip.MustParsePrefix("192.0.2.0/24")}, "eth1": {netip.MustParsePrefix("198.51.100.0/25")},
		}}, nil
	}
	for _, row := range []struct{ why, network, failure string }{
		{"the address of another node", "node", "is in 192.0.2.0/24, which the cluster uses"},
		{"the network of the master", "own", ""},
		{"a definition of a global namespace", "default/node", ""},
	} {
		_, err := f.plan(t.Context(), wire.PlanRequest{Pod: wire.Pod{Namespace: "ns", Name: "p"}, Annotations: networks(row.network), Default: "pods"})
		if failed := err != nil; failed != (row.failure != "") || failed && (!strings.Contains(err.Error(), row.failure) || cniproto.AsError(err).Code != cniproto.CodeInvalidConfig) {
			t.Errorf("%s: %v", row.why, err)
		}
	}
}
