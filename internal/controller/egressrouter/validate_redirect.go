package egressrouter

import (
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation/field"

	networkv1 "github.com/cluster-network-operator/cno/api/network/v1"
	"github.com/cluster-network-operator/cno/api/rules"
)

// largestPort is the largest port number of TCP, UDP and SCTP.
const largestPort = 65535

func validateRedirect(r *networkv1.RedirectConfig, available families, path *field.Path) (errs field.ErrorList) {
	if len(r.RedirectRules) == 0 && r.FallbackIP == "" {
		return field.ErrorList{rules.EgressRouterNoDestination.Required(path)}
	}
	type connection struct {
		port     int32
		protocol networkv1.ProtocolType
		ipv6     bool
	}
	seen := map[connection]bool{}
	for i := range r.RedirectRules {
		rule, at := &r.RedirectRules[i], path.Child("redirectRules").Index(i)
		errs = append(errs, validateRule(rule, available, at)...)
		c := connection{rule.Port, rule.Protocol, strings.Contains(rule.DestinationIP, ":")}
		if seen[c] {
			errs = append(errs, rules.EgressRouterPortTwice.Invalid(at.Child("port"), rule.Port, rule.Protocol, rule.Port))
		}
		seen[c] = true
	}
	if r.FallbackIP != "" {
		errs = append(errs, validateDestination(r.FallbackIP, available, path.Child("fallbackIP"), rules.EgressRouterFallback, rules.EgressRouterFallbackFamily)...)
	}
	return errs
}

func validateRule(r *networkv1.L4RedirectRule, available families, path *field.Path) field.ErrorList {
	errs := validateDestination(r.DestinationIP, available, path.Child("destinationIP"), rules.EgressRouterDestination, rules.EgressRouterDestinationFamily)
	if r.Port < 1 || r.Port > largestPort {
		errs = append(errs, rules.EgressRouterPort.Invalid(path.Child("port"), r.Port))
	}
	protocols := []networkv1.ProtocolType{networkv1.ProtocolTypeTCP, networkv1.ProtocolTypeUDP, networkv1.ProtocolTypeSCTP}
	if !slices.Contains(protocols, r.Protocol) {
		errs = append(errs, field.NotSupported(path.Child("protocol"), r.Protocol, protocols))
	}
	// 0 means unset.
	if r.TargetPort < 0 || r.TargetPort > largestPort {
		errs = append(errs, rules.EgressRouterTargetPort.Invalid(path.Child("targetPort"), r.TargetPort))
	}
	return errs
}

// validateDestination checks a destination address. syntax is the rule for an invalid address, family the rule for an IP family that the
// router does not have.
func validateDestination(value string, available families, path *field.Path, syntax, family rules.Sentence) field.ErrorList {
	a, err := parseIP(value)
	switch {
	case err != nil:
		return field.ErrorList{syntax.Invalid(path, value)}
	case !a.IsGlobalUnicast():
		return field.ErrorList{rules.EgressRouterUnreachable.Invalid(path, value)}
	case !available.contains(a):
		return field.ErrorList{family.Invalid(path, value, familyOf(a), familyOf(a))}
	}
	return nil
}

// validateOwn checks that no destination is an address of the router itself.
func validateOwn(spec *networkv1.EgressRouterSpec, path *field.Path) (errs field.ErrorList) {
	check := func(value string, at *field.Path) {
		a, err := parseIP(value)
		if err != nil {
			return
		}
		for _, address := range spec.Addresses {
			if own, err := parseCIDR(address.IP); err == nil && own.Addr() == a {
				errs = append(errs, rules.EgressRouterDestinationOwn.Invalid(at, value))
			}
		}
	}
	for i := range spec.Redirect.RedirectRules {
		check(spec.Redirect.RedirectRules[i].DestinationIP, path.Child("redirectRules").Index(i).Child("destinationIP"))
	}
	check(spec.Redirect.FallbackIP, path.Child("fallbackIP"))
	return errs
}

func familyOf(a netip.Addr) int {
	if a.Is4() {
		return 4
	}
	return 6
}

var errNotAnAddress = errors.New("is not an IP address")

// parseIP parses an address by the API server's rules: no zone and no IPv4-mapped IPv6 address.
func parseIP(s string) (netip.Addr, error) {
	a, err := netip.ParseAddr(s)
	if err != nil || a.Zone() != "" || a.Is4In6() {
		return netip.Addr{}, errNotAnAddress
	}
	return a, nil
}

// notACIDR is the error of parseCIDR; remedy is the text of the fix.
type notACIDR struct{ remedy string }

func (e *notACIDR) Error() string { return rules.EgressRouterAddress.Detail(e.remedy) }

// parseCIDR parses an address with a prefix length.
func parseCIDR(s string) (netip.Prefix, *notACIDR) {
	p, err := netip.ParsePrefix(s)
	if err == nil && !p.Addr().Is4In6() {
		return p, nil
	}
	if a, err := parseIP(s); err == nil {
		usual := 64
		if a.Is4() {
			usual = 24
		}
		return netip.Prefix{}, &notACIDR{fmt.Sprintf("add the length of the prefix of its network, e.g. %s/%d", s, usual)}
	}
	return netip.Prefix{}, &notACIDR{"write an address and the length of the prefix of its network, e.g. 192.168.12.99/24"}
}
