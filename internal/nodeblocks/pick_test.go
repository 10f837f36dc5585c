package nodeblocks_test

import (
	"fmt"
	"net/netip"
	"testing"

	"github.com/cluster-network-operator/cno/internal/nodeblocks"
)

func TestPickGivesEverySubnetButTheFirstOnce(t *testing.T) {
	for _, network := range []string{"10.0.0.0/20", "fd00::/52"} {
		pool := netip.MustParsePrefix(network)
		length := pool.Bits() + 4
		var taken []netip.Prefix
		seen := map[netip.Prefix]bool{}
		for i := range 15 {
			got, ok := nodeblocks.Pick(pool, length, fmt.Sprintf("node-%d", i), taken)
			if !ok || seen[got] || !nodeblocks.Usable(pool, length, got) {
				t.Fatalf("%s: pick %d is %s, %v; taken %v", network, i, got, ok, taken)
			}
			seen[got] = true
			taken = append(taken, got)
		}
		if got, ok := nodeblocks.Pick(pool, length, "one too many", taken); ok {
			t.Errorf("%s: %s was given out although all are taken", network, got)
		}
	}
}

func TestPickAvoidsSubnetsOfAnyLength(t *testing.T) {
	pool := netip.MustParsePrefix("10.0.0.0/22")
	taken := []netip.Prefix{netip.MustParsePrefix("10.0.1.128/25"), netip.MustParsePrefix("10.0.2.0/23"), {}}
	if got, ok := nodeblocks.Pick(pool, 24, "a", taken); ok {
		t.Errorf("%s overlaps one of %v", got, taken)
	}
}

func TestPickIsStableForANode(t *testing.T) {
	pool := netip.MustParsePrefix("10.128.0.0/14")
	first, _ := nodeblocks.Pick(pool, 23, "node-7", nil)
	second, ok := nodeblocks.Pick(pool, 23, "node-7", []netip.Prefix{netip.MustParsePrefix("10.128.2.0/23")})
	if !ok || first != second {
		t.Errorf("node-7 has %s, then %s", first, second)
	}
}

func TestUsableFollowsTheNetwork(t *testing.T) {
	pool := netip.MustParsePrefix("10.0.0.0/16")
	for subnet, want := range map[string]bool{
		"10.0.1.0/24": true,
		"10.0.0.0/24": false, // the first holds the network's own address
		"10.0.1.0/25": false, // another length
		"10.1.1.0/24": false, // another network
		"10.0.1.1/24": false, // host bits
	} {
		if got := nodeblocks.Usable(pool, 24, netip.MustParsePrefix(subnet)); got != want {
			t.Errorf("Usable(%s) = %v", subnet, got)
		}
	}
	if nodeblocks.Usable(pool, 24, netip.Prefix{}) {
		t.Error("no subnet is usable")
	}
}
