package egressrouter

import (
	"net/netip"
	"regexp"
	"slices"

	"k8s.io/apimachinery/pkg/util/validation/field"

	networkv1 "github.com/cluster-network-operator/cno/api/network/v1"
	"github.com/cluster-network-operator/cno/api/rules"
)

// Validate returns all errors of a specification. The rules are those of this project's CRD, which the API server enforces. They are repeated
// here for clusters with OpenShift's CRD, which lacks most of them, and for rules that a CRD cannot express.
func Validate(spec *networkv1.EgressRouterSpec) field.ErrorList {
	root := field.NewPath("spec")
	var errs field.ErrorList
	if spec.Mode != networkv1.EgressRouterModeRedirect && spec.Mode != "" {
		errs = append(errs, field.NotSupported(root.Child("mode"), spec.Mode, []networkv1.EgressRouterMode{networkv1.EgressRouterModeRedirect}))
	}
	errs = append(errs, validateMacvlan(&spec.NetworkInterface.Macvlan, len(spec.Addresses), root.Child("networkInterface", "macvlan"))...)
	errs = append(errs, validateAddresses(spec.Addresses, root.Child("addresses"))...)
	if spec.Redirect == nil {
		return append(errs, rules.EgressRouterRedirect.Required(root.Child("redirect")))
	}
	errs = append(errs, validateOwn(spec, root.Child("redirect"))...)
	return append(errs, validateRedirect(spec.Redirect, familiesOf(spec.Addresses), root.Child("redirect"))...)
}

var interfaceName = regexp.MustCompile(`^[^\s/:]{0,15}$`)

func validateMacvlan(m *networkv1.MacvlanConfig, addresses int, path *field.Path) (errs field.ErrorList) {
	modes := []networkv1.MacvlanMode{networkv1.MacvlanModeBridge, networkv1.MacvlanModePrivate, networkv1.MacvlanModeVEPA, networkv1.MacvlanModePassthru}
	if m.Mode != "" && !slices.Contains(modes, m.Mode) {
		errs = append(errs, field.NotSupported(path.Child("mode"), m.Mode, modes))
	}
	if m.Mode == networkv1.MacvlanModePassthru && addresses > 1 {
		errs = append(errs, rules.EgressRouterPassthru.Invalid(path.Child("mode"), m.Mode))
	}
	// The kernel counts bytes, the CRD's rule counts characters.
	if !interfaceName.MatchString(m.Master) || len(m.Master) > 15 || m.Master == "." || m.Master == ".." {
		errs = append(errs, rules.EgressRouterMaster.Invalid(path.Child("master"), m.Master))
	}
	return errs
}

// families are the IP families of a router's addresses. An invalid address counts for both.
type families struct{ ipv4, ipv6 bool }

func familiesOf(addresses []networkv1.EgressRouterAddress) (f families) {
	for _, a := range addresses {
		p, err := parseCIDR(a.IP)
		f.ipv4 = f.ipv4 || err != nil || p.Addr().Is4()
		f.ipv6 = f.ipv6 || err != nil || p.Addr().Is6()
	}
	return f
}

func (f families) contains(a netip.Addr) bool { return a.Is4() && f.ipv4 || a.Is6() && f.ipv6 }

func validateAddresses(addresses []networkv1.EgressRouterAddress, path *field.Path) (errs field.ErrorList) {
	if len(addresses) == 0 {
		return field.ErrorList{rules.EgressRouterAddresses.Required(path)}
	}
	first := map[int]string{}
	for i, a := range addresses {
		prefix, wrong := validateAddress(&a, path.Index(i))
		errs = append(errs, wrong...)
		if !prefix.IsValid() {
			continue
		}
		family := familyOf(prefix.Addr())
		if other, ok := first[family]; ok {
			errs = append(errs, rules.EgressRouterAddressFamilies.Invalid(path.Index(i).Child("ip"), a.IP, other, family))
			continue
		}
		first[family] = a.IP
	}
	return errs
}

// validateAddress also returns the parsed address; it is the zero Prefix if the address is invalid.
func validateAddress(a *networkv1.EgressRouterAddress, path *field.Path) (netip.Prefix, field.ErrorList) {
	var errs field.ErrorList
	prefix, err := parseCIDR(a.IP)
	if err != nil {
		errs = append(errs, rules.EgressRouterAddress.Invalid(path.Child("ip"), a.IP, err.remedy))
	} else if wrong := addressRule(prefix); wrong != (rules.Sentence{}) {
		errs = append(errs, wrong.Invalid(path.Child("ip"), a.IP))
	}
	if a.Gateway == "" {
		return prefix, append(errs, rules.EgressRouterGatewayRequired.Required(path.Child("gateway"), a.IP))
	}
	gateway, wrong := parseIP(a.Gateway)
	if wrong != nil {
		return prefix, append(errs, rules.EgressRouterGateway.Invalid(path.Child("gateway"), a.Gateway))
	}
	if prefix.IsValid() {
		errs = append(errs, validateGateway(path.Child("gateway"), a.Gateway, gateway, prefix)...)
	}
	return prefix, errs
}

// addressRule returns the rule that forbids an address for a router; the zero Sentence if it is allowed.
func addressRule(p netip.Prefix) rules.Sentence {
	hostBits := p.Addr().BitLen() - p.Bits()
	switch {
	case !p.Addr().IsGlobalUnicast():
		return rules.EgressRouterAddressSpecial
	case hostBits > 1 && p == p.Masked():
		return rules.EgressRouterAddressNetwork
	case hostBits > 1 && p.Addr().Is4() && !p.Contains(p.Addr().Next()):
		// CEL has no arithmetic on addresses.
		return rules.EgressRouterAddressBroadcast
	}
	return rules.Sentence{}
}

// validateGateway checks that the gateway can be the next hop from the address.
func validateGateway(path *field.Path, text string, gateway netip.Addr, of netip.Prefix) field.ErrorList {
	switch {
	case gateway.Is4() != of.Addr().Is4():
		return field.ErrorList{rules.EgressRouterGatewayFamily.Invalid(path, text, familyOf(gateway), of, familyOf(of.Addr()))}
	case gateway == of.Addr():
		return field.ErrorList{rules.EgressRouterGatewayOwn.Invalid(path, text)}
	case gateway.Is6() && gateway.IsLinkLocalUnicast(), of.Contains(gateway):
		return nil
	}
	or := ""
	if gateway.Is6() {
		or = ", or its link-local one"
	}
	return field.ErrorList{rules.EgressRouterGatewayOutside.Invalid(path, text, of.Masked(), or)}
}
