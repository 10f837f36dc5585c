package multus

import (
	"fmt"
	"net/netip"

	osv1 "github.com/openshift/api/operator/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/cluster-network-operator/cno/internal/netaddr"
)

// validateMacvlan checks the short form of a macvlan network. All of it is optional.
func validateMacvlan(m *osv1.SimpleMacvlanConfig, at *field.Path) field.ErrorList {
	if m == nil {
		return nil
	}
	var errs field.ErrorList
	switch m.Mode {
	case "", osv1.MacvlanModeBridge, osv1.MacvlanModePrivate, osv1.MacvlanModeVEPA, osv1.MacvlanModePassthru:
	default:
		detail := fmt.Sprintf("invalid Macvlan mode: %s; use Bridge, Private, VEPA or Passthru", m.Mode)
		errs = append(errs, field.Invalid(at.Child("mode"), m.Mode, detail).WithOrigin(RuleMacvlan))
	}
	if m.Master != "" && !interfaceName(m.Master) {
		errs = append(errs, field.Invalid(at.Child("master"), m.Master, notInterface).WithOrigin(RuleMacvlan))
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
			detail := "has no effect with IPAM type DHCP; remove it, or use type Static"
			errs = append(errs, field.Forbidden(static, detail).WithOrigin(RuleIPAM))
		}
	default:
		detail := fmt.Sprintf("invalid IPAM type: %s; use DHCP or Static", m.IPAMConfig.Type)
		errs = append(errs, field.Invalid(ipam.Child("type"), m.IPAMConfig.Type, detail).WithOrigin(RuleIPAM))
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
			detail := fmt.Sprintf("invalid route destination: %s %s", r.Destination, err)
			errs = append(errs, field.Invalid(path.Child("destination"), r.Destination, detail).WithOrigin(RuleIPAM))
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

// validateStaticAddress checks an address with its prefix, which has host bits on purpose, and the gateway inside
// that prefix.
func validateStaticAddress(a osv1.StaticIPAMAddresses, at *field.Path) field.ErrorList {
	prefix, err := netip.ParsePrefix(a.Address)
	if err != nil {
		detail := fmt.Sprintf("invalid static address: %s; write an address and a prefix, for example 192.0.2.10/24", a.Address)
		errs := field.ErrorList{field.Invalid(at.Child("address"), a.Address, detail).WithOrigin(RuleIPAM)}
		return append(errs, validateIP(a.Gateway, at.Child("gateway"), "gateway")...)
	}
	errs := validateIP(a.Gateway, at.Child("gateway"), "gateway")
	if gateway, err := netip.ParseAddr(a.Gateway); err == nil && !prefix.Contains(gateway) {
		detail := fmt.Sprintf("gateway %s is not inside %s", a.Gateway, prefix.Masked())
		errs = append(errs, field.Invalid(at.Child("gateway"), a.Gateway, detail).WithOrigin(RuleIPAM))
	}
	return errs
}

// validateIP checks an address, if there is one.
func validateIP(s string, at *field.Path, what string) field.ErrorList {
	if a, err := netip.ParseAddr(s); s == "" || err == nil && a.Zone() == "" {
		return nil
	}
	detail := fmt.Sprintf("invalid %s: %s; write an IP address", what, s)
	return field.ErrorList{field.Invalid(at, s, detail).WithOrigin(RuleIPAM)}
}
