package ovnkubernetes

import (
	"fmt"
	"net/netip"

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
	// minHostBits is the least number of host bits of a node's block: the router and the management port need two of its addresses.
	minHostBits = 3

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
	errs := validatePools(spec.ClusterNetwork)
	errs = append(errs, validateMTU(c.MTU, hasIPv6(spec))...)
	errs = append(errs, validatePort(c.GenevePort)...)
	errs = append(errs, validateGateway(spec)...)
	errs = append(errs, validateSubnets(spec)...)
	errs = append(errs, validateIPsec(c.IPsecConfig)...)
	errs = append(errs, validateAudit(c.PolicyAuditConfig)...)
	errs = append(errs, validateNetworkFlows(spec)...)
	return append(errs, validateNotImplemented(c)...)
}

func validatePools(pools []operatorv1.ClusterNetworkEntry) field.ErrorList {
	var errs field.ErrorList
	for i, p := range pools {
		network, err := netaddr.ParseCIDR(p.CIDR)
		if err != nil {
			continue // other rules report it
		}
		// The first block of a pool is never assigned.
		lo, longest := network.Bits()+1, network.Addr().BitLen()-minHostBits
		if lo > longest {
			errs = append(errs, rules.OVNNetworkSize.Invalid(clusterPath.Index(i).Child("cidr"), p.CIDR, longest-1, usualPool(network)))
			continue
		}
		if _, hi := netaddr.BlockRange(network); int64(p.HostPrefix) == int64(network.Bits()) || int64(p.HostPrefix) > int64(longest) && int64(p.HostPrefix) <= int64(hi) {
			errs = append(errs, rules.OVNHostPrefix.Invalid(clusterPath.Index(i).Child("hostPrefix"), p.HostPrefix, lo, longest, network.Bits()))
		}
	}
	return errs
}

// usualPool returns an example of a pool of the same IP family.
func usualPool(network netip.Prefix) string {
	if network.Addr().Is6() {
		return "fd01::/48"
	}
	return "10.128.0.0/14"
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
func validateGateway(spec *operatorv1.NetworkSpec) field.ErrorList {
	g := settings(spec).GatewayConfig
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
	errs = append(errs, validateMasquerade(at.Child("ipv4", "internalMasqueradeSubnet"), g.IPv4.InternalMasqueradeSubnet, masquerade, "IPv4", hasIPv4(spec))...)
	return append(errs, validateMasquerade(at.Child("ipv6", "internalMasqueradeSubnet"), g.IPv6.InternalMasqueradeSubnet, masquerade6, "IPv6", hasIPv6(spec))...)
}

// validateMasquerade accepts the masquerade subnet of a family, which has one value, if the cluster network has the family.
func validateMasquerade(at *field.Path, value, only, family string, used bool) field.ErrorList {
	switch {
	case value == "":
		return nil
	case !used:
		return field.ErrorList{rules.OVNMasqueradeFamily.Invalid(at, value, family, family)}
	case value != only:
		return field.ErrorList{notImplemented(at, value, fmt.Sprintf("cannot be chosen in this version; use %s, or leave it out", only))}
	}
	return nil
}

// notImplemented rejects a setting that this version does not implement.
func notImplemented(at *field.Path, value any, detail string) *field.Error {
	return rules.OVNNotBuilt.Invalid(at, value, detail)
}
