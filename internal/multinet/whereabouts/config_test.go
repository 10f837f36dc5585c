package whereabouts

import (
	"fmt"
	"net"
	"net/netip"
	"strings"
	"testing"

	"github.com/containernetworking/cni/pkg/types"
	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

func ipam(members string) string {
	return `{"name":"n","type":"macvlan","ipam":{"type":"whereabouts",` + members + `}}`
}

func parsed(t *testing.T, text string) *Config {
	t.Helper()
	c, errs := Parse(text)
	if len(errs) > 0 {
		t.Fatalf("%s: %v", text, errs)
	}
	return c
}

func addr(text string) netip.Addr { return netip.MustParseAddr(text) }

func TestParseReadsEveryKey(t *testing.T) {
	got := parsed(t, `{"name":"n","cniVersion":"1.0.0","ipam":{"type":"whereabouts","range":"192.0.2.225/27","range_start":"192.0.2.230","range_end":"192.0.2.250",
		"exclude":["192.0.2.232/31","192.0.2.233","192.0.2.235"],"ipRanges":[{"range":"fd00::10-fd00::20/64","exclude":["fd00::12/127"]}],
		"gateway":"192.0.2.240","routes":[{"dst":"0.0.0.0/0","gw":"192.0.2.240","mtu":1400,"table":0}],
		"dns":{"nameservers":["192.0.2.53"],"domain":"d","search":["s"],"options":["o"]},
		"addresses":[{"address":"198.51.100.5/24","gateway":"198.51.100.1"}],"enable_overlapping_ranges":false,"network_name":"mine",
		"node_slice_size":"/28","datastore":"kubernetes","log_file":"/etc/passwd","log_level":"debug","kubernetes":{"kubeconfig":"/root/x"},
		"leader_lease_duration":1500,"leader_renew_deadline":1000,"leader_retry_period":500,"sleep_for_race":1,"configuration_path":"x","reconciler_cron_expression":"* * * * *"},
		"runtimeConfig":{"ips":["192.0.2.236/27","fd00::11"]}}`)
	zero := 0
	want := &Config{
		Network: "n", Gateway: addr("192.0.2.240"), Sliced: true, SliceHostBits: 4, NetworkName: "mine", Requested: []netip.Addr{addr("192.0.2.236"), addr("fd00::11")},
		Ranges: []Range{
			{netip.MustParsePrefix("192.0.2.224/27"), Span{addr("192.0.2.230"), addr("192.0.2.250")}, []Span{
				{addr("192.0.2.232"), addr("192.0.2.233")}, {addr("192.0.2.235"), addr("192.0.2.235")}, {addr("192.0.2.240"), addr("192.0.2.240")},
			}},
			{netip.MustParsePrefix("fd00::/64"), Span{addr("fd00::10"), addr("fd00::20")}, []Span{{addr("fd00::12"), addr("fd00::13")}}},
		},
		Routes: []*types.Route{{Dst: net.IPNet{IP: net.IP{0, 0, 0, 0}, Mask: net.CIDRMask(0, 32)}, GW: net.IP{192, 0, 2, 240}, MTU: 1400, Table: &zero}},
		DNS:    types.DNS{Nameservers: []string{"192.0.2.53"}, Domain: "d", Search: []string{"s"}, Options: []string{"o"}},
		Static: []Static{{netip.MustParsePrefix("198.51.100.5/24"), addr("198.51.100.1")}},
	}
	if diff := cmp.Diff(want, got, cmpopts.EquateComparable(netip.Addr{}, netip.Prefix{})); diff != "" {
		t.Error(diff)
	}
	for i, want := range []string{"mine-192.0.2.224-27-node", "mine-fd00---64-node"} {
		if name := got.Pool(got.Ranges[i], "node").Name(); name != want {
			t.Errorf("pool %s, want %s", name, want)
		}
	}
	if a, b := got.SlicePool(got.Ranges[0]), got.SlicePool(got.Ranges[1]); a != "mine" || b != "mine-fd00---64" {
		t.Errorf("pools of slices %s, %s", a, b)
	}
	if bits := got.SliceBits(got.Ranges[1]); bits != 124 {
		t.Errorf("IPv6 slices have %d bits; they have as many addresses as those of IPv4", bits)
	}
}

func TestDefaults(t *testing.T) {
	c := parsed(t, ipam(`"range":"192.0.2.0/24","gateway":"","range_start":"","network_name":"","node_slice_size":""`))
	if !c.Overlapping || c.Sliced || c.Gateway.IsValid() || c.NetworkName != "" || len(c.Requested) > 0 || c.Claim != "" {
		t.Errorf("%+v", c)
	}
}

// Each configuration has one mistake, and is refused with its path, the value, the rule and the way out.
func TestParseRefuses(t *testing.T) {
	for text, want := range map[string]string{
		`[]`:           "ipam: Forbidden: is missing",
		`{"name":"n"}`: "ipam: Forbidden: is null; must be an object",
		`{"ipam":{"type":"a","range":"192.0.2.0/24"}}`:                                                                            `ipam.type: Unsupported value: "a"`,
		`{"ipam":{"range":"192.0.2.0/24"}}`:                                                                                       "ipam.type: Required value: must be whereabouts",
		ipam(`"x":1`):                                                                                                             `ipam: Invalid value: "x": is not a key; must be one of`,
		ipam(`"range":"192.0.2.0/24","Gateway":""`):                                                                               `ipam: Invalid value: "Gateway": is not a key; did you mean gateway?`,
		ipam(`"range":"192.0.2.0/24","range":"192.0.2.0/25"`):                                                                     "ipam.range: Duplicate value",
		ipam(`"gateway":"192.0.2.1"`):                                                                                             "ipam.range: Required value: must be a network",
		ipam(`"exclude":[]`):                                                                                                      "ipam.range: Required value",
		ipam(`"range":1`):                                                                                                         "ipam.range: Forbidden: is a number; must be a string",
		ipam(`"range":"192.0.2.0"`):                                                                                               `ipam.range: Invalid value: "192.0.2.0": must be a network`,
		ipam(`"range":"x-192.0.2.9/24"`):                                                                                          "must begin with the first address",
		ipam(`"range":"127.0.0.0/8"`):                                                                                             "has loopback addresses",
		ipam(`"range":"::ffff:1.2.3.0/120"`):                                                                                      "must be a network",
		ipam(`"range":"192.0.2.20-192.0.2.10/24"`):                                                                                "ends before 192.0.2.20",
		ipam(`"range":"192.0.3.20-192.0.2.30/24"`):                                                                                "192.0.3.20 is not in 192.0.2.0/24; the range is from 192.0.2.1 to 192.0.2.254",
		ipam(`"range":"192.0.2.0/24","range_start":"192.0.3.1"`):                                                                  `ipam.range_start: Invalid value: "192.0.3.1": 192.0.3.1 is not in 192.0.2.0/24`,
		ipam(`"range":"192.0.2.0/24","range_end":"fd00::1"`):                                                                      `ipam.range_end: Invalid value: "fd00::1"`,
		ipam(`"range":"192.0.2.0/24","range_end":"x"`):                                                                            "must be an address of 192.0.2.0/24",
		ipam(`"range":"192.0.2.0/24","range_start":"192.0.2.9","range_end":"192.0.2.8"`):                                          `ipam.range_end: Invalid value: "192.0.2.8": ends before 192.0.2.9`,
		ipam(`"range":"192.0.2.1-192.0.2.9/24","range_start":"192.0.2.3"`):                                                        "ipam.range_start: Invalid value",
		ipam(`"range":"192.0.2.0/24","exclude":"192.0.2.1"`):                                                                      "ipam.exclude: Forbidden: is a string; must be a list",
		ipam(`"range":"192.0.2.0/24","exclude":["x"]`):                                                                            "ipam.exclude[0]: Invalid value",
		ipam(`"range":"192.0.2.0/24","exclude":["192.0.3.0/24"]`):                                                                 "so that it excludes nothing",
		ipam(`"range":"192.0.2.0/24","exclude":["192.0.2.0/24"]`):                                                                 "has no address left",
		ipam(`"range":"192.0.2.4/31","gateway":"192.0.2.4","exclude":["192.0.2.5"]`):                                              "has no address left",
		ipam(`"range":"192.0.2.0/24","gateway":"fd00::1"`):                                                                        "ipam.gateway: Invalid value: \"fd00::1\": is of another IP family",
		ipam(`"range":"192.0.2.0/24","gateway":"x"`):                                                                              "must be the address of a gateway",
		ipam(`"ipRanges":{}`):                                                                                                     "ipam.ipRanges: Forbidden: is an object",
		ipam(`"ipRanges":[1]`):                                                                                                    "ipam.ipRanges[0]: Forbidden",
		ipam(`"ipRanges":[{}]`):                                                                                                   "ipam.ipRanges[0].range: Required value",
		ipam(`"ipRanges":[` + strings.Repeat(`{},`, 32) + `{}]`):                                                                  "ipam.ipRanges: Too many: 33",
		ipam(`"ipRanges":[{"range":"192.0.2.0/24","gateway":"192.0.2.1"}]`):                                                       `ipam.ipRanges[0]: Invalid value: "gateway"`,
		ipam(`"range":"192.0.2.0/24","ipRanges":[{"range":"192.0.2.128/25"}]`):                                                    `ipam.ipRanges[0].range: Invalid value: "192.0.2.128/25": overlaps the range 192.0.2.0/24`,
		ipam(`"range":"192.0.2.0/24","routes":[{"gw":"192.0.2.1"}]`):                                                              "ipam.routes[0].dst: Required value",
		ipam(`"range":"192.0.2.0/24","routes":[{"dst":"10.0.0.1/8"}]`):                                                            "did you mean 10.0.0.0/8",
		ipam(`"range":"192.0.2.0/24","routes":[{"dst":"::/0","gw":"192.0.2.1"}]`):                                                 "ipam.routes[0].gw: Invalid value",
		ipam(`"range":"192.0.2.0/24","routes":[{"dst":"::/0","mtu":-1}]`):                                                         "ipam.routes[0].mtu: Invalid value",
		ipam(`"range":"192.0.2.0/24","routes":[{"dst":"::/0","scope":1.5}]`):                                                      "ipam.routes[0].scope: Invalid value",
		ipam(`"range":"192.0.2.0/24","dns":{"nameserver":[]}`):                                                                    `ipam.dns: Invalid value: "nameserver"`,
		ipam(`"range":"192.0.2.0/24","dns":{"nameservers":["x"]}`):                                                                "ipam.dns.nameservers[0]: Invalid value",
		ipam(`"range":"192.0.2.0/24","addresses":[{"address":"192.0.2.1"}]`):                                                      "ipam.addresses[0].address: Invalid value",
		ipam(`"range":"192.0.2.0/24","addresses":[{}]`):                                                                           "ipam.addresses[0].address: Required value",
		ipam(`"range":"192.0.2.0/24","enable_overlapping_ranges":"false"`):                                                        "must be true or false",
		ipam(`"range":"192.0.2.0/24","network_name":"A/b"`):                                                                       "ipam.network_name: Invalid value",
		ipam(`"range":"192.0.2.0/24","node_slice_size":"/0"`):                                                                     "ipam.node_slice_size: Invalid value",
		ipam(`"range":"192.0.2.0/24","node_slice_size":"/24"`):                                                                    "is not longer than the prefix of 192.0.2.0/24",
		ipam(`"range":"192.0.2.0/24","node_slice_size":"/40"`):                                                                    "must be at most /32",
		ipam(`"ipRanges":[{"range":"192.0.2.0/24"},{"range":"fd00::/125"}],"node_slice_size":"/26"`):                              "ipam.ipRanges[1].range cannot be divided",
		`{"name":"A_b","ipam":{"type":"whereabouts","range":"192.0.2.0/24","node_slice_size":"/28"}}`:                             "set network_name",
		ipam(`"range":"192.0.2.0/24","datastore":"etcd"`):                                                                         "ipam.datastore: Invalid value",
		`{"ipam":{"type":"whereabouts","range":"192.0.2.0/24"},"runtimeConfig":{"ips":"192.0.2.1"}}`:                              "runtimeConfig.ips: Forbidden",
		`{"ipam":{"type":"whereabouts","range":"192.0.2.0/24"},"runtimeConfig":{"ips":["192.0.3.1"]}}`:                            "is in none of the ranges of the network: 192.0.2.0/24",
		`{"ipam":{"type":"whereabouts","range":"192.0.2.0/24"},"runtimeConfig":{"ips":["192.0.2.0"]}}`:                            "is in none of the ranges",
		`{"ipam":{"type":"whereabouts","range":"192.0.2.0/24"},"runtimeConfig":{"ips":["192.0.2.1/25"]}}`:                         "has another prefix length",
		`{"ipam":{"type":"whereabouts","range":"192.0.2.0/24"},"runtimeConfig":{"ips":["x"]}}`:                                    "must be an address",
		`{"ipam":{"type":"whereabouts","range":"192.0.2.0/24","exclude":["192.0.2.7"]},"runtimeConfig":{"ips":["192.0.2.7"]}}`:    "is excluded",
		`{"ipam":{"type":"whereabouts","range":"192.0.2.0/24"},"runtimeConfig":{"ips":["192.0.2.7","192.0.2.8"]}}`:                "is in the same range as 192.0.2.7",
		`{"ipam":{"type":"whereabouts","range":"192.0.2.0/24"},"runtimeConfig":{"ipam-claim-reference":"A"}}`:                     "must be the name of an IPAMClaim",
		`{"ipam":{"type":"whereabouts","range":"192.0.2.0/24"},"runtimeConfig":{"ipam-claim-reference":"a","ips":["192.0.2.7"]}}`: "cannot be used together with an IPAMClaim",
		`{"name":"n","ipam":{"type":"whereabouts","range":"192.0.2.0/24","node_slice_size":"28"},"runtimeConfig":{"ipam-claim-reference":"a"}}`: "another node has another slice",
	} {
		_, errs := Parse(text)
		if len(errs) != 1 || !strings.Contains(errs[0].Error(), want) || errs[0].Origin != Rule {
			t.Errorf("%s: %v; want one error with %q", text, errs, want)
		}
	}
}

func TestParseReturnsAllErrorsAtOnce(t *testing.T) {
	_, errs := Parse(ipam(`"range":"192.0.2.0/24","range_start":"x","exclude":["y"],"gateway":1,"routes":[{"dst":"z"}],"ipRanges":[{"range":"q"}],"unknown":1`))
	if len(errs) != 6 {
		t.Errorf("%d errors: %v", len(errs), errs)
	}
}

// What an earlier version allocated for a configuration that is refused now must be found when the pod is deleted.
func TestARefusedConfigurationHasItsPools(t *testing.T) {
	c, errs := Parse(ipam(`"range":"192.0.2.0/24","range_end":"10.0.0.1","network_name":"a","ipRanges":[{"range":"bad"},{"range":"fd00::/64"}]`))
	if len(errs) != 2 {
		t.Fatal(errs)
	}
	var names []string
	for _, p := range c.Pools("node") {
		names = append(names, p.Name())
	}
	if diff := cmp.Diff([]string{"a-192.0.2.0-24", "a-fd00---64"}, names); diff != "" {
		t.Error(diff)
	}
}

func TestNamesMatchWhereabouts(t *testing.T) {
	for network, want := range map[string]string{"10.0.0.0/8": "10.0.0.0-8", "fd00:1::/32": "fd00-1---32", "::/16": "0---16"} {
		if name := (Pool{Network: netip.MustParsePrefix(network)}).Name(); name != want {
			t.Errorf("%s is %s, want %s", network, name, want)
		}
	}
	for a, want := range map[string]string{"10.0.0.1": "n-10.0.0.1", "fd00::1": "n-fd00--1", "fd00::": "n-fd00--0"} {
		if name := ReservationName("n", addr(a)); name != want {
			t.Errorf("%s is %s, want %s", a, name, want)
		}
	}
}

func FuzzParse(f *testing.F) {
	f.Add(ipam(`"range":"192.0.2.0/24","exclude":["192.0.2.1"],"gateway":"192.0.2.3","node_slice_size":"28"`))
	f.Add(ipam(`"ipRanges":[{"range":"fd00::1-fd00::2/64"},{"range":"0.0.0.0/31"}],"routes":[{"dst":"::/0"}]`))
	f.Fuzz(func(t *testing.T, text string) {
		c, errs := Parse(text)
		for _, r := range c.Ranges {
			_ = fmt.Sprint(r, r.Size())
			if len(errs) > 0 {
				continue
			}
			a, ok := r.Next(netip.Addr{}, func(netip.Addr) bool { return false })
			if !ok || !r.Assignable(a) || !r.Network.Contains(a) || a == c.Gateway {
				t.Errorf("%q: %s gives %s, %v", text, r, a, ok)
			}
		}
	})
}
