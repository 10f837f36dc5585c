package nmconn

import "fmt"

func (n *network) checkOVSBridge(i *iface) {
	if i.MACAddress != "" {
		n.errorf(i, "mac-address", "is %s; a bridge of Open vSwitch has no MAC address, its interface of type ovs-interface has", i.MACAddress)
	}
	if i.MTU != nil {
		n.warnf(i, "mtu", "is ignored; a bridge of Open vSwitch has none, its interface of type ovs-interface has")
	}
	if i.OVSBridge == nil {
		return
	}
	seen := map[string]bool{}
	for idx, p := range i.OVSBridge.Port {
		at := fmt.Sprintf("bridge.port[%d]", idx)
		if seen[p.Name] {
			n.errorf(i, at+".name", "is %q a second time", p.Name)
		}
		seen[p.Name] = true
		n.checkOVSName(i, at+".name", p.Name)
		n.checkPortVLAN(i, at+".vlan", p.VLAN)
		if p.Bond != nil && len(p.Bond.Port) < 2 {
			n.warnf(i, at+".link-aggregation.port", "has fewer than two interfaces, which Open vSwitch does not take for a bond")
		}
	}
}

func (n *network) checkOVSInterface(i *iface) {
	if i.Up() && (i.controller == nil || !i.controller.ovsBridge()) {
		n.errorf(i, "name", "is %q, which is a port of no ovs-bridge; Open vSwitch would never make it. List it in a bridge's ports", i.Name)
	}
	if i.Patch != nil {
		if i.MTU != nil {
			n.errorf(i, "mtu", "is set; a patch between bridges has none")
		}
		if i.IPv4.On() || i.IPv6.On() {
			n.errorf(i, "patch", "cannot have addresses; disable ipv4 and ipv6")
		}
	}
	if i.DPDK == nil {
		return
	}
	for key, v := range map[string]*uint32{"n_rxq_desc": i.DPDK.NRXQDesc, "n_txq_desc": i.DPDK.NTXQDesc} {
		if d := value(v); d > 4096 || d&(d-1) != 0 {
			n.errorf(i, "dpdk."+key, "is %d; a power of two from 1 to 4096 is wanted", d)
		}
	}
}
