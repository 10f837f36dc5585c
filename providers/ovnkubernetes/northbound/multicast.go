package northbound

import (
	"fmt"
	"net"
	"net/netip"
	"strings"

	"github.com/cluster-network-operator/cno/internal/host/ovsdb"
	"github.com/cluster-network-operator/cno/providers/ovnkubernetes/topology"
)

// Priorities of access rules for multicast: NetworkPolicies do not apply to it.
const (
	multicastDropPriority  = 1011
	multicastAllowPriority = 1012
)

// multicast matches packets to joined groups, and IPv6 messages about group membership. It does not match IPv6 neighbour discovery.
const multicast = "(ip4.mcast || mldv1 || mldv2 || (ip6.dst[120..127] == 0xff && ip6.dst[116] == 1))"

// multicastNetworks are the addresses of groups.
var multicastNetworks = []netip.Prefix{netip.MustParsePrefix("224.0.0.0/4"), netip.MustParsePrefix("ff00::/8")}

// SetMulticast sets whether the pods of a namespace may send multicast to one another.
func (s *State) SetMulticast(namespace string, enabled bool) {
	if s.multicast[namespace] == enabled {
		return
	}
	if delete(s.multicast, namespace); enabled {
		s.multicast[namespace] = true
	}
	s.touch(multicastUnit, namespace)
}

// multicastRows returns the group of the pods of a namespace with multicast, and the rules that allow multicast between them.
func (s *State) multicastRows(namespace string) []ovsdb.Desired {
	if !s.multicast[namespace] {
		return nil
	}
	key := topology.MulticastKey(namespace)
	group := identifier("p", key)
	var rows []ovsdb.Desired
	received := []string{"igmp", "mldv1", "mldv2"}
	for _, like := range s.families() {
		var members []netip.Addr
		for id := range s.podsOf[namespace] {
			if p := s.pods[id]; s.hasPort(p) {
				for _, a := range p.Addresses {
					if a.Is4() == like.Is4() {
						members = append(members, a)
					}
				}
			}
		}
		set := addressSet(family(like)+" "+key, members)
		rows = append(rows, set)
		received = append(received, fmt.Sprintf("(%s.src == $%s && %s)", family(like), set.Columns["name"], multicast))
	}
	send := rule(key+" send", fromPod, multicastAllowPriority, "allow-related", fmt.Sprintf("inport == @%s && %s", group, multicast))
	receive := rule(key+" receive", toPod, multicastAllowPriority, "allow-related", fmt.Sprintf("outport == @%s && (%s)", group, strings.Join(received, " || ")))
	one := portGroup(group, s.portsOf(s.podsOf[namespace]), send.Ref, receive.Ref)
	one.Key = key
	return append(rows, send, receive, one)
}

// noMulticast returns the rules that drop the multicast of pods in namespaces without multicast.
func noMulticast(group string) []ovsdb.Desired {
	return []ovsdb.Desired{
		rule(topology.NoMulticastKey+" send", fromPod, multicastDropPriority, "drop", fmt.Sprintf("inport == @%s && %s", group, multicast)),
		rule(topology.NoMulticastKey+" receive", toPod, multicastDropPriority, "drop", fmt.Sprintf("outport == @%s && %s", group, multicast)),
	}
}

// snooping returns the settings with which a switch learns the group members among its ports: it queries with the addresses of the router.
func snooping(blocks []netip.Prefix) ovsdb.Map {
	mac := topology.MAC(primary(blocks, topology.RouterAddress))
	out := ovsdb.Map{"mcast_snoop": "true", "mcast_querier": "true", "mcast_eth_src": mac.String()}
	for _, b := range blocks {
		if b.Addr().Is4() {
			out["mcast_ip4_src"] = topology.RouterAddress(b).Addr().String()
		} else {
			out["mcast_ip6_src"] = linkLocal(mac).String()
		}
	}
	return out
}

// linkLocal returns the IPv6 link-local address of a hardware address (RFC 4291, appendix A).
func linkLocal(mac net.HardwareAddr) netip.Addr {
	return netip.AddrFrom16([16]byte{0: 0xfe, 1: 0x80, 8: mac[0] ^ 2, 9: mac[1], 10: mac[2], 11: 0xff, 12: 0xfe, 13: mac[3], 14: mac[4], 15: mac[5]})
}
