package netlinkovs

import (
	"fmt"

	"github.com/cluster-network-operator/cno/internal/dayone/livestate"
	"github.com/cluster-network-operator/cno/internal/dayone/nmstate"
)

// creation returns the parameters for creating a missing link; nil if the link cannot be created, or Open vSwitch creates it.
func creation(i *nmstate.Interface) *livestate.Link {
	l := &livestate.Link{Name: i.Name, Kind: string(i.Kind()), Parent: i.Parent()}
	switch {
	case i.Veth != nil:
		l.Kind, l.Peer = string(nmstate.TypeVeth), i.Veth.Peer
	case i.Bond != nil:
		l.Bond = &livestate.Bond{Mode: i.Bond.Mode, Options: bondOptionsOf(i.Bond.Options)}
	case i.VLAN != nil:
		l.VLAN = &livestate.VLAN{ID: int(i.VLAN.ID), Protocol: string(i.VLAN.Protocol)}
	case i.VXLAN != nil:
		l.VXLAN = &livestate.VXLAN{ID: int(i.VXLAN.ID), Remote: i.VXLAN.Remote}
		if i.VXLAN.DestinationPort != nil {
			l.VXLAN.Port = int(*i.VXLAN.DestinationPort)
		}
	case i.VRF != nil:
		l.VRF = &livestate.VRF{}
		if i.VRF.RouteTableID != nil {
			l.VRF.Table = *i.VRF.RouteTableID
		}
	case i.Kind() == nmstate.TypeLinuxBridge:
		l.Bridge = &livestate.LinuxBridge{}
		if b := i.LinuxBridge; b != nil && b.Options != nil && b.Options.STP != nil {
			l.Bridge.STP = nmstate.Is(b.Options.STP.Enabled)
		}
	case i.MACVLAN != nil:
		l.MACVLAN = i.MACVLAN.Mode
	case i.Kind() == nmstate.TypeDummy:
	default:
		return nil
	}
	return l
}

func bondOptionsOf(o *nmstate.BondOptions) map[string]string {
	out := map[string]string{}
	if o == nil {
		return out
	}
	for key, n := range map[string]*uint32{"miimon": o.MIIMon, "updelay": o.UpDelay, "downdelay": o.DownDelay, "min_links": o.MinLinks, "arp_interval": o.ARPInterval} {
		if n != nil {
			out[key] = number(*n)
		}
	}
	for key, word := range map[string]string{
		"fail_over_mac": o.FailOverMAC, "lacp_rate": o.LACPRate, "xmit_hash_policy": o.XmitHashPolicy,
		"arp_ip_target": o.ARPIPTarget, "primary": o.Primary, "primary_reselect": o.PrimaryReselect,
	} {
		if word != "" {
			out[key] = word
		}
	}
	return out
}

// Unsupported returns an error for each setting of a document that this backend does not support. The backend for NetworkManager supports them.
func Unsupported(doc *nmstate.Document) []error {
	var failures []error
	for n := range doc.Interfaces {
		i := &doc.Interfaces[n]
		if !i.Up() {
			continue
		}
		for _, what := range unsupportedOf(i) {
			failures = append(failures, fmt.Errorf("interfaces[%d] (%s): %s cannot be applied on a host without NetworkManager", n, i.Name, what))
		}
	}
	for n, r := range doc.Routes.GetConfig() {
		if !r.Absent() && (r.MTU != nil || r.CWND != nil || r.InitCWND != nil || r.InitRWND != nil || r.QuickACK != nil || r.AdvMSS != nil) {
			failures = append(failures, fmt.Errorf("routes.config[%d]: mtu, cwnd, initcwnd, initrwnd, quickack and advmss cannot be applied on a host without NetworkManager", n))
		}
	}
	return failures
}

func unsupportedOf(i *nmstate.Interface) []string {
	var out []string
	add := func(when bool, what string) {
		if when {
			out = append(out, what)
		}
	}
	switch i.Kind() {
	case nmstate.TypeInfiniBand, nmstate.TypeMACsec, nmstate.TypeHSR, nmstate.TypeIPVLAN, nmstate.TypeMACVTAP:
		add(true, "type "+string(i.Kind()))
	}
	add(i.IEEE8021X != nil, "802.1x")
	add(i.Ethtool != nil, "ethtool")
	add(i.Ethernet != nil, "ethernet")
	add(i.LLDP != nil && i.LLDP.Enabled, "lldp")
	add(i.MPTCP != nil, "mptcp")
	add(i.Dispatch != nil, "dispatch")
	add(i.AcceptAllMACAddresses != nil, "accept-all-mac-addresses")
	add(i.IPv6.On() && nmstate.Is(i.IPv6.DHCP) && !nmstate.Is(i.IPv6.Autoconf), "ipv6.dhcp without autoconf")
	add(i.IPv6 != nil && i.IPv6.Token != "", "ipv6.token")
	if b := i.LinuxBridge; b != nil {
		add(otherBridgeOptions(b.Options), "a bridge option other than stp.enabled")
		for _, p := range b.Port {
			add(!p.VLAN.Empty() || p.STPHairpinMode != nil || p.STPPathCost != nil || p.STPPriority != nil, "an option of bridge port "+p.Name)
		}
	}
	if i.Bond != nil && i.Bond.Options != nil {
		set := *i.Bond.Options
		set.MIIMon, set.UpDelay, set.DownDelay, set.MinLinks, set.FailOverMAC, set.LACPRate, set.XmitHashPolicy = nil, nil, nil, nil, "", "", ""
		set.ARPInterval, set.ARPIPTarget, set.Primary, set.PrimaryReselect = nil, "", "", ""
		add(!set.Empty(), "a bond option other than miimon, updelay, downdelay, arp_interval, arp_ip_target, primary, primary_reselect, min_links, fail_over_mac, lacp_rate, xmit_hash_policy")
	}
	return out
}

func otherBridgeOptions(o *nmstate.LinuxBridgeOptions) bool {
	if o == nil {
		return false
	}
	rest := *o
	if rest.STP != nil && rest.STP.ForwardDelay == nil && rest.STP.HelloTime == nil && rest.STP.MaxAge == nil && rest.STP.Priority == nil {
		rest.STP = nil
	}
	return rest != nmstate.LinuxBridgeOptions{}
}
