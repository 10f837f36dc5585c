package kernelstate

import (
	"fmt"
	"slices"
	"strings"

	"github.com/vishvananda/netlink"
)

// bondOptions returns the options of a bond by NMState's names: the link monitoring options, and other options of its mode that differ from the kernel's
// defaults. names are the names of all links by index.
func bondOptions(b *netlink.Bond, names map[int]string) map[string]string {
	out := map[string]string{"miimon": fmt.Sprint(max(b.Miimon, 0)), "fail_over_mac": b.FailOverMac.String()}
	for key, n := range map[string]int{"updelay": b.UpDelay, "downdelay": b.DownDelay, "arp_interval": b.ArpInterval} {
		if n > 0 {
			out[key] = fmt.Sprint(n)
		}
	}
	if b.ArpInterval > 0 {
		var targets []string
		for _, ip := range b.ArpIpTargets {
			targets = append(targets, ip.String())
		}
		out["arp_ip_target"] = strings.Join(targets, ",")
	}
	one := slices.Contains([]netlink.BondMode{netlink.BOND_MODE_ACTIVE_BACKUP, netlink.BOND_MODE_BALANCE_TLB, netlink.BOND_MODE_BALANCE_ALB}, b.Mode)
	if name := names[b.Primary]; one && name != "" {
		out["primary"], out["primary_reselect"] = name, b.PrimaryReselect.String()
	}
	switch b.Mode {
	case netlink.BOND_MODE_802_3AD:
		out["lacp_rate"], out["xmit_hash_policy"] = b.LacpRate.String(), b.XmitHashPolicy.String()
		if b.MinLinks > 0 {
			out["min_links"] = fmt.Sprint(b.MinLinks)
		}
	case netlink.BOND_MODE_BALANCE_XOR, netlink.BOND_MODE_BALANCE_TLB:
		out["xmit_hash_policy"] = b.XmitHashPolicy.String()
	}
	return out
}
