package dhcp

import (
	"encoding/json"
	"net"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/insomniacslk/dhcp/dhcpv4"

	"github.com/cluster-network-operator/cno/internal/cniserver"
)

var since = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

// ack is an acknowledgement as servers send it, read from the wire.
func ack(t testing.TB, address string, more ...dhcpv4.Modifier) *dhcpv4.DHCPv4 {
	t.Helper()
	all := append([]dhcpv4.Modifier{
		dhcpv4.WithMessageType(dhcpv4.MessageTypeAck), dhcpv4.WithYourIP(net.ParseIP(address)), dhcpv4.WithNetmask(net.CIDRMask(24, 32)),
		dhcpv4.WithLeaseTime(3600), dhcpv4.WithOption(dhcpv4.OptServerIdentifier(net.IPv4(192, 0, 2, 1))),
	}, more...)
	m, err := dhcpv4.New(all...)
	if err != nil {
		t.Fatal(err)
	}
	read, err := dhcpv4.FromBytes(m.ToBytes())
	if err != nil {
		t.Fatal(err)
	}
	return read
}

func routes(pairs ...string) dhcpv4.Modifier {
	var all []*dhcpv4.Route
	for i := 0; i < len(pairs); i += 2 {
		_, dst, _ := net.ParseCIDR(pairs[i])
		all = append(all, &dhcpv4.Route{Dest: dst, Router: net.ParseIP(pairs[i+1])})
	}
	return dhcpv4.WithOption(dhcpv4.OptClasslessStaticRoute(all...))
}

func TestResultOfALease(t *testing.T) {
	router := dhcpv4.WithRouter(net.IPv4(192, 0, 2, 254), net.IPv4(192, 0, 2, 253))
	for _, tt := range []struct {
		reason   string
		ack      *dhcpv4.DHCPv4
		priority int
		want     string
	}{
		{"an address alone", ack(t, "192.0.2.9"), 0, `{"cniVersion":"1.1.0","ips":[{"address":"192.0.2.9/24"}]}`},
		{"the first router is the gateway", ack(t, "192.0.2.9", router), 0,
			`{"cniVersion":"1.1.0","ips":[{"address":"192.0.2.9/24","gateway":"192.0.2.254"}],"routes":[{"dst":"0.0.0.0/0","gw":"192.0.2.254"}]}`},
		{"with classless routes, routers do not count (RFC 3442)", ack(t, "192.0.2.9", router, routes("198.51.100.0/25", "192.0.2.7", "203.0.113.0/24", "0.0.0.0")), 70,
			`{"cniVersion":"1.1.0","ips":[{"address":"192.0.2.9/24"}],"routes":[{"dst":"198.51.100.0/25","gw":"192.0.2.7","priority":70},{"dst":"203.0.113.0/24","gw":"0.0.0.0","priority":70,"scope":253}]}`},
		{"a classless default route is the gateway", ack(t, "192.0.2.9", router, routes("0.0.0.0/0", "192.0.2.7")), 0,
			`{"cniVersion":"1.1.0","ips":[{"address":"192.0.2.9/24","gateway":"192.0.2.7"}],"routes":[{"dst":"0.0.0.0/0","gw":"192.0.2.7"}]}`},
		{"static routes have the length of their class; a default route among them does not count", ack(t, "192.0.2.9", router,
			dhcpv4.WithGeneric(dhcpv4.OptionStaticRoutingTable, []byte{10, 1, 0, 0, 192, 0, 2, 7, 0, 0, 0, 0, 192, 0, 2, 8, 172, 16})), 0,
			`{"cniVersion":"1.1.0","ips":[{"address":"192.0.2.9/24","gateway":"192.0.2.254"}],"routes":[{"dst":"10.0.0.0/8","gw":"192.0.2.7"},{"dst":"0.0.0.0/0","gw":"192.0.2.254"}]}`},
		{"DNS", ack(t, "192.0.2.9", dhcpv4.WithDNS(net.IPv4(192, 0, 2, 53)), dhcpv4.WithOption(dhcpv4.OptDomainName("example.com")), dhcpv4.WithDomainSearchList("a.example.com", "example.com")), 0,
			`{"cniVersion":"1.1.0","ips":[{"address":"192.0.2.9/24"}],"dns":{"nameservers":["192.0.2.53"],"domain":"example.com","search":["a.example.com","example.com"]}}`},
	} {
		lease, err := readLease(tt.ack, since)
		if err != nil {
			t.Errorf("%s: %v", tt.reason, err)
			continue
		}
		got, err := json.Marshal(lease.result(tt.priority))
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(indented(t, tt.want), indented(t, string(got))); diff != "" {
			t.Errorf("%s: %s", tt.reason, diff)
		}
	}
}

func indented(t *testing.T, text string) string {
	t.Helper()
	var value any
	if err := json.Unmarshal([]byte(text), &value); err != nil {
		t.Fatal(err)
	}
	out, err := json.MarshalIndent(value, "", " ")
	if err != nil {
		t.Fatal(err)
	}
	return string(out)
}

