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
		{"the IPv4 block of two", blocks("fd01:0:0:2::/64", "10.128.2.0/23"), "688130"},
		{"no IPv4 block", blocks("fd01:0:0:2::/64"), ""},
		{"the address of a pod", addresses("10.128.2.5"), "517"},
		{"the IPv4 address of two", addresses("fd01:0:0:2::5", "10.128.2.5"), "517"},
		{"an address whose last 15 bits are 0: ovn-northd assigns the key", addresses("10.128.128.0"), ""},
		{"no IPv4 address", addresses("fd01:0:0:2::5"), ""},
	} {
		options := ovsdb.Map{}
		if row.request(options); options[requestedKey] != row.want {
			t.Errorf("%s: the key is %q, want %q", row.why, options[requestedKey], row.want)
		}
	}
}
