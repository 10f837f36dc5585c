package ovnkubernetes

import (
	"encoding/json"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	osv1 "github.com/openshift/api/operator/v1"

	operatorv1 "github.com/cluster-network-operator/cno/api/operator/v1"
	"github.com/cluster-network-operator/cno/internal/facts"
	"github.com/cluster-network-operator/cno/internal/pipeline"
)

// with is a network with settings.
func with(change func(*osv1.OVNKubernetesConfig)) *operatorv1.NetworkSpec {
	return network(func(s *operatorv1.NetworkSpec) {
		s.DefaultNetwork.OVNKubernetesConfig = &osv1.OVNKubernetesConfig{}
		change(s.DefaultNetwork.OVNKubernetesConfig)
	})
}

// dual is a network with both families and settings.
func dual(change func(*osv1.OVNKubernetesConfig)) *operatorv1.NetworkSpec {
	spec := with(change)
	spec.ClusterNetwork = append(spec.ClusterNetwork, operatorv1.ClusterNetworkEntry{CIDR: "fd01::/48", HostPrefix: 64})
	spec.ServiceNetwork = append(spec.ServiceNetwork, "fd02::/112")
	return spec
}

// alone is a network with only IPv6 and settings.
func alone(change func(*osv1.OVNKubernetesConfig)) *operatorv1.NetworkSpec {
	spec := dual(change)
	spec.ClusterNetwork, spec.ServiceNetwork = spec.ClusterNetwork[1:], spec.ServiceNetwork[1:]
	return spec
}

// sixFirst is a network with both families, IPv6 first, and settings.
func sixFirst(change func(*osv1.OVNKubernetesConfig)) *operatorv1.NetworkSpec {
	spec := dual(change)
	slices.Reverse(spec.ClusterNetwork)
	slices.Reverse(spec.ServiceNetwork)
	return spec
}

// pools is a network with some pools, each a CIDR and a length.
func pools(entries ...operatorv1.ClusterNetworkEntry) *operatorv1.NetworkSpec {
	return network(func(s *operatorv1.NetworkSpec) { s.ClusterNetwork = entries })
}

func TestValidateAcceptsWhatCanBeInstalled(t *testing.T) {
	for why, spec := range map[string]*operatorv1.NetworkSpec{
		"no settings":                  network(nil),
		"an empty object":              with(func(*osv1.OVNKubernetesConfig) {}),
		"several pools":                pools(operatorv1.ClusterNetworkEntry{CIDR: "10.0.0.0/16", HostPrefix: 24}, operatorv1.ClusterNetworkEntry{CIDR: "10.2.0.0/16", HostPrefix: 26}),
		"the smallest pool":            pools(operatorv1.ClusterNetworkEntry{CIDR: "10.0.0.0/28", HostPrefix: 29}),
		"pools that other rules check": pools(operatorv1.ClusterNetworkEntry{CIDR: "x", HostPrefix: 99}, operatorv1.ClusterNetworkEntry{CIDR: "fd00::/48", HostPrefix: 64}, operatorv1.ClusterNetworkEntry{CIDR: "10.0.0.0/16", HostPrefix: 8}),
		"the least and the most":       with(func(c *osv1.OVNKubernetesConfig) { c.MTU, c.GenevePort = new(uint32(minMTU)), new(uint32(65535)) }),
		"what is built, written out": with(func(c *osv1.OVNKubernetesConfig) {
			c.GatewayConfig = &osv1.GatewayConfig{RoutingViaHost: true, IPForwarding: osv1.IPForwardingGlobal, IPv4: osv1.IPv4GatewayConfig{InternalMasqueradeSubnet: "169.254.169.0/29"}}
			c.IPsecConfig, c.RouteAdvertisements = &osv1.IPsecConfig{Mode: osv1.IPsecModeDisabled}, osv1.RouteAdvertisementsDisabled
		}),
		"what the API server fills in": with(func(c *osv1.OVNKubernetesConfig) {
			c.PolicyAuditConfig = &osv1.PolicyAuditConfig{RateLimit: new(uint32(20)), MaxFileSize: new(uint32(50)), MaxLogFiles: new(int32(5)), Destination: "null", SyslogFacility: "local0"}
		}),
		"audit messages to a syslog elsewhere": auditing(osv1.PolicyAuditConfig{RateLimit: new(uint32(1)), MaxFileSize: new(uint32(1)), MaxLogFiles: new(int32(1)), Destination: "udp:[2001:db8::1]:514", SyslogFacility: "kern"}),
		"audit messages to a socket":           auditing(osv1.PolicyAuditConfig{Destination: "unix:/run/systemd/journal/dev-log"}),
		"audit messages to the C library":      auditing(osv1.PolicyAuditConfig{Destination: "libc"}),
		"both families":                        dual(func(*osv1.OVNKubernetesConfig) {}),
		"both families, written out": dual(func(c *osv1.OVNKubernetesConfig) {
			c.IPv6 = &osv1.IPv6OVNKubernetesConfig{InternalJoinSubnet: "fd90::/64", InternalTransitSwitchSubnet: "fd91::/64"}
			c.GatewayConfig = &osv1.GatewayConfig{RoutingViaHost: true, IPv6: osv1.IPv6GatewayConfig{InternalMasqueradeSubnet: "fd69::/125"}}
		}),
		"IPv6 alone":                alone(func(*osv1.OVNKubernetesConfig) {}),
		"the smallest pool of IPv6": pools(operatorv1.ClusterNetworkEntry{CIDR: "fd01::/124", HostPrefix: 125}),
		"IPv6 alone, written out": alone(func(c *osv1.OVNKubernetesConfig) {
			c.MTU, c.V6InternalSubnet = new(uint32(minMTU6)), "fd90::/64"
			c.IPv6 = &osv1.IPv6OVNKubernetesConfig{InternalTransitSwitchSubnet: "fd91::/64"}
			c.GatewayConfig = &osv1.GatewayConfig{RoutingViaHost: true, IPv6: osv1.IPv6GatewayConfig{InternalMasqueradeSubnet: "fd69::/125"}}
			c.IPsecConfig = &osv1.IPsecConfig{Mode: osv1.IPsecModeFull}
		}),
		"IPv6 first": sixFirst(func(c *osv1.OVNKubernetesConfig) {
			c.V4InternalSubnet, c.V6InternalSubnet = "100.66.0.0/16", "fd90::/64"
		}),
		"IPv6 first, with collectors": exporting(sixFirst(func(*osv1.OVNKubernetesConfig) {})),
		"a pool where the join subnet is by default": network(func(s *operatorv1.NetworkSpec) {
			s.ClusterNetwork[0].CIDR = "100.64.0.0/14"
			s.DefaultNetwork.OVNKubernetesConfig = &osv1.OVNKubernetesConfig{V4InternalSubnet: "100.72.0.0/16"}
		}),
		"a join subnet with an address more than nodes and three": network(func(s *operatorv1.NetworkSpec) {
			s.ClusterNetwork[0] = operatorv1.ClusterNetworkEntry{CIDR: "10.0.0.0/21", HostPrefix: 24} // 8 nodes
			s.DefaultNetwork.OVNKubernetesConfig = &osv1.OVNKubernetesConfig{IPv4: &osv1.IPv4OVNKubernetesConfig{InternalJoinSubnet: "100.64.0.0/28"}}
		}),
	} {
		if errs := New().Validate(spec); len(errs) > 0 {
			t.Errorf("%s: %v", why, errs.ToAggregate())
		}
	}
	if errs := New().Validate(nil); len(errs) > 0 {
		t.Errorf("nil: %v", errs)
	}
}

