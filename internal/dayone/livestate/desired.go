package livestate

import (
	"net/netip"
	"slices"
	"strconv"

	"github.com/cluster-network-operator/cno/internal/dayone/nmstate"
)

// Desired returns the bond's current configuration, so that a switch needs no other one.
func (l *Bond) Desired() *nmstate.Bond {
	o := nmstate.BondOptions{
		FailOverMAC: l.Options["fail_over_mac"], LACPRate: l.Options["lacp_rate"], XmitHashPolicy: l.Options["xmit_hash_policy"],
		ARPIPTarget: l.Options["arp_ip_target"], Primary: l.Options["primary"], PrimaryReselect: l.Options["primary_reselect"],
	}
	for key, into := range map[string]**uint32{
		"miimon": &o.MIIMon, "updelay": &o.UpDelay, "downdelay": &o.DownDelay, "arp_interval": &o.ARPInterval, "min_links": &o.MinLinks,
	} {
		if n, err := strconv.ParseUint(l.Options[key], 10, 32); err == nil {
			number := uint32(n)
			*into = &number
		}
	}
	b := &nmstate.Bond{Mode: l.Mode, Port: slices.Clone(l.Ports)}
	if !o.Empty() {
		b.Options = &o
	}
	return b
}

// Desired returns the parts of a rule that a document can express.
func (r Rule) Desired() nmstate.RouteRule {
	priority := int64(r.Priority)
	out := nmstate.RouteRule{
		Family: "ipv4", IPFrom: network(r.From), IPTo: network(r.To), Priority: &priority, IIF: r.Interface, Action: nmstate.Special(r.Action),
	}
	if r.Family == 6 {
		out.Family = "ipv6"
	}
	if r.Table != 0 {
		table := uint32(r.Table)
		out.RouteTable = &table
	}
	if r.Mark != 0 || r.Mask != 0 {
		out.FWMark, out.FWMask = &r.Mark, &r.Mask
	}
	if r.SuppressPrefixLength >= 0 {
		length := uint32(r.SuppressPrefixLength)
		out.SuppressPrefixLength = &length
	}
	return out
}

func network(p netip.Prefix) string {
	if !p.IsValid() {
		return ""
	}
	return p.String()
}
