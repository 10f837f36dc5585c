package noproxy

import (
	"fmt"
	"net/netip"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// validateNoProxy checks each item of the list. Indexes include empty items.
func validateNoProxy(at *field.Path, list string) field.ErrorList {
	if strings.TrimSpace(list) == "" || strings.TrimSpace(list) == everything {
		return nil
	}
	var errs field.ErrorList
	for i, item := range strings.Split(list, ",") {
		item = strings.TrimSpace(item)
		if hint := checkItem(item); hint != "" {
			shown := item
			if strings.Contains(item, "@") || strings.Contains(item, "://") {
				shown = Redact(item)
			}
			errs = append(errs, field.Invalid(at.Index(i), shown, "invalid noProxy: "+hint))
		}
	}
	return errs
}

// checkItem returns the remedy for an item that is neither a domain nor an address nor a CIDR; "" for a valid or empty
// item.
func checkItem(item string) string {
	switch {
	case item == "" || isDomain(item):
		return ""
	case item == everything:
		return "* means everything, and must then be the only item"
	case strings.Contains(item, "://"):
		return "is a URL; write the host only"
	case strings.ContainsAny(item, " \t\r\n;|"):
		return "separate items with commas"
	}
	if _, err := netip.ParseAddr(item); err == nil {
		return ""
	}
	if address, length, found := strings.Cut(item, "/"); found {
		return checkCIDR(item, address, length)
	}
	return hint(item)
}

// isDomain reports whether an item is a domain in any case, with an optional leading or trailing dot. A name whose last
// label is a number is none, since clients parse it as an address.
func isDomain(item string) bool {
	name := strings.ToLower(strings.TrimSuffix(strings.TrimPrefix(item, "."), "."))
	return len(validation.IsDNS1123Subdomain(name)) == 0 && !endsInNumber(name)
}

func endsInNumber(name string) bool {
	return strings.Trim(name[strings.LastIndex(name, ".")+1:], digits) == ""
}

func checkCIDR(item, address, length string) string {
	prefix, err := netip.ParsePrefix(item)
	if err == nil && prefix.Bits() == 0 {
		return "contains every address, so no connection to an address would use the proxy; list the networks to reach without it, or only * to bypass it for everything"
	}
	if err == nil {
		return ""
	}
	a, err := netip.ParseAddr(address)
	if err != nil {
		return fmt.Sprintf("%q is not an address; write a CIDR as 10.0.0.0/16 or 2001:db8::/32", address)
	}
	return fmt.Sprintf("%q is not the length of a prefix; it is from 0 to %d for such an address", length, a.BitLen())
}

// hint suggests a correction.
func hint(item string) string {
	if rest, ok := strings.CutPrefix(item, "*."); ok && isDomain(rest) {
		return fmt.Sprintf("use %q for all subdomains", "."+rest)
	}
	if bare := strings.TrimSuffix(strings.TrimPrefix(item, "["), "]"); bare != item {
		if _, err := netip.ParseAddr(bare); err == nil {
			return fmt.Sprintf("write an address without brackets: %q", bare)
		}
	}
	if pair, err := netip.ParseAddrPort(item); err == nil {
		return fmt.Sprintf("ports are ignored; did you mean %q?", pair.Addr())
	}
	if host, port, found := strings.Cut(item, ":"); found && strings.Trim(port, digits) == "" && isDomain(host) {
		return fmt.Sprintf("ports are ignored; did you mean %q?", host)
	}
	if brokenAddress(strings.Trim(item, ".")) {
		return "is not a valid address: each of the four numbers must be 0 to 255"
	}
	if strings.Trim(item, digits+".") == "" {
		return "is not a complete address: an address has four numbers; write a network as a CIDR, for example 10.0.0.0/8"
	}
	return `is neither a domain nor an address nor a CIDR; write for example "example.com", ".example.com", "10.0.0.1" or "10.0.0.0/16"`
}