// exporting adds a collector of flow records.
func exporting(spec *operatorv1.NetworkSpec) *operatorv1.NetworkSpec {
	spec.ExportNetworkFlows = &osv1.ExportNetworkFlows{NetFlow: &osv1.NetFlowConfig{Collectors: []osv1.IPPort{"192.0.2.10:2055"}}}
	return spec
}

func auditing(a osv1.PolicyAuditConfig) *operatorv1.NetworkSpec {
	return with(func(c *osv1.OVNKubernetesConfig) { c.PolicyAuditConfig = &a })
}

func TestValidateNamesFieldRuleAndWayOut(t *testing.T) {
	gateway := func(g osv1.GatewayConfig) *operatorv1.NetworkSpec {
		return with(func(c *osv1.OVNKubernetesConfig) { c.GatewayConfig = &g })
	}
	four := func(v4 osv1.IPv4OVNKubernetesConfig) *operatorv1.NetworkSpec {
		return with(func(c *osv1.OVNKubernetesConfig) { c.IPv4 = &v4 })
	}
	six := func(v6 osv1.IPv6OVNKubernetesConfig) *operatorv1.NetworkSpec {
		return with(func(c *osv1.OVNKubernetesConfig) { c.IPv6 = &v6 })
	}
	ipsec := func(i osv1.IPsecConfig) *operatorv1.NetworkSpec {
		return with(func(c *osv1.OVNKubernetesConfig) { c.IPsecConfig = &i })
	}
	tiny := func(s *operatorv1.NetworkSpec) *operatorv1.NetworkSpec {
		s.ClusterNetwork[0] = operatorv1.ClusterNetworkEntry{CIDR: "10.0.0.0/21", HostPrefix: 24} // 8 nodes
		return s
	}
	const own = config + "."
	for _, tc := range []struct {
		why, field, rule, message string
		spec                      *operatorv1.NetworkSpec
	}{
		{"a collector without a port", "spec.exportNetworkFlows.netFlow.collectors[1]", "ovn-flow-collectors", "is not the IPv4 address and UDP port of a collector; write for example 192.0.2.10:2055", network(func(s *operatorv1.NetworkSpec) {
			s.ExportNetworkFlows = &osv1.ExportNetworkFlows{NetFlow: &osv1.NetFlowConfig{Collectors: []osv1.IPPort{"192.0.2.10:2055", "192.0.2.11"}}}
		})},
		{"a collector that is every address", "spec.exportNetworkFlows.sFlow.collectors[0]", "ovn-flow-collectors", "is not the IPv4 address", network(func(s *operatorv1.NetworkSpec) {
			s.ExportNetworkFlows = &osv1.ExportNetworkFlows{SFlow: &osv1.SFlowConfig{Collectors: []osv1.IPPort{"0.0.0.0:6343"}}}
		})},
		{"eleven collectors", "spec.exportNetworkFlows.ipfix.collectors", "ovn-flow-collectors", "has 11 collectors; there may be at most 10. Remove the others", network(func(s *operatorv1.NetworkSpec) {
			s.ExportNetworkFlows = &osv1.ExportNetworkFlows{IPFIX: &osv1.IPFIXConfig{Collectors: slices.Repeat([]osv1.IPPort{"192.0.2.10:4739"}, 11)}}
		})},
		{"no block but the first", "spec.clusterNetwork[0].cidr", "ovn-network-size", "at least a /28", pools(operatorv1.ClusterNetworkEntry{CIDR: "10.0.0.0/29", HostPrefix: 30})},
		{"one block, which is the first", "spec.clusterNetwork[0].hostPrefix", "ovn-host-prefix", "between 17 and 29 for a /16", pools(operatorv1.ClusterNetworkEntry{CIDR: "10.0.0.0/16", HostPrefix: 16})},
		{"no address for pods", "spec.clusterNetwork[1].hostPrefix", "ovn-host-prefix", "the router and the node", pools(operatorv1.ClusterNetworkEntry{CIDR: "10.0.0.0/16", HostPrefix: 24}, operatorv1.ClusterNetworkEntry{CIDR: "10.2.0.0/16", HostPrefix: 30})},
		{"less than IPv4 needs", own + "mtu", "ovn-mtu-range", "is out of range; it must be 576 to 65535", with(func(c *osv1.OVNKubernetesConfig) { c.MTU = new(uint32(575)) })},
		{"more than an interface takes", own + "mtu", "ovn-mtu-range", "left out", with(func(c *osv1.OVNKubernetesConfig) { c.MTU = new(uint32(65536)) })},
		{"no port", own + "genevePort", "ovn-geneve-port-range", "is out of range; it must be 1 to 65535", with(func(c *osv1.OVNKubernetesConfig) { c.GenevePort = new(uint32(0)) })},
		{"the gateway that is not built", own + "gatewayConfig.routingViaHost", ruleNotImplemented, "set it to true", gateway(osv1.GatewayConfig{})},
		{"forwarding of some interfaces", own + "gatewayConfig.ipForwarding", ruleNotImplemented, "use Global", gateway(osv1.GatewayConfig{RoutingViaHost: true, IPForwarding: osv1.IPForwardingRestricted})},
		{"a word", own + "gatewayConfig.ipForwarding", "ovn-ip-forwarding", "not a mode of forwarding", gateway(osv1.GatewayConfig{RoutingViaHost: true, IPForwarding: "Sometimes"})},
		{"OpenShift's default", own + "gatewayConfig.ipv4.internalMasqueradeSubnet", ruleNotImplemented, "use 169.254.169.0/29", gateway(osv1.GatewayConfig{RoutingViaHost: true, IPv4: osv1.IPv4GatewayConfig{InternalMasqueradeSubnet: "169.254.0.0/17"}})},
		{"IPv6 without an IPv6 pool", own + "gatewayConfig.ipv6.internalMasqueradeSubnet", ruleSubnetFamily, "leave it out", gateway(osv1.GatewayConfig{RoutingViaHost: true, IPv6: osv1.IPv6GatewayConfig{InternalMasqueradeSubnet: "fd69::/112"}})},
		{"two values of one setting", own + "v4InternalSubnet", "ovn-internal-subnet-alias", "v4InternalSubnet will be deprecated soon, until then it must be same as v4InternalJoinSubnet 100.65.0.0/16", with(func(c *osv1.OVNKubernetesConfig) {
			c.V4InternalSubnet, c.IPv4 = "100.66.0.0/16", &osv1.IPv4OVNKubernetesConfig{InternalJoinSubnet: "100.65.0.0/16"}
		})},
		{"no network", own + "ipv4.internalJoinSubnet", "ovn-internal-subnet-syntax", "v4InternalJoinSubnet is invalid", four(osv1.IPv4OVNKubernetesConfig{InternalJoinSubnet: "100.64.0.0"})},
		{"host bits", own + "ipv4.internalTransitSwitchSubnet", "ovn-internal-subnet-syntax", "did you mean 100.88.0.0/16", four(osv1.IPv4OVNKubernetesConfig{InternalTransitSwitchSubnet: "100.88.0.1/16"})},
		{"the other family", own + "ipv4.internalTransitSwitchSubnet", "ovn-internal-subnet-family", "v4InternalTransitSwitchSubnet fd97::/64 and ClusterNetwork must have matching IP families", four(osv1.IPv4OVNKubernetesConfig{InternalTransitSwitchSubnet: "fd97::/64"})},
		{"addresses that are never routed", own + "ipv4.internalJoinSubnet", "ovn-internal-subnet-special", "multicast", four(osv1.IPv4OVNKubernetesConfig{InternalJoinSubnet: "224.0.0.0/8"})},
		{"one address too few", own + "ipv4.internalJoinSubnet", "ovn-internal-subnet-size", "is not large enough for the maximum number of nodes which can be supported by ClusterNetwork: it has 8 addresses, and spec.clusterNetwork has blocks for 8 nodes", tiny(four(osv1.IPv4OVNKubernetesConfig{InternalJoinSubnet: "100.65.0.0/29"}))},
		{"a pool in the default of the join subnet", "spec.clusterNetwork[0].cidr", "ovn-internal-subnet-overlap", "whole or subset of v4InternalJoinSubnet CIDR 100.64.0.0/16 is already in use: CIDRs 100.64.0.0/20 (spec.clusterNetwork[0].cidr) and 100.64.0.0/16 overlap; choose another pool, or set spec.defaultNetwork.ovnKubernetesConfig.ipv4.internalJoinSubnet",
			pools(operatorv1.ClusterNetworkEntry{CIDR: "100.64.0.0/20", HostPrefix: 24})},
		{"Services around the default of the transit subnet", "spec.serviceNetwork[0]", "ovn-internal-subnet-overlap", "v4InternalTransitSwitchSubnet CIDR 100.88.0.0/16", network(func(s *operatorv1.NetworkSpec) { s.ServiceNetwork = []string{"100.80.0.0/12"} })},
		{"a join subnet in a pool", own + "ipv4.internalJoinSubnet", "ovn-internal-subnet-overlap", "CIDRs 10.128.0.0/14 (spec.clusterNetwork[0].cidr) and 10.129.0.0/16 overlap; choose another network", four(osv1.IPv4OVNKubernetesConfig{InternalJoinSubnet: "10.129.0.0/16"})},
		{"its former field", own + "v4InternalSubnet", "ovn-internal-subnet-overlap", "v4InternalSubnet CIDR 172.30.0.0/16", with(func(c *osv1.OVNKubernetesConfig) { c.V4InternalSubnet = "172.30.0.0/16" })},
		{"join and transit, both chosen", own + "ipv4.internalTransitSwitchSubnet", "ovn-internal-subnet-overlap", "CIDRs 100.65.0.0/16 (v4InternalJoinSubnet)", four(osv1.IPv4OVNKubernetesConfig{InternalJoinSubnet: "100.65.0.0/16", InternalTransitSwitchSubnet: "100.65.0.0/16"})},
		{"a join subnet in the default of the transit subnet", own + "ipv4.internalJoinSubnet", "ovn-internal-subnet-overlap", "CIDRs 100.88.0.0/16 (v4InternalTransitSwitchSubnet)", four(osv1.IPv4OVNKubernetesConfig{InternalJoinSubnet: "100.88.0.0/16"})},
		{"IPv6 without an IPv6 pool", own + "v6InternalSubnet", ruleSubnetFamily, "fd98::/64 and ClusterNetwork must have matching IP families", with(func(c *osv1.OVNKubernetesConfig) { c.V6InternalSubnet = "fd98::/64" })},
		{"IPv6 without an IPv6 pool", own + "ipv6.internalJoinSubnet", ruleSubnetFamily, "remove it", six(osv1.IPv6OVNKubernetesConfig{InternalJoinSubnet: "fd98::/64"})},
		{"IPv6 without an IPv6 pool", own + "ipv6.internalTransitSwitchSubnet", ruleSubnetFamily, "remove it", six(osv1.IPv6OVNKubernetesConfig{InternalTransitSwitchSubnet: "fd97::/64"})},
		{"IPv4 without an IPv4 pool", own + "v4InternalSubnet", ruleSubnetFamily, "spec.clusterNetwork has no IPv4 network; remove it", alone(func(c *osv1.OVNKubernetesConfig) { c.V4InternalSubnet = "100.64.0.0/16" })},
		{"IPv4 without an IPv4 pool", own + "ipv4.internalJoinSubnet", ruleSubnetFamily, "100.64.0.0/16 and ClusterNetwork must have matching IP families", alone(func(c *osv1.OVNKubernetesConfig) {
			c.IPv4 = &osv1.IPv4OVNKubernetesConfig{InternalJoinSubnet: "100.64.0.0/16"}
		})},
		{"IPv4 without an IPv4 pool", own + "ipv4.internalTransitSwitchSubnet", ruleSubnetFamily, "remove it", alone(func(c *osv1.OVNKubernetesConfig) {
			c.IPv4 = &osv1.IPv4OVNKubernetesConfig{InternalTransitSwitchSubnet: "100.88.0.0/16"}
		})},
		{"IPv4 without an IPv4 pool", own + "gatewayConfig.ipv4.internalMasqueradeSubnet", ruleSubnetFamily, "is for IPv4, and spec.clusterNetwork has no IPv4 network; leave it out", alone(func(c *osv1.OVNKubernetesConfig) {
			c.GatewayConfig = &osv1.GatewayConfig{RoutingViaHost: true, IPv4: osv1.IPv4GatewayConfig{InternalMasqueradeSubnet: "169.254.169.0/29"}}
		})},
		{"collectors that nodes do not reach", "spec.exportNetworkFlows.netFlow.collectors", "ovn-flow-collectors", "spec.clusterNetwork has no IPv4 network", exporting(alone(func(*osv1.OVNKubernetesConfig) {}))},
		{"an MTU that IPv6 alone does not admit", own + "mtu", "ovn-mtu-range", "at least 1280", alone(func(c *osv1.OVNKubernetesConfig) { c.MTU = new(uint32(1279)) })},
		{"an IPv6 pool of one block, which is the first", "spec.clusterNetwork[0].hostPrefix", "ovn-host-prefix", "between 65 and 125 for a /64", pools(operatorv1.ClusterNetworkEntry{CIDR: "fd01::/64", HostPrefix: 64})},
		{"no IPv6 address for pods", "spec.clusterNetwork[0].hostPrefix", "ovn-host-prefix", "the router and the node", pools(operatorv1.ClusterNetworkEntry{CIDR: "fd01::/112", HostPrefix: 126})},
		{"no IPv6 block but the first", "spec.clusterNetwork[0].cidr", "ovn-network-size", "at least a /124; use a shorter prefix, e.g. fd01::/48", pools(operatorv1.ClusterNetworkEntry{CIDR: "fd01::/125", HostPrefix: 126})},
		{"an MTU that IPv6 does not admit", own + "mtu", "ovn-mtu-range", "at least 1280", dual(func(c *osv1.OVNKubernetesConfig) { c.MTU = new(uint32(1279)) })},
		{"a masquerade subnet that is not built", own + "gatewayConfig.ipv6.internalMasqueradeSubnet", ruleNotImplemented, "use fd69::/125", dual(func(c *osv1.OVNKubernetesConfig) {
			c.GatewayConfig = &osv1.GatewayConfig{RoutingViaHost: true, IPv6: osv1.IPv6GatewayConfig{InternalMasqueradeSubnet: "fd69::/112"}}
		})},
		{"an IPv4 network for IPv6", own + "ipv6.internalJoinSubnet", ruleSubnetFamily, "use an IPv6 network", dual(func(c *osv1.OVNKubernetesConfig) {
			c.IPv6 = &osv1.IPv6OVNKubernetesConfig{InternalJoinSubnet: "100.70.0.0/16"}
		})},
		{"an IPv6 subnet that is too small", own + "ipv6.internalTransitSwitchSubnet", "ovn-internal-subnet-size", "not large enough", dual(func(c *osv1.OVNKubernetesConfig) {
			c.IPv6 = &osv1.IPv6OVNKubernetesConfig{InternalTransitSwitchSubnet: "fd97::/120"}
		})},
		{"an IPv6 pool where the join subnet is by default", "spec.clusterNetwork[1].cidr", "ovn-internal-subnet-overlap", "ipv6.internalJoinSubnet", network(func(s *operatorv1.NetworkSpec) {
			s.ClusterNetwork = append(s.ClusterNetwork, operatorv1.ClusterNetworkEntry{CIDR: "fd98::/48", HostPrefix: 64})
		})},
		{"a pool around the masquerade subnet, which cannot move", "spec.clusterNetwork[0].cidr", "ovn-internal-subnet-overlap", "whole or subset of v4InternalMasqueradeSubnet CIDR 169.254.169.0/29 is already in use: CIDRs 169.0.0.0/8 (spec.clusterNetwork[0].cidr) and 169.254.169.0/29 overlap; choose another pool",
			pools(operatorv1.ClusterNetworkEntry{CIDR: "169.0.0.0/8", HostPrefix: 23})},
		{"Services around it", "spec.serviceNetwork[0]", "ovn-internal-subnet-overlap", "overlap; choose another pool", network(func(s *operatorv1.NetworkSpec) { s.ServiceNetwork = []string{"169.0.0.0/8"} })},
		{"a join subnet around it", own + "ipv4.internalJoinSubnet", "ovn-internal-subnet-overlap", "CIDRs 169.254.169.0/29 (v4InternalMasqueradeSubnet) and 169.0.0.0/8 overlap; choose another network", four(osv1.IPv4OVNKubernetesConfig{InternalJoinSubnet: "169.0.0.0/8"})},
		{"a transit subnet around it", own + "ipv4.internalTransitSwitchSubnet", "ovn-internal-subnet-overlap", "(v4InternalMasqueradeSubnet)", four(osv1.IPv4OVNKubernetesConfig{InternalTransitSwitchSubnet: "169.0.0.0/8"})},
		{"an IPv6 pool around the masquerade subnet", "spec.clusterNetwork[1].cidr", "ovn-internal-subnet-overlap", "and fd69::/125 overlap; choose another pool", network(func(s *operatorv1.NetworkSpec) {
			s.ClusterNetwork = append(s.ClusterNetwork, operatorv1.ClusterNetworkEntry{CIDR: "fd69::/48", HostPrefix: 64})
		})},
		{"Services with fd69::5, which a pod sees as itself", "spec.serviceNetwork[1]", "ovn-internal-subnet-overlap", "v6InternalMasqueradeSubnet CIDR fd69::/125", func() *operatorv1.NetworkSpec {
			s := dual(func(*osv1.OVNKubernetesConfig) {})
			s.ServiceNetwork[1] = "fd69::/112"
			return s
		}()},
		{"an IPv6 join subnet around it, by its former field", own + "v6InternalSubnet", "ovn-internal-subnet-overlap", "CIDRs fd69::/125 (v6InternalMasqueradeSubnet)", dual(func(c *osv1.OVNKubernetesConfig) { c.V6InternalSubnet = "fd69::/64" })},
		{"two values for one subnet", own + "v6InternalSubnet", "ovn-internal-subnet-alias", "must be same as v6InternalJoinSubnet fd90::/64", dual(func(c *osv1.OVNKubernetesConfig) {
			c.V6InternalSubnet, c.IPv6 = "fd91::/64", &osv1.IPv6OVNKubernetesConfig{InternalJoinSubnet: "fd90::/64"}
		})},
		{"a word", own + "ipsecConfig.mode", "ovn-ipsec-mode", "not a mode of IPsec", ipsec(osv1.IPsecConfig{Mode: "On"})},
		{"settings of a mode that is not used", own + "ipsecConfig.full", "ovn-ipsec-full", "and mode is Disabled; remove full", ipsec(osv1.IPsecConfig{Mode: osv1.IPsecModeDisabled, Full: &osv1.IPsecFullModeConfig{Encapsulation: osv1.EncapsulationAlways}})},
		{"an encapsulation", own + "ipsecConfig.full.encapsulation", "ovn-ipsec-encapsulation", "use Auto", ipsec(osv1.IPsecConfig{Mode: osv1.IPsecModeFull, Full: &osv1.IPsecFullModeConfig{Encapsulation: "Never"}})},
		{"no audit messages at all", own + "policyAuditConfig.rateLimit", "ovn-policy-audit", "must be 1 or more", auditing(osv1.PolicyAuditConfig{RateLimit: new(uint32(0))})},
		{"files without content", own + "policyAuditConfig.maxFileSize", "ovn-policy-audit", "must be 1 or more", auditing(osv1.PolicyAuditConfig{MaxFileSize: new(uint32(0))})},
		{"fewer than no files", own + "policyAuditConfig.maxLogFiles", "ovn-policy-audit", "must be 1 or more", auditing(osv1.PolicyAuditConfig{MaxLogFiles: new(int32(-1))})},
		{"a word", own + "policyAuditConfig.destination", "ovn-policy-audit", "use null, libc", auditing(osv1.PolicyAuditConfig{Destination: "syslog"})},
		{"a name, which ovn-controller would have to resolve", own + "policyAuditConfig.destination", "ovn-policy-audit", "udp:IP:PORT", auditing(osv1.PolicyAuditConfig{Destination: "udp:logs.example:514"})},
		{"a path that leaves its directory", own + "policyAuditConfig.destination", "ovn-policy-audit", "unix:PATH", auditing(osv1.PolicyAuditConfig{Destination: "unix:/run/../log"})},
		{"a socket in the root directory", own + "policyAuditConfig.destination", "ovn-policy-audit", "in a directory", auditing(osv1.PolicyAuditConfig{Destination: "unix:/log"})},
		{"a facility", own + "policyAuditConfig.syslogFacility", "ovn-policy-audit", "use local0 to local7", auditing(osv1.PolicyAuditConfig{SyslogFacility: "local8"})},
		{"nodes without OVN", own + "hybridOverlayConfig", ruleNotImplemented, "remove it", with(func(c *osv1.OVNKubernetesConfig) { c.HybridOverlayConfig = &osv1.HybridOverlayConfig{} })},
		{"egress IP addresses", own + "egressIPConfig.reachabilityTotalTimeoutSeconds", ruleNotImplemented, "remove egressIPConfig", with(func(c *osv1.OVNKubernetesConfig) { c.EgressIPConfig.ReachabilityTotalTimeoutSeconds = new(uint32(0)) })},
		{"BGP", own + "routeAdvertisements", ruleNotImplemented, "use Disabled", with(func(c *osv1.OVNKubernetesConfig) { c.RouteAdvertisements = osv1.RouteAdvertisementsEnabled })},
		{"a word", own + "routeAdvertisements", "ovn-route-advertisements", "neither Enabled nor Disabled", with(func(c *osv1.OVNKubernetesConfig) { c.RouteAdvertisements = "On" })},
	} {
		errs := New().Validate(tc.spec)
		if len(errs) != 1 || errs[0].Field != tc.field || errs[0].Origin != tc.rule || !strings.Contains(errs[0].Detail, tc.message) {
			t.Errorf("%s: %v, want one error for %s by rule %s with %q", tc.why, errs.ToAggregate(), tc.field, tc.rule, tc.message)
		}
	}
}