func TestLeasesThatNoPodCanUse(t *testing.T) {
	for _, tt := range []struct {
		reason string
		ack    *dhcpv4.DHCPv4
		want   string
	}{
		{"no mask", ack(t, "192.0.2.9", dhcpv4.WithoutOption(dhcpv4.OptionSubnetMask)), "no address, or no mask"},
		{"no time", ack(t, "192.0.2.9", dhcpv4.WithoutOption(dhcpv4.OptionIPAddressLeaseTime)), "a lease without a time"},
		{"no server", ack(t, "192.0.2.9", dhcpv4.WithoutOption(dhcpv4.OptionServerIdentifier)), "has no identifier"},
		{"no address", ack(t, "0.0.0.0"), "no address of a host"},
		{"loopback", ack(t, "127.0.0.2"), "no address of a host"},
		{"multicast", ack(t, "224.0.0.5"), "no address of a host"},
		{"broadcast", ack(t, "255.255.255.255"), "no address of a host"},
		{"a mask of everything", ack(t, "192.0.2.9", dhcpv4.WithNetmask(net.CIDRMask(0, 32))), "no address of a host"},
		{"a mask with holes", ack(t, "192.0.2.9", dhcpv4.WithNetmask(net.IPMask{255, 0, 255, 0})), "no address, or no mask"},
	} {
		if _, err := readLease(tt.ack, since); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: error %v, expected %q", tt.reason, err, tt.want)
		}
	}
}

func TestClientIdentifierMatchesContainernetworking(t *testing.T) {
	c := cniserver.Call{ContainerID: "3f2a", Network: "macvlan-conf", IfName: "net1"}
	if got := string(clientID(c)); got != "\x003f2a/macvlan-conf/net1" {
		t.Errorf("got %q", got)
	}
	c.Network = strings.Repeat("n", 300)
	if got := clientID(c); len(got) != 255 {
		t.Errorf("the identifier has %d bytes, more than the 255 of an option, or less", len(got))
	}
}

// TestMessagesHaveTheAddressesOfTheirState compares with table 4 of RFC 2131.
func TestMessagesHaveTheAddressesOfTheirState(t *testing.T) {
	mac := net.HardwareAddr{2, 0, 0, 0, 0, 1}
	c := Config{ClientID: []byte("\x00id"), Request: []uint8{121, 1}, Provide: map[uint8]string{12: "web-0"}}
	lease, err := readLease(ack(t, "192.0.2.9"), since)
	if err != nil {
		t.Fatal(err)
	}
	offer := ack(t, "192.0.2.9", dhcpv4.WithMessageType(dhcpv4.MessageTypeOffer), dhcpv4.WithGatewayIP(net.IPv4(192, 0, 2, 3)))
	for _, tt := range []struct {
		reason                       string
		build                        func() (*dhcpv4.DHCPv4, error)
		kind                         dhcpv4.MessageType
		requested, client, server    string
		parameters, hostName, reused bool
	}{
		{"INIT", func() (*dhcpv4.DHCPv4, error) { return discover(mac, c, netip.Addr{}) }, dhcpv4.MessageTypeDiscover, "", "0.0.0.0", "", true, true, false},
		{"INIT with a wish", func() (*dhcpv4.DHCPv4, error) { return discover(mac, c, lease.Prefix.Addr()) }, dhcpv4.MessageTypeDiscover, "192.0.2.9", "0.0.0.0", "", true, true, false},
		{"SELECTING", func() (*dhcpv4.DHCPv4, error) { return request(mac, c, offer) }, dhcpv4.MessageTypeRequest, "192.0.2.9", "0.0.0.0", "192.0.2.1", true, true, true},
		{"RENEWING and REBINDING", func() (*dhcpv4.DHCPv4, error) { return renew(mac, c, lease) }, dhcpv4.MessageTypeRequest, "", "192.0.2.9", "", true, true, false},
		{"DHCPRELEASE", func() (*dhcpv4.DHCPv4, error) { return release(mac, c, lease) }, dhcpv4.MessageTypeRelease, "", "192.0.2.9", "192.0.2.1", false, false, false},
	} {
		m, err := tt.build()
		if err != nil {
			t.Fatal(err)
		}
		text := func(ip net.IP) string {
			if ip == nil {
				return ""
			}
			return ip.String()
		}
		if m.MessageType() != tt.kind || text(m.RequestedIPAddress()) != tt.requested || m.ClientIPAddr.String() != tt.client || text(m.ServerIdentifier()) != tt.server {
			t.Errorf("%s: %s", tt.reason, m.Summary())
		}
		if m.ClientHWAddr.String() != mac.String() || string(m.Options.Get(dhcpv4.OptionClientIdentifier)) != "\x00id" || !m.GatewayIPAddr.IsUnspecified() || m.OpCode != dhcpv4.OpcodeBootRequest {
			t.Errorf("%s: the client is not named as in other messages: %s", tt.reason, m.Summary())
		}
		if got := string(m.Options.Get(dhcpv4.OptionParameterRequestList)); (got == "\x79\x01") != tt.parameters {
			t.Errorf("%s: asks for %q", tt.reason, got)
		}
		if (m.HostName() == "web-0") != tt.hostName {
			t.Errorf("%s: host name %q", tt.reason, m.HostName())
		}
		if (m.TransactionID == offer.TransactionID) != tt.reused {
			t.Errorf("%s: transaction %s, that of the offer is %s", tt.reason, m.TransactionID, offer.TransactionID)
		}
	}
}
