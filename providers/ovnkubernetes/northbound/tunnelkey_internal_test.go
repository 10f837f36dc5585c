package northbound

import (
	"net/netip"
	"testing"

	"github.com/cluster-network-operator/cno/internal/host/ovsdb"
)

func TestKeysOfTunnelsFollowFromAddresses(t *testing.T) {
	blocks := func(list ...string) func(ovsdb.Map) {
		return func(options ovsdb.Map) {
			var out []netip.Prefix
			for _, b := range list {
				out = append(out, netip.MustParsePrefix(b))
			}
			requestSwitchKey(options, out)
		}
	}
	addresses := func(list ...string) func(ovsdb.Map) {
		return func(options ovsdb.Map) {
			var out []netip.Addr
			for _, a := range list {
				out = append(out, netip.MustParseAddr(a))
			}
			requestPortKey(options, out...)
		}
	}
	for _, row := range []struct {
		why     string
		request func(ovsdb.Map)
		want    string
	}{
		{"a block", blocks("10.128.2.0/23"), "688130"},
		{"the next block of the pool", blocks("10.128.4.0/23"), "688132"},
		{"a block that is smaller than 256 addresses", blocks("10.128.2.16/28"), "11010081"},
		{"the next one: the two have the same first 24 bits", blocks("10.128.2.32/28"), "11010082"},
		{"the first block of two", blocks("10.128.2.0/23", "fd01:0:0:2::/64"), "688130"},
		{"an IPv6 block first: its number", blocks("fd01:0:0:2::/64", "10.128.2.0/23"), "8388610"},
		{"a number with more than 23 bits", blocks("fd01:0:80:2::/64"), "8388610"},
		{"blocks that are no multiple of 8 bits", blocks("fd01:0:0:20::/60"), "8388610"},
		{"a pool whose prefix is in the key", blocks("fd01:0:7:2::/64"), "8847362"},
		{"the address of a pod", addresses("10.128.2.5"), "517"},
		{"the first address of two", addresses("10.128.2.5", "fd01:0:0:2::7"), "517"},
		{"an address whose last 15 bits are 0: ovn-northd assigns the key", addresses("10.128.128.0"), ""},
		{"an IPv6 address", addresses("fd01:0:0:2::5"), "5"},
		{"an IPv6 address with more than 15 bits", addresses("fd01:0:0:2::1:8006"), "6"},
	} {
		options := ovsdb.Map{}
		if row.request(options); options[requestedKey] != row.want {
			t.Errorf("%s: the key is %q, want %q", row.why, options[requestedKey], row.want)
		}
	}
}