func TestValidateReportsEverythingAtOnce(t *testing.T) {
	spec := with(func(c *osv1.OVNKubernetesConfig) {
		c.MTU, c.GenevePort, c.V6InternalSubnet, c.RouteAdvertisements = new(uint32(1)), new(uint32(0)), "fd98::/64", osv1.RouteAdvertisementsEnabled
		c.GatewayConfig, c.IPsecConfig, c.HybridOverlayConfig = &osv1.GatewayConfig{}, &osv1.IPsecConfig{Mode: "On"}, &osv1.HybridOverlayConfig{}
		c.IPv4 = &osv1.IPv4OVNKubernetesConfig{InternalJoinSubnet: "x", InternalTransitSwitchSubnet: "y"}
	})
	spec.ClusterNetwork[0].HostPrefix = 30
	if errs := New().Validate(spec); len(errs) != 10 {
		t.Errorf("%d errors, want 10: %v", len(errs), errs.ToAggregate())
	}
}

func TestDefaults(t *testing.T) {
	filled := func(change func(*osv1.OVNKubernetesConfig)) *osv1.OVNKubernetesConfig {
		c := &osv1.OVNKubernetesConfig{
			MTU: new(uint32(1400)), GenevePort: new(uint32(6081)), IPsecConfig: &osv1.IPsecConfig{Mode: osv1.IPsecModeDisabled}, RouteAdvertisements: osv1.RouteAdvertisementsDisabled,
			GatewayConfig:     &osv1.GatewayConfig{RoutingViaHost: true, IPForwarding: osv1.IPForwardingGlobal, IPv4: osv1.IPv4GatewayConfig{InternalMasqueradeSubnet: "169.254.169.0/29"}},
			IPv4:              &osv1.IPv4OVNKubernetesConfig{InternalJoinSubnet: "100.64.0.0/16", InternalTransitSwitchSubnet: "100.88.0.0/16"},
			PolicyAuditConfig: &osv1.PolicyAuditConfig{RateLimit: new(uint32(20)), MaxFileSize: new(uint32(50)), MaxLogFiles: new(int32(5)), Destination: "null", SyslogFacility: "local0"},
		}
		change(c)
		return c
	}
	other := func(c *osv1.OVNKubernetesConfig) {
		c.MTU, c.GenevePort = new(uint32(1300)), new(uint32(7000))
		c.IPv4 = &osv1.IPv4OVNKubernetesConfig{InternalJoinSubnet: "100.65.0.0/16", InternalTransitSwitchSubnet: "100.89.0.0/16"}
	}
	both := func(c *osv1.OVNKubernetesConfig) {
		c.IPv6 = &osv1.IPv6OVNKubernetesConfig{InternalJoinSubnet: "fd98::/64", InternalTransitSwitchSubnet: "fd97::/64"}
		c.GatewayConfig.IPv6.InternalMasqueradeSubnet = "fd69::/125"
	}
	only6 := func(c *osv1.OVNKubernetesConfig) {
		both(c)
		c.IPv4, c.GatewayConfig.IPv4 = nil, osv1.IPv4GatewayConfig{}
	}
	for _, tc := range []struct {
		why        string
		spec, prev *operatorv1.NetworkSpec
		host       int
		want       *osv1.OVNKubernetesConfig
	}{
		{"no settings", network(nil), nil, 1500, filled(func(*osv1.OVNKubernetesConfig) {})},
		{"jumbo frames", network(nil), nil, 9000, filled(func(c *osv1.OVNKubernetesConfig) { c.MTU = new(uint32(8900)) })},
		{"more than an interface takes", network(nil), nil, 70000, filled(func(c *osv1.OVNKubernetesConfig) { c.MTU = new(uint32(65535)) })},
		{"the nodes' MTU is not known yet", network(nil), nil, 0, filled(func(c *osv1.OVNKubernetesConfig) { c.MTU = nil })},
		{"... or leaves too little", network(nil), nil, 600, filled(func(c *osv1.OVNKubernetesConfig) { c.MTU = nil })},
		{"... or too little for IPv6", dual(func(*osv1.OVNKubernetesConfig) {}), nil, 1379, filled(func(c *osv1.OVNKubernetesConfig) { both(c); c.MTU = nil })},
		{"just enough for IPv6", dual(func(*osv1.OVNKubernetesConfig) {}), nil, 1380, filled(func(c *osv1.OVNKubernetesConfig) { both(c); c.MTU = new(uint32(1280)) })},
		{"IPv6 alone", alone(func(*osv1.OVNKubernetesConfig) {}), nil, 1500, filled(only6)},
		{"IPv6 alone, just enough", alone(func(*osv1.OVNKubernetesConfig) {}), nil, 1380, filled(func(c *osv1.OVNKubernetesConfig) { only6(c); c.MTU = new(uint32(1280)) })},
		{"IPv6 alone, too little", alone(func(*osv1.OVNKubernetesConfig) {}), nil, 1379, filled(func(c *osv1.OVNKubernetesConfig) { only6(c); c.MTU = nil })},
		{"IPv6 first", sixFirst(func(*osv1.OVNKubernetesConfig) {}), nil, 1500, filled(both)},
		{"what was determined once stays", network(nil), with(other), 9000, filled(other)},
		{"what is set", with(other), with(func(c *osv1.OVNKubernetesConfig) { *c = *filled(func(*osv1.OVNKubernetesConfig) {}) }), 9000, filled(other)},
		{"an audit setting alone", with(func(c *osv1.OVNKubernetesConfig) { c.PolicyAuditConfig = &osv1.PolicyAuditConfig{Destination: "libc"} }), nil, 1500,
			filled(func(c *osv1.OVNKubernetesConfig) { c.PolicyAuditConfig.Destination = "libc" })},
		{"the former field of the join subnet", with(func(c *osv1.OVNKubernetesConfig) { c.V4InternalSubnet = "100.66.0.0/16" }), nil, 1500,
			filled(func(c *osv1.OVNKubernetesConfig) {
				c.V4InternalSubnet, c.IPv4.InternalJoinSubnet = "100.66.0.0/16", "100.66.0.0/16"
			})},
	} {
		got := New().Default(tc.spec, tc.prev, facts.Cluster{HostMTU: tc.host})
		if diff := cmp.Diff(tc.want, settings(got)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tc.why, diff)
		}
		if errs := New().Validate(got); len(errs) > 0 {
			t.Errorf("%s: defaults are invalid: %v", tc.why, errs.ToAggregate())
		}
	}
}

