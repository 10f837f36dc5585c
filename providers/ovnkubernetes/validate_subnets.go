package ovnkubernetes

import (
	"fmt"
	"net/netip"

	"k8s.io/apimachinery/pkg/util/validation/field"

	operatorv1 "github.com/cluster-network-operator/cno/api/operator/v1"
	"github.com/cluster-network-operator/cno/api/rules"
	"github.com/cluster-network-operator/cno/internal/netaddr"
)

// subnet is reserved for OVN. prefix is valid if text is a CIDR.
type subnet struct {
	path   *field.Path
	name   string // for messages
	text   string
	chosen bool // set by the user, not a default
	fixed  bool // cannot be set to another network
	six    bool // IPv6
	prefix netip.Prefix
}

// validateSubnets validates the join, the transit and the masquerade subnet. No packet has addresses of the first two in this version, but a pool that overlaps
// one cannot be moved once the network is in use, and other versions need them. Defaults are validated like user settings.
func validateSubnets(spec *operatorv1.NetworkSpec) field.ErrorList {
	c := settings(spec)
	v4, v6 := orZero(c.IPv4), orZero(c.IPv6)
	errs := validateAlias("v4InternalSubnet", c.V4InternalSubnet, "v4InternalJoinSubnet", v4.InternalJoinSubnet)
	errs = append(errs, validateAlias("v6InternalSubnet", c.V6InternalSubnet, "v6InternalJoinSubnet", v6.InternalJoinSubnet)...)
	four := []subnet{
		joinOf("v4InternalSubnet", c.V4InternalSubnet, subnetOf(configPath.Child("ipv4", "internalJoinSubnet"), "v4InternalJoinSubnet", v4.InternalJoinSubnet, defaultJoin)),
		subnetOf(configPath.Child("ipv4", "internalTransitSwitchSubnet"), "v4InternalTransitSwitchSubnet", v4.InternalTransitSwitchSubnet, defaultTransit),
	}
	six := []subnet{
		joinOf("v6InternalSubnet", c.V6InternalSubnet, subnetOf(configPath.Child("ipv6", "internalJoinSubnet"), "v6InternalJoinSubnet", v6.InternalJoinSubnet, defaultJoin6)),
		subnetOf(configPath.Child("ipv6", "internalTransitSwitchSubnet"), "v6InternalTransitSwitchSubnet", v6.InternalTransitSwitchSubnet, defaultTransit6),
	}
	for i := range six {
		six[i].six = true
	}
	var subnets, fixed []subnet
	for _, f := range []struct {
		used    bool
		subnets []subnet
		fixed   subnet
	}{
		{hasIPv4(spec), four, fixedSubnet("ipv4", "v4InternalMasqueradeSubnet", masquerade)},
		{hasIPv6(spec), six, fixedSubnet("ipv6", "v6InternalMasqueradeSubnet", masquerade6)},
	} {
		if f.used {
			subnets, fixed = append(subnets, f.subnets...), append(fixed, f.fixed)
			continue
		}
		for _, s := range f.subnets {
			if s.chosen {
				errs = append(errs, s.otherFamily(fmt.Sprintf("spec.clusterNetwork has no %s network; remove it", s.family())))
			}
		}
	}
	for _, s := range subnets {
		errs = append(errs, s.validate(spec.ClusterNetwork)...)
	}
	return append(errs, validateOverlaps(spec, append(subnets, fixed...))...)
}

// validateAlias requires the deprecated join subnet setting to equal its replacement.
func validateAlias(alias, old, name, join string) field.ErrorList {
	if old == "" || join == "" || old == join {
		return nil
	}
	return field.ErrorList{rules.OVNSubnetAlias.Invalid(configPath.Child(alias), old, alias, name, join, alias)}
}

// joinOf returns the join subnet: that of the deprecated setting if only that is set.
func joinOf(alias, old string, s subnet) subnet {
	if s.chosen || old == "" {
		return s
	}
	return subnetOf(configPath.Child(alias), alias, old, "")
}

