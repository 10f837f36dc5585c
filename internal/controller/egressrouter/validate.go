package egressrouter

import (
	"fmt"
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
		return append(errs, field.Required(root.Child("redirect"), "mode Redirect needs redirectRules, a fallbackIP, or both").WithOrigin("egressrouter-redirect"))
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
		errs = append(errs, field.Invalid(path.Child("mode"), m.Mode,
			"gives the master to one interface, and each address has its own interface; use Bridge, Private or VEPA, or one address").WithOrigin("egressrouter-passthru"))
	}
	// The kernel counts bytes, and the definition's rule characters.
	if !interfaceName.MatchString(m.Master) || len(m.Master) > 15 || m.Master == "." || m.Master == ".." {
		errs = append(errs, invalid(path.Child("master"), m.Master, "egressrouter-master"))
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
		return field.ErrorList{field.Required(path, "the router needs at least one address, e.g. {ip: 192.168.12.99/24, gateway: 192.168.12.1}").WithOrigin("egressrouter-addresses")}
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
			errs = append(errs, field.Invalid(path.Index(i).Child("ip"), a.IP, fmt.Sprintf(
				"there may be at most one address per family, and %s is not the only one of IPv%d; remove the others, and create a router for each of them", other, family)).WithOrigin("egressrouter-address-families"))
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
		errs = append(errs, field.Invalid(path.Child("ip"), a.IP, err.Error()).WithOrigin("egressrouter-address"))
	} else if wrong := notAHost(prefix); wrong != nil {
		errs = append(errs, wrong.at(path.Child("ip"), a.IP))
	}
	if a.Gateway == "" {
		return prefix, append(errs, field.Required(path.Child("gateway"),
			fmt.Sprintf("write the address of the router of the network of %s, since everything that the pod sends goes there", a.IP)).WithOrigin("egressrouter-gateway-required"))
	}
	gateway, err := parseIP(a.Gateway)
	if err != nil {
		return prefix, append(errs, invalid(path.Child("gateway"), a.Gateway, "egressrouter-gateway"))
	}
	if wrong := notAGateway(gateway, prefix); prefix.IsValid() && wrong != nil {
		errs = append(errs, wrong.at(path.Child("gateway"), a.Gateway))
	}
	return prefix, errs
}

// violation is a rule that a value does not obey, and what is wrong with it.
type violation struct{ rule, detail string }

// violated is the violation of a rule of the definition.
func violated(rule string, args ...any) *violation {
	return &violation{rule, rules.Detail(rule, args...)}
}

func (v violation) at(path *field.Path, value any) *field.Error {
	return field.Invalid(path, value, v.detail).WithOrigin(v.rule)
}

func invalid(path *field.Path, value any, rule string) *field.Error {
	return violated(rule).at(path, value)
}

// notAHost says why a router cannot have an address.
func notAHost(p netip.Prefix) *violation {
	hostBits := p.Addr().BitLen() - p.Bits()
	switch {
	case !p.Addr().IsGlobalUnicast():
		return violated("egressrouter-address-special")
	case hostBits > 1 && p == p.Masked():
		return violated("egressrouter-address-network")
	case hostBits > 1 && p.Addr().Is4() && !p.Contains(p.Addr().Next()):
		// CEL has no arithmetic on addresses.
		return &violation{"egressrouter-address-broadcast", "is the broadcast address of the network; write the one that the router is to have"}
	}
	return nil
}

// notAGateway says why an address cannot be that of the next router of a network.
func notAGateway(gateway netip.Addr, of netip.Prefix) *violation {
	switch {
	case gateway.Is4() != of.Addr().Is4():
		return violated("egressrouter-gateway-family", familyOf(gateway), of, familyOf(of.Addr()))
	case gateway == of.Addr():
		return violated("egressrouter-gateway-own")
	case gateway.Is6() && gateway.IsLinkLocalUnicast(), of.Contains(gateway):
		return nil
	case gateway.Is6():
		return violated("egressrouter-gateway-outside", of.Masked(), ", or its link-local one")
	default:
		return violated("egressrouter-gateway-outside", of.Masked(), "")
	}
}