func TestCheckChange(t *testing.T) {
	for _, tc := range []struct {
		why           string
		prev, next    func(*osv1.OVNKubernetesConfig)
		want, message string
	}{
		{"left out", func(c *osv1.OVNKubernetesConfig) { c.MTU, c.GenevePort = new(uint32(1300)), new(uint32(7000)) }, func(*osv1.OVNKubernetesConfig) {}, "", ""},
		{"other reserved subnets", func(*osv1.OVNKubernetesConfig) {}, func(c *osv1.OVNKubernetesConfig) { c.V4InternalSubnet = "100.66.0.0/16" }, "", ""},
		{"MTU", func(*osv1.OVNKubernetesConfig) {}, func(c *osv1.OVNKubernetesConfig) { c.MTU = new(uint32(1300)) }, "mtu ovn-mtu-change", "cannot change ovn-kubernetes MTU without migration"},
		{"port", func(*osv1.OVNKubernetesConfig) {}, func(c *osv1.OVNKubernetesConfig) { c.GenevePort = new(uint32(7000)) }, "genevePort ovn-geneve-port-change", "cannot change ovn-kubernetes genevePort"},
	} {
		prev := New().Default(with(tc.prev), nil, facts.Cluster{HostMTU: 1500})
		next := New().Default(with(tc.next), prev, facts.Cluster{HostMTU: 1500})
		errs := New().CheckChange(prev, next)
		if tc.want == "" {
			if len(errs) > 0 {
				t.Errorf("%s: %v", tc.why, errs.ToAggregate())
			}
			continue
		}
		if len(errs) != 1 || errs[0].Field+" "+errs[0].Origin != config+"."+tc.want || !strings.Contains(errs[0].Detail, tc.message) {
			t.Errorf("%s: %v, want %s with %q", tc.why, errs.ToAggregate(), tc.want, tc.message)
		}
	}
}

