package netaddr

import (
	"errors"
	"math"
	"net/netip"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestParseCIDRSuggestsACorrection(t *testing.T) {
	for _, tc := range []struct{ why, in, want string }{
		{"a good one", "10.128.0.0/14", ""},
		{"a good IPv6 one", "fd00:10::/48", ""},
		{"the whole family is a network", "::/0", ""},
		{"octets left out, as some tools allow", "10.128.0/9", "is not a CIDR; write four octets and a prefix, e.g. 10.128.0.0/9"},
		{"one octet", "10/8", "e.g. 10.0.0.0/8"},
		{"leading zeros may mean octal", "010.1.0.0/16", "e.g. 10.1.0.0/16"},
		{"no prefix", "10.128.0.0", "add the length of its prefix, 1 to 32, after a slash"},
		{"no IPv6 prefix", "fd00::", "add the length of its prefix, 1 to 128, after a slash"},
		{"a prefix that IPv4 does not have", "10.128.0.0/33", "the prefix must be a number from 1 to 32"},
		{"a mask instead of a prefix", "10.128.0.0/255.252.0.0", "the prefix must be a number from 1 to 32"},
		{"a leading zero in the prefix", "10.128.0.0/08", "write it as 10.0.0.0/8"},
		{"spaces around it", " 10.128.0.0/14 ", "write it as 10.128.0.0/14"},
		{"an IPv6 typing error", "fd00:::/48", "write an IPv6 network and a prefix"},
		{"a zone is one node's business", "fe80::%eth0/64", "is not a CIDR"},
		{"IPv4 in IPv6 notation would be of both families", "::ffff:10.0.0.0/104", "without its ::ffff: prefix"},
		{"nothing", "", "e.g. 10.128.0.0/14"},
		{"a name", "pods", "is not a CIDR"},
		{"too many octets", "10.0.0.0.0/8", "is not a CIDR"},
		{"an octet too large", "10.256.0.0/16", "is not a CIDR"},
		{"host bits", "10.128.0.5/14", "has host bits set; did you mean 10.128.0.0/14?"},
		{"IPv6 host bits", "fd00::1/64", "has host bits set; did you mean fd00::/64?"},
	} {
		t.Run(tc.why, func(t *testing.T) {
			p, err := ParseCIDR(tc.in)
			if tc.want == "" {
				if err != nil || !p.IsValid() {
					t.Fatalf("ParseCIDR(%q) = %v, %v", tc.in, p, err)
				}
				return
			}
			if err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("ParseCIDR(%q): error %v, want %q in it", tc.in, err, tc.want)
			}
			_, hostBits := errors.AsType[*HostBitsError](err)
			if _, syntax := errors.AsType[*SyntaxError](err); hostBits == syntax {
				t.Errorf("ParseCIDR(%q): error %v is neither of the two kinds, or both", tc.in, err)
			}
		})
	}
}

func FuzzParseCIDRNeverPanicsAndGivesNetworks(f *testing.F) {
	for _, s := range []string{"10.0.0.0/8", "10/8", "fd00::/48", "::ffff:1.2.3.4/100", "1.2.3.4/-1", "....", "/", "1.2.3.4/99999999999999999999", "0.0.0.0/0"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		p, err := ParseCIDR(s)
		if err != nil {
			return
		}
		if p != p.Masked() {
			t.Errorf("%q gave %s, which has host bits", s, p)
		}
		if again, err := ParseCIDR(p.String()); err != nil || again != p {
			t.Errorf("%q gave %s, which reads as %s, %v", s, p, again, err)
		}
	})
}