func subnetOf(path *field.Path, name, text, standard string) subnet {
	s := subnet{path: path, name: name, text: text, chosen: text != ""}
	if !s.chosen {
		s.text = standard
	}
	if p, err := netaddr.ParseCIDR(s.text); err == nil {
		s.prefix = p
	}
	return s
}

// fixedSubnet returns the masquerade subnet of a family, which cannot be changed in this version.
func fixedSubnet(family, name, text string) subnet {
	s := subnetOf(configPath.Child("gatewayConfig", family, "internalMasqueradeSubnet"), name, "", text)
	s.fixed = true
	return s
}

func (s subnet) family() string {
	if s.six {
		return "IPv6"
	}
	return "IPv4"
}

func (s subnet) otherFamily(wayOut string) *field.Error {
	return rules.OVNSubnetFamily.Invalid(s.path, s.text, s.name, s.text, wayOut)
}

// validate validates a subnet and its size: one address for each possible node of the pools, and three more.
func (s subnet) validate(pools []operatorv1.ClusterNetworkEntry) field.ErrorList {
	if !s.chosen {
		return nil
	}
	if _, err := netaddr.ParseCIDR(s.text); err != nil {
		return field.ErrorList{rules.OVNSubnetSyntax.Invalid(s.path, s.text, s.name, s.text, err)}
	}
	if s.prefix.Addr().Is6() != s.six {
		return field.ErrorList{s.otherFamily(fmt.Sprintf("use an %s network, or leave it out", s.family()))}
	}
	if kind := netaddr.Special(s.prefix); kind != "" {
		return field.ErrorList{rules.OVNSubnetSpecial.Invalid(s.path, s.text, kind)}
	}
	var nodes uint64
	for _, p := range pools {
		if network, err := netaddr.ParseCIDR(p.CIDR); err == nil && network.Addr().Is6() == s.six {
			nodes = netaddr.Add(nodes, netaddr.Blocks(network, p.HostPrefix))
		}
	}
	if room := uint64(1) << min(63, s.prefix.Addr().BitLen()-s.prefix.Bits()); netaddr.Add(nodes, 3) >= room {
		return field.ErrorList{rules.OVNSubnetSize.Invalid(s.path, s.text, s.name, s.text, room, nodes)}
	}
	return nil
}

// validateOverlaps rejects overlapping pools and subnets. The error is at the subnet if the user chose it, otherwise at the pool.
func validateOverlaps(spec *operatorv1.NetworkSpec, subnets []subnet) field.ErrorList {
	var errs field.ErrorList
	refuse := func(at *field.Path, value string, s subnet, other, otherCIDR string, wayOut string) {
		errs = append(errs, rules.OVNSubnetOverlap.Invalid(at, value, s.name, s.prefix, otherCIDR, other, s.prefix, wayOut))
	}
	for i, s := range subnets {
		for j, p := range spec.ServiceNetwork {
			s.against(field.NewPath("spec", "serviceNetwork").Index(j), p, refuse)
		}
		for j, p := range spec.ClusterNetwork {
			s.against(clusterPath.Index(j).Child("cidr"), p.CIDR, refuse)
		}
		for _, o := range subnets[:i] {
			switch {
			case !s.prefix.IsValid() || !o.prefix.IsValid() || !s.prefix.Overlaps(o.prefix):
			case s.chosen:
				refuse(s.path, s.text, s, o.name, o.text, "choose another network")
			default:
				refuse(o.path, o.text, o, s.name, s.text, "choose another network")
			}
		}
	}
	return errs
}

// against checks a subnet against a pool.
func (s subnet) against(path *field.Path, cidr string, refuse func(at *field.Path, value string, s subnet, other, otherCIDR string, wayOut string)) {
	pool, err := netip.ParsePrefix(cidr)
	if err != nil || !s.prefix.IsValid() || !pool.Masked().Overlaps(s.prefix) {
		return
	}
	switch {
	case s.chosen:
		refuse(s.path, s.text, s, path.String(), cidr, "choose another network")
	case s.fixed:
		refuse(path, cidr, s, path.String(), cidr, "choose another pool")
	default:
		refuse(path, cidr, s, path.String(), cidr, fmt.Sprintf("choose another pool, or set %s to a network that is not in use", s.path))
	}
}