// TestIPv4IsAddedAsTheSecondFamily: tunnels stay over IPv6, and the first family never changes.
func TestIPv4IsAddedAsTheSecondFamily(t *testing.T) {
	f := both(cluster("192.0.2.10"))
	spec := func(of func(func(*osv1.OVNKubernetesConfig)) *operatorv1.NetworkSpec) *operatorv1.NetworkSpec {
		return New().Default(of(func(*osv1.OVNKubernetesConfig) {}), nil, f)
	}
	for _, row := range []struct {
		why        string
		prev, next *operatorv1.NetworkSpec
		refused    bool
	}{
		{"IPv4 is added", spec(alone), spec(sixFirst), false},
		{"IPv4 is removed", spec(sixFirst), spec(alone), false},
		{"IPv6 becomes the second family", spec(sixFirst), spec(dual), true},
		{"IPv6 becomes the first family", spec(dual), spec(sixFirst), true},
		{"IPv6 is removed, which tunnels use", spec(sixFirst), spec(with), true},
		{"IPv4 is removed, which tunnels use", spec(dual), spec(alone), true},
	} {
		_, err := run(t, pipeline.Input{Desired: row.next, Applied: row.prev, Cluster: f})
		if (err != nil) != row.refused {
			t.Errorf("%s: %v", row.why, err)
		}
	}
}

