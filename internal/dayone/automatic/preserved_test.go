package automatic

import (
	"slices"
	"testing"

	"github.com/cluster-network-operator/cno/internal/dayone/livestate"
	"github.com/cluster-network-operator/cno/internal/dayone/nmconn"
	"github.com/cluster-network-operator/cno/internal/dayone/nmstate"
)

// TestWhatConfigureOVSKeepsIsKept has the promises that a document can keep. The others are kept by anyone who applies it: TestABridgeTakesAddressesOver-
// WhenTheBondBelowPassesPackets (order, LACP, ports that fail), TestCardsThatKeepMulticastFromTheirBridgeAreFound, TestAddressMustBeUsable,
// TestOVNStateIsClearedOncePerBoot, and the tests of ovsbridge and of rolling back.
func TestWhatConfigureOVSKeepsIsKept(t *testing.T) {
	live := host()
	live.Links[1].Kind, live.Links[1].Bond = "bond", &livestate.Bond{Mode: "802.3ad", Ports: []string{"p1", "p2"}, Options: map[string]string{"miimon": "100", "lacp_rate": "fast"}}
	live.Links[1].Addresses = append(live.Links[1].Addresses, address("2001:db8::5/64", false))
	made, err := Generate(live, Hints{ExtraBridge: "eth1"})
	if err != nil {
		t.Fatal(err)
	}
	find := func(name string, kind nmstate.InterfaceType) *nmstate.Interface {
		at := slices.IndexFunc(made.Document.Interfaces, func(i nmstate.Interface) bool { return i.Name == name && i.Kind() == kind })
		if at < 0 {
			t.Fatalf("there is no %s of type %s", name, kind)
		}
		return &made.Document.Interfaces[at]
	}
	bond, bridge, port, extra := find("eth0", nmstate.TypeBond), find("br-ex", nmstate.TypeOVSBridge), find("br-ex", nmstate.TypeOVSInterface), find("br-ex1", nmstate.TypeOVSInterface)
	var uplinks []string
	for _, p := range bridge.OVSBridge.Port {
		if p.Name != "br-ex" {
			uplinks = append(uplinks, p.Name)
		}
	}
	files, problems := nmconn.Generate(made.Document)
	if err := problems.Err(); err != nil {
		t.Fatal(err)
	}
	place := func(name string) int {
		return slices.IndexFunc(files, func(f nmconn.File) bool { return f.Name == name+".nmconnection" })
	}
	for promise, kept := range map[string]bool{
		"the card's MAC address is on both":                             bond.MACAddress == "52:54:00:00:00:01" && port.MACAddress == bond.MACAddress,
		"the MTU is on both":                                            *bond.MTU == 9000 && *port.MTU == 9000,
		"static addresses, routes and servers come along":               len(port.IPv4.Address) == 1 && len(port.IPv6.Address) == 1 && len(made.Document.Routes.Config) == 2 && made.Document.DNS != nil,
		"each family with an address has to have one":                   port.WaitIP == "ipv4+ipv6" && extra.WaitIP == "ipv4",
		"the default route wins over others":                            *made.Document.Routes.Config[0].Metric == 48,
		"and the second bridge's comes next":                            *extra.IPv4.AutoRouteMetric == 49,
		"the bond keeps ports and options":                              slices.Equal(bond.Bond.Port, []string{"p1", "p2"}) && bond.Bond.Options.LACPRate == "fast",
		"OVN finds one uplink, and its name":                            slices.Equal(uplinks, []string{"eth0"}) && *bridge.OVSDB.ExternalIDs["bridge-uplink"] == "eth0",
		"patch ports of OVN are not changed":                            nmstate.Is(bridge.OVSBridge.AllowExtraPatchPorts),
		"the bridge comes first, and its interface after its own ports": place("br-ex-br") < place("eth0") && place("br-ex-port") < place("br-ex-if"),
		"the card gives its addresses up":                               !bond.IPv4.On() && !bond.IPv6.On(),
	} {
		if !kept {
			t.Errorf("not kept: %s", promise)
		}
	}
}
