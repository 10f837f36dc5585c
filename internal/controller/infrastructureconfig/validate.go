package infrastructureconfig

import (
	"fmt"
	"net/netip"

	configv1 "github.com/openshift/api/config/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// maxVIPs is the maximum number of virtual addresses of a kind: one of each IP family.
const maxVIPs = 2

// validate returns all errors of the specification.
func validate(s *platform) field.ErrorList {
	d := s.desired
	networks, errs := machineNetworks(d)
	api := read(d.path.Child("apiServerInternalIPs"), "API", *d.api)
	ingress := read(d.path.Child("ingressIPs"), "Ingress", *d.ingress)
	for _, v := range []vips{api, ingress} {
		errs = append(errs, v.validate()...)
		if !d.userManaged {
			errs = append(errs, v.within(networks)...)
		}
	}
	errs = append(errs, pairs(api, ingress, d.userManaged)...)
	errs = append(errs, api.keepsFirst(*s.api.all)...)
	return append(errs, ingress.keepsFirst(*s.ingress.all)...)
}

// machineNetworks parses the machine networks. Existing ones may be extended, but the first one stays.
func machineNetworks(d *desired) ([]netip.Prefix, field.ErrorList) {
	path := d.path.Child("machineNetworks")
	var networks []netip.Prefix
	var errs field.ErrorList
	wanted, active := *d.machines, *d.active
	if d.created && len(wanted) == 0 {
		wanted = active // filled from the status
	}
	for i, text := range wanted {
		n, err := netip.ParsePrefix(string(text))
		if err != nil {
			errs = append(errs, field.Invalid(path.Index(i), string(text), "is not a CIDR; write an address and a prefix, e.g. 192.168.111.0/24"))
			continue
		}
		networks = append(networks, n.Masked())
	}
	switch {
	case len(active) == 0:
	case len(wanted) == 0:
		errs = append(errs, field.Forbidden(path, fmt.Sprintf("removing machine networks is forbidden; restore %s", active[0])))
	case !sameNetwork(wanted[0], active[0]):
		errs = append(errs, field.Invalid(path.Index(0), string(wanted[0]), fmt.Sprintf("first machine network cannot be modified, have '%s' and requested '%s'; restore it, and add others after it", active[0], wanted[0])))
	}
	return networks, errs
}

func sameNetwork(a, b configv1.CIDR) bool {
	p, err := netip.ParsePrefix(string(a))
	q, err2 := netip.ParsePrefix(string(b))
	return a == b || err == nil && err2 == nil && p.Masked() == q.Masked()
}

// vips are the virtual addresses of a kind in the specification. An unparsable address is invalid.
type vips struct {
	path  *field.Path
	kind  string
	texts []configv1.IP
	addrs []netip.Addr
}

func read(path *field.Path, kind string, texts []configv1.IP) vips {
	v := vips{path: path, kind: kind, texts: texts}
	for _, t := range texts {
		a, err := netip.ParseAddr(string(t))
		if err != nil {
			a = netip.Addr{}
		}
		v.addrs = append(v.addrs, a.Unmap().WithZone(""))
	}
	return v
}

// validate checks the addresses themselves.
func (v vips) validate() field.ErrorList {
	var errs field.ErrorList
	if n := len(v.texts); n > maxVIPs {
		errs = append(errs, field.Forbidden(v.path, fmt.Sprintf("number of %s VIPs needs to be less or equal to %d, got %d", v.kind, maxVIPs, n)))
	}
	readable := true
	for i, a := range v.addrs {
		if !a.IsValid() {
			readable = false
			errs = append(errs, field.Invalid(v.path.Index(i), string(v.texts[i]), "is not an IP address; write one without a prefix, e.g. 192.168.111.5"))
		}
	}
	if readable && len(v.addrs) == maxVIPs && v.addrs[0].Is4() == v.addrs[1].Is4() {
		errs = append(errs, field.Invalid(v.path.Index(1), string(v.texts[1]), fmt.Sprintf("with more than 1 %s VIP at least one from each IP family is required", v.kind)))
	}
	return errs
}

// within requires every address to be in a machine network, if any are known.
func (v vips) within(networks []netip.Prefix) field.ErrorList {
	var errs field.ErrorList
	for i, a := range v.addrs {
		found := len(networks) == 0 || !a.IsValid()
		for _, n := range networks {
			found = found || n.Contains(a)
		}
		if !found {
			errs = append(errs, field.Invalid(v.path.Index(i), string(v.texts[i]), fmt.Sprintf("VIP '%s' cannot be found in any machine network", v.texts[i])))
		}
	}
	return errs
}

// keepsFirst requires the first address to stay, because nodes and certificates use it.
func (v vips) keepsFirst(active []string) field.ErrorList {
	if len(v.texts) == 0 || len(active) == 0 || string(v.texts[0]) == active[0] {
		return nil
	}
	if a, err := netip.ParseAddr(active[0]); err == nil && v.addrs[0].IsValid() && a.Unmap() == v.addrs[0] {
		return nil // the same address in another notation
	}
	return field.ErrorList{field.Invalid(v.path.Index(0), string(v.texts[0]), fmt.Sprintf("first VIP cannot be modified, have '%s' and requested '%s'; restore it", active[0], v.texts[0]))}
}

// pairs compares the two kinds. A user-managed load balancer may serve both on one address.
func pairs(api, ingress vips, userManaged bool) field.ErrorList {
	var errs field.ErrorList
	if len(api.texts) != len(ingress.texts) {
		errs = append(errs, field.Forbidden(ingress.path, fmt.Sprintf("number of API VIPs (%d) does not match number of Ingress VIPs (%d)", len(api.texts), len(ingress.texts))))
	}
	if userManaged {
		return errs
	}
	for i, a := range ingress.addrs[:min(len(ingress.addrs), maxVIPs)] {
		for j, b := range api.addrs[:min(len(api.addrs), maxVIPs)] {
			if a.IsValid() && a == b {
				errs = append(errs, field.Invalid(ingress.path.Index(i), string(ingress.texts[i]), fmt.Sprintf("VIPs cannot be equal, got '%s' for API and '%s' for Ingress", api.texts[j], ingress.texts[i])))
			}
		}
	}
	return errs
}