// TestASecondFamilyIsAddedAndRemoved: what the second family adds to the settings is no change that is refused, in either direction.
func TestASecondFamilyIsAddedAndRemoved(t *testing.T) {
	f := facts.Cluster{HostMTU: 1500}
	single := New().Default(with(func(*osv1.OVNKubernetesConfig) {}), nil, f)
	added := New().Default(dual(func(*osv1.OVNKubernetesConfig) {}), single, f)
	six := settings(added)
	if six.IPv6 == nil || six.IPv6.InternalJoinSubnet != defaultJoin6 || six.IPv6.InternalTransitSwitchSubnet != defaultTransit6 || six.GatewayConfig.IPv6.InternalMasqueradeSubnet != masquerade6 {
		t.Errorf("the defaults of IPv6 are missing: %+v, %+v", six.IPv6, six.GatewayConfig.IPv6)
	}
	removed := New().Default(with(func(*osv1.OVNKubernetesConfig) {}), added, f)
	if diff := cmp.Diff(settings(single), settings(removed)); diff != "" {
		t.Errorf("something is left of the second family (-want +got):\n%s", diff)
	}
	for why, change := range map[string][2]*operatorv1.NetworkSpec{"added": {single, added}, "removed": {added, removed}} {
		if errs := New().Validate(change[1]); len(errs) > 0 {
			t.Errorf("%s: %v", why, errs.ToAggregate())
		}
		if errs := New().CheckChange(change[0], change[1]); len(errs) > 0 {
			t.Errorf("%s: %v", why, errs.ToAggregate())
		}
	}
}

