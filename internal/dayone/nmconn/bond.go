package nmconn

import (
	"slices"
	"strings"

	"github.com/cluster-network-operator/cno/internal/dayone/nmstate"
)

// writeBond writes the bond's options, which have the kernel's names in NetworkManager too.
func (i *iface) writeBond(k keyfile) {
	k.section("bond")
	k.set("bond", "mode", i.Bond.Mode)
	o := i.Bond.Options
	if o == nil {
		return
	}
	for key, v := range map[string]any{
		"ad_actor_sys_prio": o.ADActorSysPrio, "ad_actor_system": strings.ToUpper(o.ADActorSystem), "ad_select": o.ADSelect,
		"ad_user_port_key": o.ADUserPortKey, "arp_all_targets": o.ARPAllTargets, "arp_interval": o.ARPInterval,
		"arp_ip_target": o.ARPIPTarget, "arp_validate": o.ARPValidate, "balance-slb": digit(o.BalanceSLB),
		"downdelay": o.DownDelay, "fail_over_mac": o.FailOverMAC, "lacp_active": digit(o.LACPActive),
		"lacp_rate": o.LACPRate, "lp_interval": o.LPInterval, "miimon": o.MIIMon, "min_links": o.MinLinks,
		"ns_ip6_target": strings.Join(o.NSIP6Target, ","), "num_grat_arp": o.NumGratARP, "num_unsol_na": o.NumUnsolNA,
		"packets_per_slave": o.PacketsPerSlave, "primary": o.Primary, "primary_reselect": o.PrimaryReselect,
		"resend_igmp": o.ResendIGMP, "tlb_dynamic_lb": digit(o.TLBDynamicLB), "updelay": o.UpDelay,
		"use_carrier": digit(o.UseCarrier), "xmit_hash_policy": o.XmitHashPolicy,
	} {
		k.set("bond", key, v)
	}
	if o.AllSlavesActive != "" {
		k.set("bond", "all_slaves_active", slices.Index([]string{"dropped", "delivered"}, o.AllSlavesActive))
	}
	// 2 is the kernel's default, and NetworkManager before 1.42 does not know the option.
	if o.ARPMissedMax != nil && *o.ARPMissedMax != 2 {
		k.set("bond", "arp_missed_max", o.ARPMissedMax)
	}
}

// writeBondPort writes what the bond says about this port, unless that is the default.
func (i *iface) writeBondPort(k keyfile, b *nmstate.Bond) {
	at := slices.IndexFunc(b.PortsConfig, func(p nmstate.BondPort) bool { return p.Name == i.Name })
	if at < 0 {
		return
	}
	p := b.PortsConfig[at]
	if value(p.Priority) == 0 && value(p.QueueID) == 0 {
		return
	}
	k.set("bond-port", "prio", p.Priority)
	k.set("bond-port", "queue-id", p.QueueID)
}
