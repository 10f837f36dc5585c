package nmconn

import (
	"fmt"
	"math"
	"net/netip"
	"slices"
	"strings"

	"github.com/cluster-network-operator/cno/internal/dayone/nmstate"
)

func (n *network) checkBond(i *iface) {
	b := i.Bond
	if b == nil || b.Mode == "" {
		n.errorf(i, "link-aggregation.mode", "is missing; a bond needs one, such as active-backup or 802.3ad")
	}
	if b == nil {
		return
	}
	n.checkBondPorts(i, b)
	if b.Options != nil {
		n.checkBondOptions(i, b.Mode, b.Options)
	}
}

func (n *network) checkBondPorts(i *iface, b *nmstate.Bond) {
	queues := map[uint16]string{}
	var configured []string
	for idx, p := range b.PortsConfig {
		configured = append(configured, p.Name)
		q := value(p.QueueID)
		if other, taken := queues[q]; taken && q != 0 {
			n.errorf(i, fmt.Sprintf("link-aggregation.ports-config[%d].queue-id", idx), "is %d, which %s has already", q, other)
		}
		queues[q] = p.Name
	}
	if b.Port == nil || b.PortsConfig == nil {
		return
	}
	for _, only := range []struct {
		key     string
		in, out []string
	}{{"ports-config", b.Port, configured}, {"port", configured, b.Port}} {
		for _, name := range only.in {
			if !slices.Contains(only.out, name) {
				n.errorf(i, "link-aggregation."+only.key, "does not have %s, which the other list of ports has; let both say the same", name)
			}
		}
	}
}

func (n *network) checkBondOptions(i *iface, mode string, o *nmstate.BondOptions) {
	if i.mac != "" && mode == "active-backup" && o.FailOverMAC == "active" {
		n.errorf(i, "mac-address", "is %s, and with fail_over_mac active the bond has the MAC address of its active port; remove one", i.mac)
	}
	if value(o.MIIMon) > 0 && value(o.ARPInterval) > 0 {
		n.errorf(i, option("arp_interval"), "is %d, and miimon %d; a bond watches its links in one of these ways", *o.ARPInterval, *o.MIIMon)
	}
	if strings.HasPrefix(strings.ToUpper(o.ADActorSystem), "01:00:5E") {
		n.errorf(i, option("ad_actor_system"), "is %s, a multicast address; write one of a station", o.ADActorSystem)
	}
	if nmstate.Is(o.BalanceSLB) && (mode != "balance-xor" || o.XmitHashPolicy != "vlan+srcmac") {
		n.errorf(i, option("balance-slb"), "needs mode balance-xor and xmit_hash_policy vlan+srcmac")
	}
	n.checkBondMonitor(i, mode, o)
	n.checkBondMode(i, mode, o)
	n.checkBondRanges(i, o)
}

// The rules below are those for which NetworkManager drops the whole file, see verify in its nm-setting-bond.c. NMState writes such files, at least in older
// versions. Delays and targets without their monitor, which are certainly mistakes, are always refused.

// checkBondMonitor refuses options of a link monitor that is disabled.
func (n *network) checkBondMonitor(i *iface, mode string, o *nmstate.BondOptions) {
	for key, delay := range map[string]*uint32{"updelay": o.UpDelay, "downdelay": o.DownDelay} {
		if value(delay) > 0 && value(o.MIIMon) == 0 {
			n.errorf(i, option(key), "is %d, and has no meaning without miimon; set miimon, for example to 100", *delay)
		}
	}
	if o.ARPIPTarget != "" && value(o.ARPInterval) == 0 {
		n.errorf(i, option("arp_ip_target"), "is %q, and has no meaning without arp_interval", o.ARPIPTarget)
	}
	for idx, target := range o.NSIP6Target {
		if addr, err := netip.ParseAddr(target); err != nil || !addr.Is6() {
			n.errorf(i, fmt.Sprintf("%s[%d]", option("ns_ip6_target"), idx), "is %q; an address of IPv6 is wanted", target)
		}
	}
	if len(o.NSIP6Target) > 0 && value(o.ARPInterval) == 0 {
		n.errorf(i, option("ns_ip6_target"), "is %v, and has no meaning without arp_interval", o.NSIP6Target)
	}
	if value(o.ARPInterval) == 0 {
		return
	}
	if o.ARPIPTarget == "" && len(o.NSIP6Target) == 0 {
		n.dropf(i, option("arp_interval"), "is %d, and needs arp_ip_target", *o.ARPInterval)
	}
	if slices.Contains([]string{"802.3ad", "balance-tlb", "balance-alb"}, mode) {
		n.dropf(i, option("arp_interval"), "is %d, and mode %s cannot watch its links by ARP; use miimon", *o.ARPInterval, mode)
	}
}

// checkBondMode refuses options that the bond's mode does not support.
func (n *network) checkBondMode(i *iface, mode string, o *nmstate.BondOptions) {
	switch mode {
	case "active-backup", "balance-tlb", "balance-alb":
	default:
		if o.Primary != "" {
			n.dropf(i, option("primary"), "is %q, and in mode %s all ports are active; it is for active-backup, balance-tlb and balance-alb", o.Primary, mode)
		}
	}
	if mode == "802.3ad" {
		return
	}
	switch o.LACPRate {
	case "fast":
		n.dropf(i, option("lacp_rate"), "is fast, and mode %s has no LACP; use mode 802.3ad or remove it", mode)
	case "slow":
		// The kernel reports this default for bonds of all modes, and NetworkManager removes it.
		n.warnf(i, option("lacp_rate"), "has no effect in mode %s, and newer versions of NMState refuse it; remove it", mode)
	}
	if o.LACPActive != nil {
		n.dropf(i, option("lacp_active"), "is set, and mode %s has no LACP; use mode 802.3ad or remove it", mode)
	}
}

// checkBondRanges refuses numbers outside the kernel's ranges, and different values for two names of the same option.
func (n *network) checkBondRanges(i *iface, o *nmstate.BondOptions) {
	for _, r := range []struct {
		key      string
		set      bool
		value    uint32
		min, max uint32
	}{
		{"ad_actor_sys_prio", o.ADActorSysPrio != nil, uint32(value(o.ADActorSysPrio)), 1, 65535},
		{"ad_user_port_key", o.ADUserPortKey != nil, uint32(value(o.ADUserPortKey)), 0, 1023},
		{"lp_interval", o.LPInterval != nil, value(o.LPInterval), 1, math.MaxInt32},
		{"packets_per_slave", o.PacketsPerSlave != nil, value(o.PacketsPerSlave), 0, 65535},
		{"resend_igmp", o.ResendIGMP != nil, value(o.ResendIGMP), 0, 255},
	} {
		if r.set && (r.value < r.min || r.value > r.max) {
			n.dropf(i, option(r.key), "is %d; it is from %d to %d", r.value, r.min, r.max)
		}
	}
	if a, b := o.NumGratARP, o.NumUnsolNA; a != nil && b != nil && *a != *b {
		n.dropf(i, option("num_unsol_na"), "is %d, and num_grat_arp, which is the same number, %d", *b, *a)
	}
}

// option is the path of a bond's option within its interface.
func option(key string) string { return "link-aggregation.options." + key }
