package agentconfig_test

import (
	"net/netip"
	"strings"
	"testing"

	"github.com/flannel-io/flannel/pkg/ip"
	"github.com/flannel-io/flannel/pkg/subnet"

	"github.com/cluster-network-operator/cno/providers/flannel/agentconfig"
)

const prefix = "/coreos.com/network"

func TestSubnetKeysMatchFlannel(t *testing.T) {
	for _, tt := range []struct{ v4, v6, want string }{
		{"10.1.15.0/24", "", "10.1.15.0-24"},
		{"10.1.15.0/24", "fd00:1::/64", "10.1.15.0-24&fd00:1::-64"},
	} {
		v4 := netip.MustParsePrefix(tt.v4)
		var v6 netip.Prefix
		var flannel6 ip.IP6Net
		if tt.v6 != "" {
			v6 = netip.MustParsePrefix(tt.v6)
			flannel6 = ip.IP6Net{IP: ip.FromIP6(v6.Addr().AsSlice()), PrefixLen: uint(v6.Bits())}
		}
		got := agentconfig.SubnetKey(prefix, v4, v6)
		if want := prefix + "/subnets/" + tt.want; got != want {
			t.Errorf("SubnetKey(%s, %s) = %s, want %s", tt.v4, tt.v6, got, want)
		}
		upstream := subnet.MakeSubnetKey(ip.IP4Net{IP: ip.FromIP(v4.Addr().AsSlice()), PrefixLen: uint(v4.Bits())}, flannel6)
		if upstream != tt.want {
			t.Errorf("flannel writes %s, ours is %s", upstream, tt.want)
		}
		if a, b, ok := agentconfig.ParseSubnetKey(prefix, got); !ok || a != v4 || b != v6 {
			t.Errorf("ParseSubnetKey(%s) = %s, %s, %v", got, a, b, ok)
		}
	}
}

func TestParseSubnetKeyRefusesEverySpellingButOne(t *testing.T) {
	for _, tt := range []struct{ why, key string }{
		{"another prefix", "/other/subnets/10.1.15.0-24"},
		{"not a lease", prefix + "/config"},
		{"no length", prefix + "/subnets/10.1.15.0"},
		{"host bits", prefix + "/subnets/10.1.15.1-24"},
		{"leading zero in the length", prefix + "/subnets/10.1.15.0-024"},
		{"IPv6 where IPv4 must be", prefix + "/subnets/fd00::-64"},
		{"IPv4 twice", prefix + "/subnets/10.1.15.0-24&10.1.16.0-24"},
		{"IPv6 in a long form", prefix + "/subnets/10.1.15.0-24&fd00:0::-64"},
		{"nothing", prefix + "/subnets/"},
	} {
		if v4, v6, ok := agentconfig.ParseSubnetKey(prefix, tt.key); ok {
			t.Errorf("%s: ParseSubnetKey(%s) = %s, %s", tt.why, tt.key, v4, v6)
		}
	}
}

func FuzzAKeyThatParsesIsWrittenTheSame(f *testing.F) {
	f.Add("10.1.15.0-24")
	f.Add("10.1.15.0-24&fd00:1::-64")
	f.Fuzz(func(t *testing.T, rest string) {
		key := agentconfig.SubnetDir(prefix) + rest
		if v4, v6, ok := agentconfig.ParseSubnetKey(prefix, key); ok && agentconfig.SubnetKey(prefix, v4, v6) != key {
			t.Errorf("%s is written as %s", key, agentconfig.SubnetKey(prefix, v4, v6))
		}
	})
}

func TestNodeKeysRoundTrip(t *testing.T) {
	for dir, key := range map[string]string{
		agentconfig.ReservationDir(prefix): agentconfig.ReservationKey(prefix, "node-1.example.com"),
		agentconfig.AgentDir(prefix):       agentconfig.AgentKey(prefix, "node-1.example.com"),
	} {
		if node, ok := agentconfig.ParseNodeKey(dir, key); !ok || node != "node-1.example.com" {
			t.Errorf("ParseNodeKey(%s) = %s, %v", key, node, ok)
		}
		for _, wrong := range []string{dir, dir + "a/b", strings.TrimSuffix(dir, "/"), prefix + "/config"} {
			if node, ok := agentconfig.ParseNodeKey(dir, wrong); ok {
				t.Errorf("ParseNodeKey(%s) = %s, want none", wrong, node)
			}
		}
	}
	if got := agentconfig.ConfigKey(prefix); got != "/coreos.com/network/config" {
		t.Errorf("ConfigKey = %s", got)
	}
}
