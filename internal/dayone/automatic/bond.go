package automatic

import (
	"slices"
	"strconv"

	"github.com/cluster-network-operator/cno/internal/dayone/livestate"
	"github.com/cluster-network-operator/cno/internal/dayone/nmstate"
)

// bondOf is the bond as it is: a switch that is set up for it sees no difference.
func bondOf(l *livestate.Bond) *nmstate.Bond {
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
