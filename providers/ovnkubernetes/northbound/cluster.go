package northbound

import (
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"strings"

	"github.com/cluster-network-operator/cno/internal/host/ovsdb"
	"github.com/cluster-network-operator/cno/providers/ovnkubernetes/topology"
)

const (
	clusterGroup     = "clusterPortGroup"
	clusterBalancers = "clusterLBGroup"
	// reroute is the priority of the policies that direct egress traffic to the node.
	reroute = 1004
)

// hairpin are the source addresses that a pod sees when it connects to itself through a Service.
var hairpin = []netip.Addr{netip.MustParseAddr("169.254.169.5"), netip.MustParseAddr("fd69::5")}

// switched returns the sorted names of nodes with a switch.
func (s *State) switched() []string {
	names := slices.Sorted(maps.Keys(s.nodes))
	return slices.DeleteFunc(names, func(n string) bool { return len(s.nodes[n].Blocks) == 0 })
}

func (s *State) hasSwitch(node string) bool { return len(s.nodes[node].Blocks) > 0 }

// routerRows returns the router and its default routes. A packet needs a route to reach the policies, which then decide: it does not matter which node's
// address the route has.
func (s *State) routerRows() []ovsdb.Desired {
	ports, policies, routes := ovsdb.Set{}, ovsdb.Set{}, ovsdb.Set{}
	var rows []ovsdb.Desired
	for _, name := range s.switched() {
		ports = append(ports, ovsdb.Ref{Table: tableRouterPort, Key: topology.RouterPort(name)})
		for _, block := range s.nodes[name].Blocks {
			policies = append(policies, ovsdb.Ref{Table: tablePolicy, Key: policyKey(name, block.Addr())})
			route := ovsdb.Ref{Table: tableRoute, Key: "default " + family(block.Addr())}
			if slices.Contains(routes, any(route)) {
				continue
			}
			routes = append(routes, route)
			rows = append(rows, ovsdb.Desired{Ref: route, Columns: map[string]any{
				"ip_prefix": netip.PrefixFrom(zero(block.Addr()), 0).String(), "nexthop": topology.ManagementAddress(block).Addr().String(),
			}})
		}
	}
	return append(rows, ovsdb.Desired{Ref: ovsdb.Ref{Table: tableRouter, Key: topology.ClusterRouter}, Columns: map[string]any{
		"name": topology.ClusterRouter, "ports": ports, "policies": policies, "static_routes": routes,
		// The router relays multicast to the switches of all nodes with members of the group.
		"options": ovsdb.Map{"mcast_relay": "true"},
	}})
}

func zero(a netip.Addr) netip.Addr {
	if a.Is4() {
		return netip.IPv4Unspecified()
	}
	return netip.IPv6Unspecified()
}

// family returns the IP family of an address as used in matches.
func family(a netip.Addr) string {
	if a.Is4() {
		return "ip4"
	}
	return "ip6"
}

func policyKey(node string, a netip.Addr) string { return node + " " + family(a) }

// nodeRows returns a node's switch with the ports to the router and to the node, the router's port, and the policies for egress traffic.
func (s *State) nodeRows(name string) []ovsdb.Desired {
	if !s.hasSwitch(name) {
		return nil
	}
	n := s.nodes[name]
	var networks ovsdb.Set
	management := []string{topology.MAC(primary(n.Blocks, topology.ManagementAddress)).String()}
	var sources []string
	for _, block := range n.Blocks {
		address := topology.ManagementAddress(block).Addr()
		networks = append(networks, topology.RouterAddress(block).String())
		management = append(management, address.String())
		sources = append(sources, fmt.Sprintf("%s.src == %s", family(address), address))
	}
	router, node := ovsdb.Map{"router-port": topology.RouterPort(name)}, ovsdb.Map{"requested-chassis": name}
	requestPortKey(router, primary(n.Blocks, topology.RouterAddress))
	requestPortKey(node, primary(n.Blocks, topology.ManagementAddress))
	rows := []ovsdb.Desired{
		{Ref: ovsdb.Ref{Table: tableRouterPort, Key: topology.RouterPort(name)}, Columns: map[string]any{
			"name": topology.RouterPort(name), "mac": topology.MAC(primary(n.Blocks, topology.RouterAddress)).String(), "networks": networks,
		}},
		port(topology.SwitchPort(name), map[string]any{
			"type": "router", "addresses": ovsdb.Set{"router"}, "options": router,
		}),
		port(topology.ManagementPort(name), map[string]any{
			"type": "", "addresses": ovsdb.Set{strings.Join(management, " ")}, "options": node,
		}),
		// The node always reaches its own pods regardless of policies, for probes.
		rule(topology.NodeKey(name), "to-lport", allowPriority, "allow-related", strings.Join(sources, " || ")),
	}
	own, limits := ovsdb.Set{rows[1].Ref, rows[2].Ref}, ovsdb.Set{}
	for id := range s.podsOn[name] {
		if s.hasPort(s.pods[id]) {
			own = append(own, podPort(id))
			for _, l := range limitRows(s.pods[id]) {
				limits = append(limits, l.Ref)
			}
		}
	}
	rows = append(rows, s.leaving(n)...)
	config := subnets(n.Blocks)
	maps.Copy(config, snooping(n.Blocks))
	requestSwitchKey(config, n.Blocks)
	return append(rows, ovsdb.Desired{Ref: ovsdb.Ref{Table: tableSwitch, Key: name}, Columns: map[string]any{
		"name": topology.Switch(name), "ports": own, "qos_rules": limits, "acls": ovsdb.Set{rows[3].Ref}, "other_config": config,
		"load_balancer_group": ovsdb.Set{ovsdb.Ref{Table: tableBalancers, Key: clusterBalancers}}, "load_balancer": s.localBalancers(name),
	}})
}

