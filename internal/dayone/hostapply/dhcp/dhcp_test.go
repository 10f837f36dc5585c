package dhcp

import (
	"bytes"
	"net"
	"net/netip"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/insomniacslk/dhcp/dhcpv4"
	"github.com/insomniacslk/dhcp/rfc1035label"
)

func TestClientID(t *testing.T) {
	mac := net.HardwareAddr{0x52, 0x54, 0, 1, 2, 3}
	for word, want := range map[string][]byte{
		"":           {1, 0x52, 0x54, 0, 1, 2, 3},
		"ll":         {1, 0x52, 0x54, 0, 1, 2, 3},
		"iaid+duid":  {0xff, 0, 1, 2, 3, 0, 3, 0, 1, 0x52, 0x54, 0, 1, 2, 3},
		"01:ab:c":    {1, 0xab, 0xc},
		"my-host":    append([]byte{0}, "my-host"...),
		"01:no:good": append([]byte{0}, "01:no:good"...),
	} {
		if got, err := clientID(word, mac); err != nil || !bytes.Equal(got, want) {
			t.Errorf("%q is %x, %v; want %x", word, got, err, want)
		}
	}
	if _, err := clientID("ll", nil); err == nil {
		t.Error("an interface without an address has an identifier")
	}
}

func TestReadAnswer(t *testing.T) {
	since := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	base := func(more ...dhcpv4.Modifier) *dhcpv4.DHCPv4 {
		ack, err := dhcpv4.New(append([]dhcpv4.Modifier{
			dhcpv4.WithYourIP(net.IPv4(192, 0, 2, 10)), dhcpv4.WithNetmask(net.CIDRMask(24, 32)), dhcpv4.WithLeaseTime(3600),
		}, more...)...)
		if err != nil {
			t.Fatal(err)
		}
		return ack
	}
	address := netip.MustParsePrefix("192.0.2.10/24")
	for _, tt := range []struct {
		name string
		ack  *dhcpv4.DHCPv4
		want Lease
	}{
		{"the least there is", base(), Lease{Prefix: address, Valid: time.Hour, Renew: 30 * time.Minute, Since: since}},
		{"everything",
			base(dhcpv4.WithOption(dhcpv4.OptRouter(net.IPv4(192, 0, 2, 1))), dhcpv4.WithOption(dhcpv4.OptDNS(net.IPv4(192, 0, 2, 53))),
				dhcpv4.WithOption(dhcpv4.OptDomainName("example.com")), dhcpv4.WithOption(dhcpv4.OptDomainSearch(&rfc1035label.Labels{Labels: []string{"a.example", "b.example"}})),
				dhcpv4.WithOption(dhcpv4.OptClasslessStaticRoute(&dhcpv4.Route{Dest: &net.IPNet{IP: net.IPv4(10, 0, 0, 0), Mask: net.CIDRMask(8, 32)}, Router: net.IPv4(192, 0, 2, 9)})),
				dhcpv4.WithGeneric(dhcpv4.OptionRenewTimeValue, []byte{0, 0, 2, 88})),
			Lease{
				Prefix: address, Routers: []netip.Addr{netip.MustParseAddr("192.0.2.1")}, DNS: []netip.Addr{netip.MustParseAddr("192.0.2.53")},
				Search: []string{"a.example", "b.example"}, Valid: time.Hour, Renew: 10 * time.Minute, Since: since,
				Routes: []Route{{Destination: netip.MustParsePrefix("10.0.0.0/8"), Via: netip.MustParseAddr("192.0.2.9")}},
			}},
	} {
		got, err := Read(tt.ack, since)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(tt.want, got, cmpopts.IgnoreFields(Lease{}, "Ack"), cmp.Comparer(func(a, b netip.Addr) bool { return a == b }),
			cmp.Comparer(func(a, b netip.Prefix) bool { return a == b })); diff != "" {
			t.Errorf("%s: %s", tt.name, diff)
		}
	}
	for name, ack := range map[string]*dhcpv4.DHCPv4{
		"no address": base(dhcpv4.WithYourIP(nil)),
		"no mask":    base(dhcpv4.WithoutOption(dhcpv4.OptionSubnetMask)),
		"no time":    base(dhcpv4.WithoutOption(dhcpv4.OptionIPAddressLeaseTime)),
	} {
		if _, err := Read(ack, since); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}
