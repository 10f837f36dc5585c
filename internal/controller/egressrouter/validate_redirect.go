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

// largestPort is the largest number of a port of TCP, UDP and SCTP.
const largestPort = 65535

func validateRedirect(r *networkv1.RedirectConfig, have families, path *field.Path) (errs field.ErrorList) {
	if len(r.RedirectRules) == 0 && r.FallbackIP == "" {
		return field.ErrorList{field.Required(path, rules.Detail("egressrouter-no-destination")).WithOrigin("egressrouter-no-destination")}
	}
	type connection struct {
		port     int32
		protocol networkv1.ProtocolType
		ipv6     bool
	}
	seen := map[connection]bool{}
	for i := range r.RedirectRules {
		rule, at := &r.RedirectRules[i], path.Child("redirectRules").Index(i)
		errs = append(errs, validateRule(rule, have, at)...)
		c := connection{rule.Port, rule.Protocol, strings.Contains(rule.DestinationIP, ":")}
		if seen[c] {
			errs = append(errs, field.Invalid(at.Child("port"), rule.Port, fmt.Sprintf(
				"%s port %d is redirected more than once, and only the first rule counts; remove all but one", rule.Protocol, rule.Port)).WithOrigin("egressrouter-port-twice"))
		}
		seen[c] = true
	}
	if r.FallbackIP != "" {
		errs = append(errs, validateDestination(r.FallbackIP, have, path.Child("fallbackIP"), "egressrouter-fallback", "remove the fallback")...)
	}
	return errs
}

func validateRule(r *networkv1.L4RedirectRule, have families, path *field.Path) field.ErrorList {
	errs := validateDestination(r.DestinationIP, have, path.Child("destinationIP"), "egressrouter-destination", "remove the rule")
	if r.Port < 1 || r.Port > largestPort {
		errs = append(errs, invalid(path.Child("port"), r.Port, "egressrouter-port"))
	}
	protocols := []networkv1.ProtocolType{networkv1.ProtocolTypeTCP, networkv1.ProtocolTypeUDP, networkv1.ProtocolTypeSCTP}
	if !slices.Contains(protocols, r.Protocol) {
		errs = append(errs, field.NotSupported(path.Child("protocol"), r.Protocol, protocols))
	}
	// Left out is 0.
	if r.TargetPort < 0 || r.TargetPort > largestPort {
		errs = append(errs, invalid(path.Child("targetPort"), r.TargetPort, "egressrouter-target-port"))
	}
	return errs
}

// validateDestination checks where packets are sent. rule is what an address must be, otherwise the other way out than another address.
func validateDestination(value string, have families, path *field.Path, rule, otherwise string) field.ErrorList {
	a, err := parseIP(value)
	switch {
	case err != nil:
		return field.ErrorList{invalid(path, value, rule)}
	case !a.IsGlobalUnicast():
		return field.ErrorList{invalid(path, value, "egressrouter-unreachable")}
	case !have.has(a):
		return field.ErrorList{field.Invalid(path, value, fmt.Sprintf(
			"is IPv%d, and the router has no IPv%d address; add one to spec.addresses, or %s", familyOf(a), familyOf(a), otherwise)).WithOrigin(rule + "-family")}
	}
	return nil
}

// validateOwn checks that a router does not send to itself.
func validateOwn(spec *networkv1.EgressRouterSpec, path *field.Path) (errs field.ErrorList) {
	check := func(value string, at *field.Path) {
		a, err := parseIP(value)
		if err != nil {
			return
		}
		for _, address := range spec.Addresses {
			if own, err := parseCIDR(address.IP); err == nil && own.Addr() == a {
				errs = append(errs, field.Invalid(at, value, "is the router's own address; write that of the server").WithOrigin("egressrouter-destination-own"))
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

// parseIP reads an address as the API server's rules do: no zone, and no IPv4 address in the notation of IPv6.
func parseIP(s string) (netip.Addr, error) {
	a, err := netip.ParseAddr(s)
	if err != nil || a.Zone() != "" || a.Is4In6() {
		return netip.Addr{}, errNotAnAddress
	}
	return a, nil
}

// parseCIDR reads an address with a prefix. The error goes on from the value, and says what to write.
func parseCIDR(s string) (netip.Prefix, error) {
	p, err := netip.ParsePrefix(s)
	if err == nil && !p.Addr().Is4In6() {
		return p, nil
	}
	if a, err := parseIP(s); err == nil {
		usual := 64
		if a.Is4() {
			usual = 24
		}
		return netip.Prefix{}, fmt.Errorf("is not a CIDR; add the length of the prefix of its network, e.g. %s/%d", s, usual)
	}
	return netip.Prefix{}, errors.New("is not a CIDR; write an address and the length of the prefix of its network, e.g. 192.168.12.99/24")
}
