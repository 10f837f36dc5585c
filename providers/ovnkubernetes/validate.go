package ovnkubernetes

import (
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/util/validation/field"

	osv1 "github.com/openshift/api/operator/v1"

	operatorv1 "github.com/cluster-network-operator/cno/api/operator/v1"
	"github.com/cluster-network-operator/cno/api/rules"
	"github.com/cluster-network-operator/cno/internal/netaddr"
)

const (
	minMTU  = 576  // RFC 791: the smallest MTU that every IPv4 host must accept
	minMTU6 = 1280 // RFC 8200: the same for IPv6
	maxMTU  = 65535
	// maxHostPrefix is the longest prefix length of a node's IPv4 block: the router and the management port need two of its addresses.
	maxHostPrefix = 29

	// ruleNotImplemented is the rule of settings that this version does not implement.
	ruleNotImplemented = "ovn-not-built"
	// ruleSubnetFamily requires internal subnets to have the IP families of the cluster network.
	ruleSubnetFamily = "ovn-internal-subnet-family"
)

var (
	clusterPath = field.NewPath("spec", "clusterNetwork")
	configPath  = field.NewPath("spec", "defaultNetwork", "ovnKubernetesConfig")
)

// Validate returns every error in the settings, and in the pools where OVN-Kubernetes is stricter than other networks.
func (OVNKubernetes) Validate(spec *operatorv1.NetworkSpec) field.ErrorList {
	if spec == nil {
		return nil
	}
	c := settings(spec)
	errs := validateFamilies(spec)
	errs = append(errs, validatePools(spec.ClusterNetwork)...)
	errs = append(errs, validateMTU(c.MTU, hasIPv6(spec))...)
	errs = append(errs, validatePort(c.GenevePort)...)
	errs = append(errs, validateGateway(c.GatewayConfig, hasIPv6(spec))...)
	errs = append(errs, validateSubnets(spec)...)
	errs = append(errs, validateIPsec(c.IPsecConfig)...)
	errs = append(errs, validateAudit(c.PolicyAuditConfig)...)
	errs = append(errs, validateNetworkFlows(spec.ExportNetworkFlows)...)
	return append(errs, validateNotImplemented(c)...)
}

// hasIPv6 reports whether pods have IPv6 addresses.
func hasIPv6(spec *operatorv1.NetworkSpec) bool {
	return spec != nil && slices.ContainsFunc(spec.ClusterNetwork, func(p operatorv1.ClusterNetworkEntry) bool {
		network, err := netaddr.ParseCIDR(p.CIDR)
		return err == nil && network.Addr().Is6()
	})
}

// validateFamilies rejects clusters whose first family is IPv6: nodes would send tunnel packets to IPv6 addresses.
func validateFamilies(spec *operatorv1.NetworkSpec) field.ErrorList {
	if len(spec.ClusterNetwork) == 0 {
		return nil
	}
	network, err := netaddr.ParseCIDR(spec.ClusterNetwork[0].CIDR)
	if err != nil || network.Addr().Is4() {
		return nil
	}
	return field.ErrorList{notImplemented(clusterPath.Index(0).Child("cidr"), spec.ClusterNetwork[0].CIDR,
		"makes IPv6 the first family of the cluster, which is not part of this version: tunnels between nodes are over IPv4; put an IPv4 network first")}
}

func validatePools(pools []operatorv1.ClusterNetworkEntry) field.ErrorList {
	var errs field.ErrorList
	for i, p := range pools {
		network, err := netaddr.ParseCIDR(p.CIDR)
		if err != nil || !network.Addr().Is4() {
			continue // other rules report it
		}
		// The first block of a pool is never assigned.
		lo := network.Bits() + 1
		if lo > maxHostPrefix {
			errs = append(errs, rules.OVNNetworkSize.Invalid(clusterPath.Index(i).Child("cidr"), p.CIDR, maxHostPrefix-1))
			continue
		}
		if _, hi := netaddr.BlockRange(network); int(p.HostPrefix) == network.Bits() || p.HostPrefix > maxHostPrefix && int64(p.HostPrefix) <= int64(hi) {
			errs = append(errs, rules.OVNHostPrefix.Invalid(clusterPath.Index(i).Child("hostPrefix"), p.HostPrefix, lo, maxHostPrefix, network.Bits()))
		}
	}
	return errs
}

// smallestMTU returns the smallest MTU of pods in bytes.
func smallestMTU(ipv6 bool) uint32 {
	if ipv6 {
		return minMTU6
	}
	return minMTU
}

func validateMTU(mtu *uint32, ipv6 bool) field.ErrorList {
	switch at := configPath.Child("mtu"); {
	case mtu == nil:
		return nil
	case *mtu < minMTU || *mtu > maxMTU:
		return field.ErrorList{rules.OVNMTU.Invalid(at, *mtu)}
	case *mtu < smallestMTU(ipv6):
		return field.ErrorList{rules.OVNMTUOfIPv6.Invalid(at, *mtu)}
	}
	return nil
}

func validatePort(port *uint32) field.ErrorList {
	if port == nil || *port >= 1 && *port <= 65535 {
		return nil
	}
	return field.ErrorList{rules.OVNGenevePort.Invalid(configPath.Child("genevePort"), *port)}
}

// validateGateway accepts the implemented gateway: pods leave through the node's routing table.
func validateGateway(g *osv1.GatewayConfig, ipv6 bool) field.ErrorList {
	if g == nil {
		return nil
	}
	var errs field.ErrorList
	at := configPath.Child("gatewayConfig")
	if !g.RoutingViaHost {
		errs = append(errs, notImplemented(at.Child("routingViaHost"), false,
			"false, which sends egress traffic around the routing table of the node, is not part of this version; set it to true, or leave gatewayConfig out"))
	}
	switch g.IPForwarding {
	case "", osv1.IPForwardingGlobal:
	case osv1.IPForwardingRestricted:
		errs = append(errs, notImplemented(at.Child("ipForwarding"), g.IPForwarding,
			"is not part of this version: nodes forward on all interfaces; use Global, or leave it out"))
	default:
		errs = append(errs, rules.OVNIPForwarding.Invalid(at.Child("ipForwarding"), g.IPForwarding))
	}
	if s := g.IPv4.InternalMasqueradeSubnet; s != "" && s != masquerade {
		errs = append(errs, notImplemented(at.Child("ipv4", "internalMasqueradeSubnet"), s, fmt.Sprintf("cannot be chosen in this version; use %s, or leave it out", masquerade)))
	}
	if s := g.IPv6.InternalMasqueradeSubnet; s != "" && !ipv6 {
		errs = append(errs, rules.OVNMasqueradeFamily.Invalid(at.Child("ipv6", "internalMasqueradeSubnet"), s))
	} else if s != "" && s != masquerade6 {
		errs = append(errs, notImplemented(at.Child("ipv6", "internalMasqueradeSubnet"), s, fmt.Sprintf("cannot be chosen in this version; use %s, or leave it out", masquerade6)))
	}
	return errs
}

// notImplemented rejects a setting that this version does not implement.
func notImplemented(at *field.Path, value any, detail string) *field.Error {
	return rules.OVNNotBuilt.Invalid(at, value, detail)
}
