package nmconn

import (
	"fmt"
	"regexp"

	"github.com/cluster-network-operator/cno/internal/dayone/nmstate"
)

// maxVLAN is the largest VLAN identifier: 4095 is reserved by IEEE 802.1Q.
const maxVLAN = 4094

func (n *network) checkBridge(i *iface) {
	b := i.LinuxBridge
	if i.mac == "" {
		n.warnf(i, "mac-address", "is missing; NetworkManager makes one up, and a DHCP server may not know it. Write it, or copy-mac-from")
	}
	if b == nil || b.Options == nil || b.Options.STP == nil || b.Options.STP.Enabled == nil {
		n.warnf(i, "bridge.options.stp.enabled", "is missing; NetworkManager then turns STP on, and ports pass nothing for 15 to 30 seconds")
	}
	if b == nil {
		return
	}
	if o := b.Options; o != nil {
		n.checkBridgeOptions(i, o)
		if v := o.VLANDefaultPVID; v != nil && *v != 1 && !filtersVLANs(b) {
			n.errorf(i, "bridge.options.vlan-default-pvid", "is %d, and no port has a vlan, so nothing is filtered; give a port its vlan or remove this", *v)
		}
	}
	for idx, p := range b.Port {
		n.checkPortVLAN(i, fmt.Sprintf("bridge.port[%d].vlan", idx), p.VLAN)
	}
}

// groupAddress are the link-local addresses that IEEE 802.1D leaves to bridges.
var groupAddress = regexp.MustCompile(`^01:80:C2:00:00:0[04-9A-F]$`)

func (n *network) checkBridgeOptions(i *iface, o *nmstate.LinuxBridgeOptions) {
	if a, b := o.GroupForwardMask, o.GroupFwdMask; a != nil && b != nil && *a != *b {
		n.errorf(i, "bridge.options.group-fwd-mask", "is %d, and group-forward-mask, which is the same option, %d", *b, *a)
	}
	if o.GroupAddr != "" {
		if mac, ok := nmstate.MAC(o.GroupAddr); !ok {
			n.errorf(i, "bridge.options.group-addr", "is %q, which is not a MAC address", o.GroupAddr)
		} else if !groupAddress.MatchString(mac) {
			n.dropf(i, "bridge.options.group-addr", "is %s; it is 01:80:C2:00:00:00, or one that ends in 04 to 0F", mac)
		}
	}
	if o.STP == nil {
		return
	}
	for _, r := range []struct {
		key      string
		value    *uint8
		min, max uint8
	}{{"forward-delay", o.STP.ForwardDelay, 2, 30}, {"hello-time", o.STP.HelloTime, 1, 10}, {"max-age", o.STP.MaxAge, 6, 40}} {
		if r.value != nil && (*r.value < r.min || *r.value > r.max) {
			n.errorf(i, "bridge.options.stp."+r.key, "is %d seconds; it is from %d to %d", *r.value, r.min, r.max)
		}
	}
}

// checkPortVLAN checks the VLAN filter of a port, of either kind of bridge.
func (n *network) checkPortVLAN(i *iface, at string, v *nmstate.PortVLAN) {
	if v == nil {
		return
	}
	switch {
	case v.Mode == "trunk" && value(v.Tag) != 0 && !nmstate.Is(v.EnableNative):
		n.errorf(i, at+".tag", "is %d on a trunk, where it has a meaning only with enable-native: true", *v.Tag)
	case v.Mode == "access" && nmstate.Is(v.EnableNative):
		n.errorf(i, at+".enable-native", "is for trunks; an access port has only its tag")
	case v.Mode == "access" && len(v.TrunkTags) > 0:
		n.errorf(i, at+".trunk-tags", "are for trunks; an access port has only its tag")
	case v.Mode == "trunk" && v.TrunkTags == nil:
		n.errorf(i, at+".trunk-tags", "are missing; a trunk lists its VLANs")
	}
	if value(v.Tag) > maxVLAN {
		n.errorf(i, at+".tag", "is %d; it is at most %d", *v.Tag, maxVLAN)
	}
	n.checkTrunks(i, at, v.TrunkTags)
	for idx, t := range v.TrunkTags {
		if first, last := t.Range(); nmstate.Is(v.EnableNative) && v.Tag != nil && first <= *v.Tag && *v.Tag <= last {
			n.dropf(i, fmt.Sprintf("%s.trunk-tags[%d]", at, idx), "is %s, which has the native tag %d in it; leave that out", trunk(t), *v.Tag)
		}
	}
}

func (n *network) checkTrunks(i *iface, at string, tags []nmstate.TrunkTag) {
	for idx, t := range tags {
		here := fmt.Sprintf("%s.trunk-tags[%d]", at, idx)
		first, last := t.Range()
		switch {
		case (t.ID == nil) == (t.IDRange == nil):
			n.errorf(i, here, "needs one of id and id-range")
			continue
		case last > maxVLAN || first > last:
			n.errorf(i, here, "is %s; VLANs are from 1 to %d, the smaller number first", trunk(t), maxVLAN)
			continue
		}
		for _, o := range tags[:idx] {
			if f, l := o.Range(); first <= l && f <= last {
				n.errorf(i, here, "is %s, which overlaps with %s", trunk(t), trunk(o))
				break
			}
		}
	}
}