// primary returns the address that determines the hardware address of a port: that in the first block, which stays if a second family is added or removed.
func primary(blocks []netip.Prefix, of func(netip.Prefix) netip.Prefix) netip.Addr {
	return of(blocks[0]).Addr()
}

// subnets returns informative settings: OVN assigns no addresses.
func subnets(blocks []netip.Prefix) ovsdb.Map {
	config := ovsdb.Map{}
	for _, b := range blocks {
		if b.Addr().Is4() {
			config["subnet"] = b.String()
		} else {
			config["ipv6_prefix"] = b.Addr().String()
		}
	}
	return config
}

// leaving returns the policies that direct egress traffic to the node of its origin.
func (s *State) leaving(n Node) []ovsdb.Desired {
	var rows []ovsdb.Desired
	for _, block := range n.Blocks {
		// Multicast stays between the switches.
		inside := append(ofFamily(s.cluster.Networks, block.Addr()), ofFamily(multicastNetworks, block.Addr())...)
		match := fmt.Sprintf("inport == %q && %s.dst != %s", topology.RouterPort(n.Name), family(block.Addr()), list(inside))
		rows = append(rows, ovsdb.Desired{Ref: ovsdb.Ref{Table: tablePolicy, Key: policyKey(n.Name, block.Addr())}, Columns: map[string]any{
			"priority": reroute, "match": match, "action": "reroute", "nexthops": ovsdb.Set{topology.ManagementAddress(block).Addr().String()},
		}})
	}
	return rows
}

func ofFamily(prefixes []netip.Prefix, a netip.Addr) []netip.Prefix {
	return slices.DeleteFunc(slices.Clone(prefixes), func(p netip.Prefix) bool { return p.Addr().Is4() != a.Is4() })
}

// list returns prefixes as a set for a match.
func list(prefixes []netip.Prefix) string {
	texts := make([]string, len(prefixes))
	for i, p := range prefixes {
		texts[i] = p.String()
	}
	return "{" + strings.Join(texts, ", ") + "}"
}

// groupRows returns the group of all pods. Its rule lets a pod connect to itself through a Service regardless of policies.
func (s *State) groupRows() []ovsdb.Desired {
	var sources []string
	for _, a := range hairpin {
		sources = append(sources, fmt.Sprintf("%s.src == %s", family(a), a))
	}
	hairpinRule := rule(topology.HairpinKey, "to-lport", allowPriority, "allow-related", fmt.Sprintf("outport == @%s && (%s)", clusterGroup, strings.Join(sources, " || ")))
	ports := ovsdb.Set{}
	for id, p := range s.pods {
		if s.hasPort(p) {
			ports = append(ports, podPort(id))
		}
	}
	closed := noMulticast(clusterGroup)
	return append(closed, hairpinRule, portGroup(clusterGroup, ports, hairpinRule.Ref, closed[0].Ref, closed[1].Ref))
}

func port(name string, columns map[string]any) ovsdb.Desired {
	columns["name"] = name
	return ovsdb.Desired{Ref: ovsdb.Ref{Table: tablePort, Key: name}, Columns: columns}
}

func portGroup(name string, ports ovsdb.Set, rules ...ovsdb.Ref) ovsdb.Desired {
	acls := ovsdb.Set{}
	for _, r := range rules {
		acls = append(acls, r)
	}
	return ovsdb.Desired{Ref: ovsdb.Ref{Table: tablePortGroup, Key: name}, Columns: map[string]any{"name": name, "ports": ports, "acls": acls}}
}
