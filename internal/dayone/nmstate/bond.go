package nmstate

import "reflect"

// Bond is a bond of interfaces.
type Bond struct {
	// Mode is the kernel's name of the mode; numbers, and lacp for 802.3ad, are also accepted.
	Mode    string       `json:"mode,omitempty" nm:"words=balance-rr|active-backup|balance-xor|broadcast|802.3ad|balance-tlb|balance-alb,numbered,also=lacp:802.3ad"`
	Options *BondOptions `json:"options,omitempty"`
	// Port and PortsConfig both list all ports, and are consistent if both are set. Nil means not set.
	Port        []string   `json:"port,omitempty" nm:"alias=ports"`
	PortsConfig []BondPort `json:"ports-config,omitempty"`
}

// BondPort is the configuration of a bond's port.
type BondPort struct {
	Name     string  `json:"name" nm:"required"`
	Priority *int32  `json:"priority,omitempty"`
	QueueID  *uint16 `json:"queue-id,omitempty"`
}

// Ports returns the names of the ports in the order of the document, and whether it lists ports at all.
func (b *Bond) Ports() (names []string, listed bool) {
	if b == nil {
		return nil, false
	}
	if b.Port != nil {
		return b.Port, true
	}
	for _, p := range b.PortsConfig {
		names = append(names, p.Name)
	}
	return names, b.PortsConfig != nil
}

// BondOptions are the kernel's options by their own names, see Documentation/networking/bonding.rst. Intervals and
// delays are milliseconds.
type BondOptions struct {
	ADActorSysPrio  *uint16 `json:"ad_actor_sys_prio,omitempty"`
	ADActorSystem   string  `json:"ad_actor_system,omitempty"`
	ADSelect        string  `json:"ad_select,omitempty" nm:"words=stable|bandwidth|count,numbered"`
	ADUserPortKey   *uint16 `json:"ad_user_port_key,omitempty"`
	AllSlavesActive string  `json:"all_slaves_active,omitempty" nm:"words=dropped|delivered,numbered"`
	ARPAllTargets   string  `json:"arp_all_targets,omitempty" nm:"words=any|all,numbered"`
	ARPInterval     *uint32 `json:"arp_interval,omitempty"`
	ARPIPTarget     string  `json:"arp_ip_target,omitempty"`
	ARPMissedMax    *uint8  `json:"arp_missed_max,omitempty"`
	ARPValidate     string  `json:"arp_validate,omitempty" nm:"words=none|active|backup|all|filter|filter_active|filter_backup,numbered"`
	BalanceSLB      *bool   `json:"balance-slb,omitempty" nm:"alias=balance_slb"`
	DownDelay       *uint32 `json:"downdelay,omitempty"`
	FailOverMAC     string  `json:"fail_over_mac,omitempty" nm:"words=none|active|follow,numbered"`
	LACPActive      *bool   `json:"lacp_active,omitempty"`
	LACPRate        string  `json:"lacp_rate,omitempty" nm:"words=slow|fast,numbered"`
	LPInterval      *uint32 `json:"lp_interval,omitempty"`
	MIIMon          *uint32 `json:"miimon,omitempty"`
	MinLinks        *uint32 `json:"min_links,omitempty"`
	// NSIP6Target are IPv6 addresses, monitored like ARPIPTarget.
	NSIP6Target     []string `json:"ns_ip6_target,omitempty"`
	NumGratARP      *uint8   `json:"num_grat_arp,omitempty"`
	NumUnsolNA      *uint8   `json:"num_unsol_na,omitempty"`
	PacketsPerSlave *uint32  `json:"packets_per_slave,omitempty"`
	Primary         string   `json:"primary,omitempty"`
	PrimaryReselect string   `json:"primary_reselect,omitempty" nm:"words=always|better|failure,numbered"`
	ResendIGMP      *uint32  `json:"resend_igmp,omitempty"`
	TLBDynamicLB    *bool    `json:"tlb_dynamic_lb,omitempty"`
	UpDelay         *uint32  `json:"updelay,omitempty"`
	UseCarrier      *bool    `json:"use_carrier,omitempty"`
	XmitHashPolicy  string   `json:"xmit_hash_policy,omitempty" nm:"words=layer2|layer3+4|layer2+3|encap2+3|encap3+4|vlan+srcmac,numbered"`
}

// Empty reports whether no option is set.
func (o BondOptions) Empty() bool { return reflect.ValueOf(o).IsZero() }