func TestLinksCarryTheTunnels(t *testing.T) {
	for _, row := range []struct {
		why     string
		spec    func(func(*osv1.OVNKubernetesConfig)) *operatorv1.NetworkSpec
		address string
		most    uint32
	}{
		{"tunnels over IPv4", with, "192.0.2.10", 1442},
		{"... also with IPv6 pods", dual, "192.0.2.10", 1442},
		{"tunnels over IPv6", alone, "2001:db8::10", 1422},
		{"... also with IPv4 pods", sixFirst, "2001:db8::10", 1422},
	} {
		for mtu, allowed := range map[uint32]bool{row.most: true, row.most + 1: false} {
			_, err := run(t, pipeline.Input{Desired: row.spec(func(c *osv1.OVNKubernetesConfig) { c.MTU = new(mtu) }), Cluster: cluster(row.address)})
			if refused := pipeline.RefusalsOf(err).Has(pipeline.RuleLinks); refused == allowed {
				t.Errorf("%s: MTU %d with links of 1500: %v", row.why, mtu, err)
			}
		}
	}
}

// FuzzSpec: nothing that a user writes panics, the input stays as it is, valid settings stay valid with their defaults, and defaults
// are filled in once.
func FuzzSpec(f *testing.F) {
	f.Add(`{"mtu":1400,"ipv4":{"internalJoinSubnet":"100.64.0.0/0"}}`, "10.0.0.0/8", uint32(0), 1500)
	f.Add(`{"gatewayConfig":{},"ipsecConfig":{},"v4InternalSubnet":"::/0"}`, "fd00::/48", uint32(4294967295), 0)
	f.Fuzz(func(t *testing.T, text, cidr string, length uint32, host int) {
		spec := pools(operatorv1.ClusterNetworkEntry{CIDR: cidr, HostPrefix: length}, operatorv1.ClusterNetworkEntry{CIDR: cidr, HostPrefix: length / 2})
		var c osv1.OVNKubernetesConfig
		if json.Unmarshal([]byte(text), &c) == nil {
			spec.DefaultNetwork.OVNKubernetesConfig = &c
		}
		before := spec.DeepCopy()
		valid := len(New().Validate(spec)) == 0
		once := New().Default(spec, nil, facts.Cluster{HostMTU: host})
		if !reflect.DeepEqual(spec, before) {
			t.Error("the input was changed")
		}
		if twice := New().Default(once, once, facts.Cluster{}); !reflect.DeepEqual(once, twice) {
			t.Errorf("filling in twice changes %+v to %+v", settings(once), settings(twice))
		}
		if errs := New().Validate(once); valid && len(errs) > 0 {
			t.Errorf("valid, but not with its defaults: %v", errs.ToAggregate())
		}
		if errs := New().CheckChange(once, once); len(errs) > 0 {
			t.Errorf("no change is refused: %v", errs)
		}
		_, _ = observed{}.Render(once, facts.Cluster{Images: facts.Images{Image: "a"}})
	})
}
