package debian

import (
	"errors"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestMissing(t *testing.T) {
	lookPath := func(have ...string) func(string) (string, error) {
		return func(program string) (string, error) {
			if slices.Contains(have, program) {
				return "/usr/bin/" + program, nil
			}
			return "", errors.New("not found")
		}
	}
	if got := Missing(lookPath("runc", "ip", "iptables", "nft", "conntrack", "ethtool", "nsenter", "mount", "ping", "dnsmasq")); got != nil {
		t.Errorf("with everything there, %v is missing", got)
	}
	// Packages are named, not programs.
	want := []string{"iproute2", "nftables"}
	if diff := cmp.Diff(want, Missing(lookPath("runc", "iptables", "conntrack", "ethtool", "nsenter", "mount", "ping", "dnsmasq"))); diff != "" {
		t.Error(diff)
	}
}
