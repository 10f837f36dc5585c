package multus

import (
	"net/netip"

	osv1 "github.com/openshift/api/operator/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/cluster-network-operator/cno/api/rules"
	"github.com/cluster-network-operator/cno/internal/netaddr"
)

// validateMacvlan validates the short form of a macvlan network. All fields are optional.
func validateMacvlan(m *osv1.SimpleMacvlanConfig, at *field.Path) field.ErrorList {
	if m == nil {
		return nil
	}
	var errs field.ErrorList
	switch m.Mode {
	case "", osv1.MacvlanModeBridge, osv1.MacvlanModePrivate, osv1.MacvlanModeVEPA, osv1.MacvlanModePassthru:
	default:
		errs = append(errs, rules.MacvlanMode.Invalid(at.Child("mode"), m.Mode, m.Mode))
	}
	if m.Master != "" && !interfaceName(m.Master) {
		errs = append(errs, rules.MacvlanMaster.Invalid(at.Child("master"), m.Master))
	}
	if m.IPAMConfig == nil {
		return errs
	}
	ipam, static := at.Child("ipamConfig"), at.Child("ipamConfig", "staticIPAMConfig")
	switch m.IPAMConfig.Type {
	case osv1.IPAMTypeStatic:
		errs = append(errs, validateStatic(m.IPAMConfig.StaticIPAMConfig, static)...)
	case osv1.IPAMTypeDHCP:
		if m.IPAMConfig.StaticIPAMConfig != nil {
			errs = append(errs, rules.IPAMStaticUnused.Forbidden(static))
		}
	default:
		errs = append(errs, rules.IPAMType.Invalid(ipam.Child("type"), m.IPAMConfig.Type, m.IPAMConfig.Type))
	}
	return errs
}

func validateStatic(s *osv1.StaticIPAMConfig, at *field.Path) field.ErrorList {
	if s == nil {
		return nil
	}
	var errs field.ErrorList
	for i, a := range s.Addresses {
		errs = append(errs, validateStaticAddress(a, at.Child("addresses").Index(i))...)
	}
	for i, r := range s.Routes {
		path := at.Child("routes").Index(i)
		if _, err := netaddr.ParseCIDR(r.Destination); err != nil {
			errs = append(errs, rules.IPAMDestination.Invalid(path.Child("destination"), r.Destination, r.Destination, err))
		}
		errs = append(errs, validateIP(r.Gateway, path.Child("gateway"), "gateway")...)
	}
	if s.DNS != nil {
		for i, n := range s.DNS.Nameservers {
			errs = append(errs, validateIP(n, at.Child("dns", "nameservers").Index(i), "nameserver")...)
		}
	}
	return errs
}

// validateStaticAddress validates an address with its prefix length, which intentionally has host bits, and its gateway inside that prefix.
func validateStaticAddress(a osv1.StaticIPAMAddresses, at *field.Path) field.ErrorList {
	prefix, err := netip.ParsePrefix(a.Address)
	if err != nil {
		errs := field.ErrorList{rules.IPAMAddress.Invalid(at.Child("address"), a.Address, a.Address)}
		return append(errs, validateIP(a.Gateway, at.Child("gateway"), "gateway")...)
	}
	errs := validateIP(a.Gateway, at.Child("gateway"), "gateway")
	if gateway, err := netip.ParseAddr(a.Gateway); err == nil && !prefix.Contains(gateway) {
		errs = append(errs, rules.IPAMGateway.Invalid(at.Child("gateway"), a.Gateway, a.Gateway, prefix.Masked()))
	}
	return errs
}

// validateIP validates an optional address.
func validateIP(s string, at *field.Path, what string) field.ErrorList {
	if a, err := netip.ParseAddr(s); s == "" || err == nil && a.Zone() == "" {
		return nil
	}
	return field.ErrorList{rules.IPAMNoAddress.Invalid(at, s, what, s)}
}
