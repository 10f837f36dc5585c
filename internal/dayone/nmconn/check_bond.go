package nmconn

import (
	"fmt"
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
	at := func(key string) string { return "link-aggregation.options." + key }
	if i.mac != "" && mode == "active-backup" && o.FailOverMAC == "active" {
		n.errorf(i, "mac-address", "is %s, and with fail_over_mac active the bond has the MAC address of its active port; remove one", i.mac)
	}
	if value(o.MIIMon) > 0 && value(o.ARPInterval) > 0 {
		n.errorf(i, at("arp_interval"), "is %d, and miimon %d; a bond watches its links in one of these ways", *o.ARPInterval, *o.MIIMon)
	}
	if strings.HasPrefix(strings.ToUpper(o.ADActorSystem), "01:00:5E") {
		n.errorf(i, at("ad_actor_system"), "is %s, a multicast address; write one of a station", o.ADActorSystem)
	}
	if nmstate.Is(o.BalanceSLB) && (mode != "balance-xor" || o.XmitHashPolicy != "vlan+srcmac") {
		n.errorf(i, at("balance-slb"), "needs mode balance-xor and xmit_hash_policy vlan+srcmac")
	}
	// What follows NMState lets pass, and NetworkManager refuses when it is too late.
	for key, delay := range map[string]*uint32{"updelay": o.UpDelay, "downdelay": o.DownDelay} {
		if value(delay) > 0 && value(o.MIIMon) == 0 {
			n.errorf(i, at(key), "is %d, and has no meaning without miimon; set miimon, for example to 100", *delay)
		}
	}
	if o.ARPIPTarget != "" && value(o.ARPInterval) == 0 {
		n.errorf(i, at("arp_ip_target"), "is %q, and has no meaning without arp_interval", o.ARPIPTarget)
	}
	if value(o.ARPInterval) > 0 && o.ARPIPTarget == "" && o.NSIP6Target == "" {
		n.errorf(i, at("arp_interval"), "is %d, and needs arp_ip_target", *o.ARPInterval)
	}
}
