package nmconn

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/cluster-network-operator/cno/internal/dayone/nmstate"
)

func (i *iface) writeBridge(k keyfile) {
	k.section("bridge")
	b := i.LinuxBridge
	if b == nil {
		return
	}
	if o := b.Options; o != nil {
		writeBridgeOptions(k, o)
	}
	if b.Port != nil {
		k.set("bridge", "vlan-filtering", filtersVLANs(b))
	}
}

func writeBridgeOptions(k keyfile, o *nmstate.LinuxBridgeOptions) {
	mask := o.GroupFwdMask
	if mask == nil {
		mask = o.GroupForwardMask
	}
	for key, v := range map[string]any{
		"ageing-time": o.MACAgeingTime, "group-address": canonicalMAC(o.GroupAddr), "group-forward-mask": mask,
		"multicast-hash-max": o.HashMax, "multicast-last-member-count": o.MulticastLastMemberCount,
		"multicast-last-member-interval": o.MulticastLastMemberInterval,
		"multicast-membership-interval":  o.MulticastMembershipInterval,
		"multicast-querier":              o.MulticastQuerier, "multicast-querier-interval": o.MulticastQuerierInterval,
		"multicast-query-interval":          o.MulticastQueryInterval,
		"multicast-query-response-interval": o.MulticastQueryResponseInterval,
		"multicast-query-use-ifaddr":        o.MulticastQueryUseIfaddr, "multicast-router": o.MulticastRouter,
		"multicast-snooping": o.MulticastSnooping, "multicast-startup-query-count": o.MulticastStartupQueryCount,
		"multicast-startup-query-interval": o.MulticastStartupQueryInterval,
		"vlan-default-pvid":                o.VLANDefaultPVID,
		"vlan-protocol":                    strings.Replace(string(o.VLANProtocol), "802.1q", "802.1Q", 1),
	} {
		k.set("bridge", key, v)
	}
	if s := o.STP; s != nil {
		k.set("bridge", "stp", s.Enabled)
		k.set("bridge", "forward-delay", s.ForwardDelay)
		k.set("bridge", "hello-time", s.HelloTime)
		k.set("bridge", "max-age", s.MaxAge)
		k.set("bridge", "priority", s.Priority)
	}
}

// canonicalMAC is a MAC address in NetworkManager's form; empty for text that is none.
func canonicalMAC(s string) string {
	mac, ok := nmstate.MAC(s)
	if !ok {
		return ""
	}
	return mac
}

// filtersVLANs reports whether any port of the bridge has a filter.
func filtersVLANs(b *nmstate.LinuxBridge) bool {
	return slices.ContainsFunc(b.Port, func(p nmstate.LinuxBridgePort) bool { return !p.VLAN.Empty() })
}

// writeBridgePort writes what the bridge says about this port. A port that only names its controller has nothing.
func (i *iface) writeBridgePort(k keyfile, b *nmstate.LinuxBridge) {
	if b == nil {
		return
	}
	at := slices.IndexFunc(b.Port, func(p nmstate.LinuxBridgePort) bool { return p.Name == i.Name })
	if at < 0 {
		return
	}
	p := b.Port[at]
	// NMState looks ports up by the profile's interface-name, which one found by its MAC address does not have. It loses what
	// the bridge says about such a port; here only the empty section stays away.
	if !i.Found() {
		k.section("bridge-port")
	}
	k.set("bridge-port", "hairpin-mode", p.STPHairpinMode)
	k.set("bridge-port", "path-cost", p.STPPathCost)
	k.set("bridge-port", "priority", p.STPPriority)
	k.set("bridge-port", "vlans", portVLANs(p.VLAN))
}

// portVLANs lists a port's VLANs in order of their numbers.
func portVLANs(v *nmstate.PortVLAN) string {
	if v == nil {
		return ""
	}
	tags, native := []nmstate.TrunkTag(nil), ""
	if v.Mode == "trunk" {
		tags = slices.Clone(v.TrunkTags)
	}
	if v.Tag != nil && v.Mode != "" {
		tags = append(tags, nmstate.TrunkTag{ID: v.Tag})
		native = trunk(tags[len(tags)-1])
	}
	out := trunks(tags)
	if i := slices.Index(out, native); i >= 0 {
		out[i] += " pvid untagged"
	}
	return strings.Join(out, ",")
}

// trunks writes VLANs in order of their numbers.
func trunks(tags []nmstate.TrunkTag) (out []string) {
	sorted := slices.SortedStableFunc(slices.Values(tags), func(a, b nmstate.TrunkTag) int {
		first, _ := a.Range()
		second, _ := b.Range()
		return cmp.Compare(first, second)
	})
	for _, t := range sorted {
		out = append(out, trunk(t))
	}
	return out
}

func trunk(t nmstate.TrunkTag) string {
	first, last := t.Range()
	if first == last {
		return fmt.Sprint(first)
	}
	return fmt.Sprintf("%d-%d", first, last)
}
