package kernelstate

import (
	"net"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/vishvananda/netlink"
)

func TestOptionsOfABondAreThoseOfItsMode(t *testing.T) {
	names := map[int]string{7: "eno1"}
	for _, row := range []struct {
		why  string
		bond netlink.Bond
		want map[string]string
	}{
		{"LACP has its rate, policy and links", netlink.Bond{Mode: netlink.BOND_MODE_802_3AD, Miimon: 100, UpDelay: 200, DownDelay: 300, MinLinks: 2, LacpRate: netlink.BOND_LACP_RATE_FAST, XmitHashPolicy: netlink.BOND_XMIT_HASH_POLICY_LAYER3_4, Primary: 7},
			map[string]string{"miimon": "100", "updelay": "200", "downdelay": "300", "min_links": "2", "lacp_rate": "fast", "xmit_hash_policy": "layer3+4", "fail_over_mac": "none"}},
		{"active-backup has a first port, and no LACP", netlink.Bond{Mode: netlink.BOND_MODE_ACTIVE_BACKUP, Miimon: 100, Primary: 7, PrimaryReselect: netlink.BOND_PRIMARY_RESELECT_FAILURE, FailOverMac: netlink.BOND_FAIL_OVER_MAC_FOLLOW},
			map[string]string{"miimon": "100", "primary": "eno1", "primary_reselect": "failure", "fail_over_mac": "follow"}},
		{"links may be watched by ARP", netlink.Bond{Mode: netlink.BOND_MODE_BALANCE_XOR, ArpInterval: 100, ArpIpTargets: []net.IP{net.IPv4(192, 0, 2, 1), net.IPv4(192, 0, 2, 2)}, XmitHashPolicy: netlink.BOND_XMIT_HASH_POLICY_LAYER2_3},
			map[string]string{"miimon": "0", "arp_interval": "100", "arp_ip_target": "192.0.2.1,192.0.2.2", "xmit_hash_policy": "layer2+3", "fail_over_mac": "none"}},
		{"no first port is none", netlink.Bond{Mode: netlink.BOND_MODE_ACTIVE_BACKUP, Miimon: 100},
			map[string]string{"miimon": "100", "fail_over_mac": "none"}},
	} {
		if diff := cmp.Diff(row.want, bondOptions(&row.bond, names)); diff != "" {
			t.Errorf("%s: %s", row.why, diff)
		}
	}
}
