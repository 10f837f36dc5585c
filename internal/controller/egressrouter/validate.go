package egressrouter

import (
	"net/netip"
	"regexp"
	"slices"

	"k8s.io/apimachinery/pkg/util/validation/field"

	networkv1 "github.com/cluster-network-operator/cno/api/network/v1"
	"github.com/cluster-network-operator/cno/api/rules"
)

// Validate returns everything that is wrong with a specification. The rules are those of this project's definition of the kind, with
// which the API server refuses such objects; they are here for clusters that have OpenShift's definition, which lets most of them pass,
// and for what the definition cannot say.
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
	// The kernel counts bytes, and the definition's rule characters.
	if !interfaceName.MatchString(m.Master) || len(m.Master) > 15 || m.Master == "." || m.Master == ".." {
		errs = append(errs, rules.EgressRouterMaster.Invalid(path.Child("master"), m.Master))
	}
	return errs
}

// families says which IP families the addresses of a router have. Addresses that cannot be read may be of any.
type families struct{ ipv4, ipv6 bool }

func familiesOf(addresses []networkv1.EgressRouterAddress) (f families) {
	for _, a := range addresses {
		p, err := parseCIDR(a.IP)
		f.ipv4 = f.ipv4 || err != nil || p.Addr().Is4()
		f.ipv6 = f.ipv6 || err != nil || p.Addr().Is6()
	}
	return f
}

func (f families) has(a netip.Addr) bool { return a.Is4() && f.ipv4 || a.Is6() && f.ipv6 }

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

// validateAddress returns the address as well, which is not valid if it cannot be read.
func validateAddress(a *networkv1.EgressRouterAddress, path *field.Path) (netip.Prefix, field.ErrorList) {
	var errs field.ErrorList
	prefix, err := parseCIDR(a.IP)
	if err != nil {
		errs = append(errs, rules.EgressRouterAddress.Invalid(path.Child("ip"), a.IP, err.remedy))
	} else if wrong := notAHost(prefix); wrong != (rules.Sentence{}) {
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

// notAHost says why a router cannot have an address; the zero Sentence if it can.
func notAHost(p netip.Prefix) rules.Sentence {
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

// validateGateway refuses an address that cannot be that of the next router of a network.
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
