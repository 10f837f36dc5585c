package definition

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/cluster-network-operator/cno/internal/multinet/egressrouter"
)

// BridgePrefix returns the prefix of the names of bridges that restricted definitions of a namespace may use. The kernel allows names of 15 characters, so that the
// hash is short: namespaces with the same prefix can be made. Restricted.PrefixOf keeps them apart.
func BridgePrefix(namespace string) string {
	sum := sha256.Sum256([]byte(namespace))
	return "br" + hex.EncodeToString(sum[:3]) + "-"
}

// allowed and allowedIPAM are the plugins and IPAM plugins of restricted definitions.
var (
	allowed     = []string{"macvlan", "bridge", "tuning", "bandwidth", "sbr", egressrouter.Type}
	allowedIPAM = []string{"static", "whereabouts", "dhcp"}
)

// check checks a plugin of a restricted definition.
func (r *Restricted) check(p map[string]any, at *field.Path) field.ErrorList {
	var errs field.ErrorList
	kind, _ := p["type"].(string)
	if kind != "" && !slices.Contains(allowed, kind) {
		errs = append(errs, field.NotSupported(at.Child("type"), short(kind), allowed))
	}
	switch kind {
	case "macvlan":
		if master, _ := p["master"].(string); !slices.Contains(r.Masters, master) {
			errs = append(errs, r.notAMaster(at.Child("master"), p["master"]))
		}
		errs = append(errs, sharedMaster(p["mode"], at.Child("mode"))...)
	case egressrouter.Type:
		errs = append(errs, r.checkEgressRouter(p, at)...)
	case "bridge":
		prefix := BridgePrefix(r.Namespace)
		if name, _ := p["bridge"].(string); !strings.HasPrefix(name, prefix) {
			errs = append(errs, field.Invalid(at.Child("bridge"), short(p["bridge"]), fmt.Sprintf("must begin with %q in namespace %s", prefix, r.Namespace)))
		}
		if r.PrefixOf != "" {
			errs = append(errs, field.Forbidden(at.Child("bridge"), fmt.Sprintf("the prefix %q is also that of namespace %s, which has older definitions; define bridges in a namespace of another name", prefix, r.PrefixOf)))
		}
		for _, key := range []string{"ipMasq", "isGateway", "isDefaultGateway"} {
			if p[key] == true {
				errs = append(errs, field.Forbidden(at.Child(key), "gives the node itself an address in the network, which restricted definitions may not do"))
			}
		}
	}
	if _, set := p["linkInContainer"]; set {
		errs = append(errs, field.Forbidden(at.Child("linkInContainer"), "cannot be used in restricted definitions: the master would be an interface of the pod; remove it"))
	}
	// The plugin static prefers the addresses of args to those of ipam.
	errs = append(errs, r.checkAddresses(p["args"], at.Child("args"))...)
	ipam, _ := p["ipam"].(map[string]any)
	if len(ipam) == 0 {
		return errs
	}
	if manager, _ := ipam["type"].(string); manager != "" && !slices.Contains(allowedIPAM, manager) {
		errs = append(errs, field.NotSupported(at.Child("ipam", "type"), short(manager), allowedIPAM))
	}
	return append(errs, r.checkAddresses(ipam, at.Child("ipam"))...)
}

// sharedMaster refuses the mode in which an interface takes all packets of the master, which other namespaces then cannot use.
func sharedMaster(mode any, at *field.Path) field.ErrorList {
	if text, _ := mode.(string); isPassthru(text) {
		return field.ErrorList{field.Forbidden(at, "passthru takes the master from the pods of all other namespaces; use another mode")}
	}
	return nil
}

// checkAddresses refuses addresses of pods, Services and nodes in all values of an IPAM configuration. The destination of a default route alone may contain them.
func (r *Restricted) checkAddresses(value any, at *field.Path) field.ErrorList {
	var w walker
	w.addresses(value, at, r.Networks, "", "")
	return w.errs
}

// addresses checks a value that has the given key, in a value with the key outer; elements of lists have the key of the list.
func (w *walker) addresses(value any, at *field.Path, networks []netip.Prefix, outer, key string) {
	if w.full() {
		return
	}
	switch v := value.(type) {
	case map[string]any:
		for _, inner := range slices.Sorted(maps.Keys(v)) {
			w.addresses(v[inner], at.Child(inner), networks, key, inner)
		}
	case []any:
		for i, e := range v {
			w.addresses(e, at.Index(i), networks, outer, key)
		}
	case string:
		p, ok := prefixOf(v)
		if !ok || outer == "routes" && key == "dst" && p.Bits() == 0 && strings.HasPrefix(v, p.Addr().String()+"/") {
			return
		}
		if i := slices.IndexFunc(networks, func(n netip.Prefix) bool { return contains(p, n) }); i >= 0 {
			w.add(field.Invalid(at, short(v), fmt.Sprintf("is in %s, which the cluster uses, or contains it; use other addresses", networks[i])))
		}
	}
}

// contains reports whether a prefix has addresses of a network. A short prefix of IPv6 has those of IPv4 too, as mapped addresses, which plugins take for IPv4.
func contains(p, network netip.Prefix) bool {
	return p.Overlaps(network) || network.Addr().Is4() && p.Overlaps(mappedIPv4)
}

// mappedIPv4 has the IPv4-mapped addresses of IPv6.
var mappedIPv4 = netip.MustParsePrefix("::ffff:0:0/96")

// prefixOf reads an address, a prefix, or a range of whereabouts (first-last/length).
func prefixOf(text string) (netip.Prefix, bool) {
	if _, last, ok := strings.Cut(text, "-"); ok {
		if p, err := netip.ParsePrefix(strings.TrimSpace(last)); err == nil {
			return unmapped(p), true
		}
	}
	if p, err := netip.ParsePrefix(strings.TrimSpace(text)); err == nil {
		return unmapped(p), true
	}
	if a, err := netip.ParseAddr(strings.TrimSpace(text)); err == nil {
		a = a.Unmap().WithZone("")
		return netip.PrefixFrom(a, a.BitLen()), true
	}
	return netip.Prefix{}, false
}

// unmapped returns a prefix, with IPv4-mapped IPv6 addresses converted to IPv4.
func unmapped(p netip.Prefix) netip.Prefix {
	if bits := mappedIPv4.Bits(); p.Addr().Is4In6() && p.Bits() >= bits {
		p = netip.PrefixFrom(p.Addr().Unmap(), p.Bits()-bits)
	}
	return p.Masked()
}
