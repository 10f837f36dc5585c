package nmconn

import (
	"slices"
	"strings"

	"github.com/cluster-network-operator/cno/internal/dayone/nmstate"
	"github.com/cluster-network-operator/cno/internal/suggest"
)

// minMTU6 is the smallest MTU of IPv6, RFC 8200.
const minMTU6 = 1280

// check reports the problems of an interface.
func (n *network) check(i *iface) {
	if !i.declared {
		return
	}
	n.checkBase(i)
	n.checkIP(i)
	n.checkSection(i)
	n.checkParent(i)
	n.checkEthtool(i)
	n.checkEAP(i)
	switch i.Kind() {
	case nmstate.TypeEthernet, nmstate.TypeVeth:
		n.checkSRIOV(i)
	case nmstate.TypeInfiniBand:
		n.checkInfiniBand(i)
	case nmstate.TypeBond:
		n.checkBond(i)
	case nmstate.TypeLinuxBridge:
		n.checkBridge(i)
	case nmstate.TypeOVSBridge:
		n.checkOVSBridge(i)
	case nmstate.TypeOVSInterface:
		n.checkOVSInterface(i)
	}
}

func (n *network) checkBase(i *iface) {
	if i.Type == "" {
		n.warnf(i, "type", "is missing; ethernet is assumed, and a running host would look what %s is", i.Name)
	}
	n.checkIdentifier(i)
	if i.Dispatch != nil {
		n.errorf(i, "dispatch", "has no place in a profile; bring the script to the host some other way")
	}
	if e := i.IEEE8021X; e != nil && (e.Password == hidden || e.PrivateKeyPassword == hidden) {
		n.warnf(i, "802.1x", "has a password that NMState has hidden, and is written without; put the password in")
	}
	if i.MTU != nil && *i.MTU > 1<<32-1 {
		n.errorf(i, "mtu", "is %d, which no interface can have", *i.MTU)
	}
	if i.noMAC() && i.MACAddress != "" {
		n.warnf(i, "mac-address", "is ignored; type %s has none", i.Type)
	}
	if reserved(i.Name) {
		n.warnf(i, "name", "is %q, which the cluster's own network uses; nodes of a cluster must not have it", i.Name)
	}
	if i.controller != nil && i.controller.isController() && i.Type == nmstate.TypeInfiniBand && (i.controller.Bond == nil || i.controller.Bond.Mode != "active-backup") {
		n.errorf(i, "name", "is %q, a port of %s; InfiniBand can only be a port of a bond with mode active-backup", i.Name, i.controller.Name)
	}
}

// reserved reports whether OVN-Kubernetes or OpenShift SDN use the name for their own interfaces.
func reserved(name string) bool {
	for _, p := range []string{"genev_sys_", "k8s-", "ovn-k8s-", "patch-br", "vxlan_sys_"} {
		if strings.HasPrefix(name, p) {
			return true
		}
	}
	return slices.Contains([]string{"br-ext", "br-int", "br-local", "br-nexthop", "br0", "ext-vxlan", "ext", "int", "tun0"}, name)
}

func (n *network) checkIP(i *iface) {
	if i.Up() && !i.mayHaveIP() && !i.ovsBridge() {
		for key, on := range map[string]bool{"ipv4.enabled": i.IPv4.On(), "ipv6.enabled": i.IPv6.On()} {
			if on {
				n.errorf(i, key, "is true, and %s is a port of %s, where addresses belong; move them there", i.Name, i.controller.Name)
			}
		}
	}
	if i.IPv4 != nil {
		n.checkAddresses(i, "ipv4", &i.IPv4.Auto, 32)
	}
	if i.IPv6 != nil {
		n.checkAddresses(i, "ipv6", &i.IPv6.Auto, 128)
		n.checkIPv6(i, i.IPv6)
	}
	if i.IPv6.On() && i.MTU != nil && *i.MTU < minMTU6 {
		n.errorf(i, "mtu", "is %d, and IPv6 needs at least %d; raise it or disable ipv6", *i.MTU, minMTU6)
	}
	if i.Type == nmstate.TypeLoopback {
		n.checkLoopback(i)
	}
	n.checkIPDropped(i)
}

func (n *network) checkEthtool(i *iface) {
	if i.Ethtool == nil {
		return
	}
	for name := range i.Ethtool.Feature {
		if slices.Contains(features(), featureName(name)) {
			continue
		}
		if best, ok := suggest.Closest(name, features(), 2); ok {
			n.errorf(i, "ethtool.feature."+name, "is no feature that NetworkManager knows; was %s meant?", best)
			continue
		}
		n.errorf(i, "ethtool.feature."+name, "is no feature that NetworkManager knows")
	}
}

func (n *network) checkSRIOV(i *iface) {
	if i.Ethernet == nil || i.Ethernet.SRIOV == nil {
		return
	}
	seen := map[uint32]bool{}
	for _, vf := range i.Ethernet.SRIOV.VFs {
		if seen[vf.ID] {
			n.errorf(i, "ethernet.sr-iov.vfs", "has function %d twice", vf.ID)
		}
		seen[vf.ID] = true
		if vf.VLANProto == "802.1ad" && value(vf.VLANID) == 0 && value(vf.QoS) == 0 {
			n.errorf(i, "ethernet.sr-iov.vfs", "gives function %d vlan-proto 802.1ad without vlan-id or qos", vf.ID)
		}
		if vf.MACAddress != "" {
			if _, ok := nmstate.MAC(vf.MACAddress); !ok {
				n.errorf(i, "ethernet.sr-iov.vfs", "gives function %d the MAC address %q, which is not valid", vf.ID, vf.MACAddress)
			}
		}
	}
}