func TestOverlapsFindsEveryPair(t *testing.T) {
	pool := func(name, cidr string) Pool {
		p, _ := netip.ParsePrefix(cidr)
		return Pool{Name: name, Prefix: p}
	}
	got := []string{}
	for _, o := range Overlaps([]Pool{
		pool("services", "172.30.0.0/16"),
		pool("a", "10.0.0.0/8"),
		pool("unreadable", "nonsense"),
		pool("b", "10.1.0.0/16"),
		pool("same as b", "10.1.0.0/16"),
		pool("outer", "8.0.0.0/6"),
		pool("neighbour", "11.0.0.0/8"),
		pool("six", "::/0"),
	}) {
		got = append(got, o.Sentence())
	}
	want := []string{
		"b lies inside a",
		"same as b lies inside a",
		"same as b is the same as b",
		"outer contains a",
		"outer contains b",
		"outer contains same as b",
		"neighbour lies inside outer",
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
}

func TestBlocksAndAddresses(t *testing.T) {
	for _, tc := range []struct {
		why    string
		pool   string
		length uint32
		blocks uint64
		pods   uint64
	}{
		{"the usual pool", "10.128.0.0/14", 23, 512, 510},
		{"one node gets all of it", "10.128.0.0/24", 24, 1, 254},
		{"the longest that is allowed", "10.128.0.0/24", 30, 64, 2},
		{"no address is left", "10.128.0.0/24", 31, 128, 0},
		{"a single address", "10.128.0.0/24", 32, 256, 0},
		{"shorter than the pool is no block", "10.128.0.0/14", 13, 0, 524286},
		{"longer than the family has", "10.128.0.0/14", 33, 0, 0},
		{"a length that overflows an int32", "10.128.0.0/14", math.MaxUint32, 0, 0},
		{"IPv6 blocks hold more than can be counted", "fd00::/48", 64, 65536, math.MaxUint64},
		{"IPv6 has no broadcast address", "fd00::/112", 126, 16384, 3},
		{"more blocks than can be counted", "::/0", 128, math.MaxUint64, 0},
	} {
		t.Run(tc.why, func(t *testing.T) {
			p := netip.MustParsePrefix(tc.pool)
			if got := Blocks(p, tc.length); got != tc.blocks {
				t.Errorf("Blocks = %d, want %d", got, tc.blocks)
			}
			if got := PodAddresses(p, tc.length); got != tc.pods {
				t.Errorf("PodAddresses = %d, want %d", got, tc.pods)
			}
		})
	}
}

func TestInvalidPrefixesAreNothing(t *testing.T) {
	var none netip.Prefix
	some := netip.MustParsePrefix("10.0.0.0/8")
	if Blocks(none, 8) != 0 || PodAddresses(none, 8) != 0 || Contains(none, some) || Contains(some, none) || SameFamily(none, some) || Special(none) != "" {
		t.Error("an invalid prefix counts for something")
	}
	if lo, hi := BlockRange(none); lo <= hi {
		t.Errorf("BlockRange = %d, %d", lo, hi)
	}
	if Add(math.MaxUint64, 1) != math.MaxUint64 || Add(1, 2) != 3 {
		t.Error("Add does not saturate")
	}
}

func TestFamilies(t *testing.T) {
	v4, v6 := netip.MustParsePrefix("10.0.0.0/8"), netip.MustParsePrefix("fd00::/8")
	for want, list := range map[string][]netip.Prefix{
		"empty": {{}}, "IPv4": {v4, {}, v4}, "IPv6": {v6}, "IPv4 and IPv6": {v6, v4},
	} {
		if got := FamiliesOf(list); got.String() != want || got.Dual() != (want == "IPv4 and IPv6") {
			t.Errorf("FamiliesOf(%v) = %s, want %s", list, got, want)
		}
	}
}

func TestSpecialAddressesAreNamed(t *testing.T) {
	for cidr, want := range map[string]string{
		"127.1.0.0/16": "loopback", "224.0.0.0/8": "multicast", "169.254.0.0/17": "link-local", "0.1.0.0/16": "unspecified",
		"fe80::/64": "link-local", "ff02::/16": "multicast", "240.0.0.0/8": "reserved", "255.255.0.0/16": "reserved", "10.0.0.0/8": "", "fd00::/8": "", "0.0.0.0/0": "", "100.64.0.0/10": "",
	} {
		if got := Special(netip.MustParsePrefix(cidr)); got != want {
			t.Errorf("Special(%s) = %q, want %q", cidr, got, want)
		}
	}
}

func TestAddressesOfHostsOnTheInternetAreNotPrivate(t *testing.T) {
	for cidr, want := range map[string]bool{
		"10.0.0.0/8": true, "172.30.0.0/16": true, "172.32.0.0/16": false, "11.0.0.0/8": false, "100.64.0.0/10": true, "8.0.0.0/5": false,
		"fd00:10::/48": true, "2001:db8::/48": true, "2600::/16": false,
	} {
		if got := Private(netip.MustParsePrefix(cidr)); got != want {
			t.Errorf("Private(%s) = %v, want %v", cidr, got, want)
		}
	}
}
