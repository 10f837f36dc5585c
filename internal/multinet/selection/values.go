package selection

import (
	"encoding/json"
	"fmt"
	"maps"
	"net"
	"net/netip"
	"slices"
	"strings"

	utilvalidation "k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/cluster-network-operator/cno/internal/multinet/strictjson"
)

func readIPs(s *Selection, value any, at *field.Path) field.ErrorList {
	list, ok := value.([]any)
	if !ok {
		return field.ErrorList{strictjson.WrongType(at, value, "a list of addresses")}
	}
	if len(list) == 0 {
		return field.ErrorList{field.Required(at, "must have at least one address; remove the key if the network chooses the address")}
	}
	var errs field.ErrorList
	seen := map[netip.Addr]bool{}
	for i, element := range list {
		var ip string
		wrong := text(&ip, element, at.Index(i), validateIP)
		errs = append(errs, wrong...)
		s.IPs = append(s.IPs, ip)
		if len(wrong) > 0 {
			continue
		}
		if addr := addressOf(ip); seen[addr] {
			errs = append(errs, field.Invalid(at.Index(i), ip, "is a repeated address; remove one of them"))
		} else {
			seen[addr] = true
		}
	}
	return errs
}

// addressOf returns the address of text with or without a prefix length; it is not valid if the text is neither.
func addressOf(ip string) netip.Addr {
	if p, err := netip.ParsePrefix(ip); err == nil {
		return p.Addr()
	}
	addr, _ := netip.ParseAddr(ip)
	return addr
}

func validateIP(ip string, at *field.Path) field.ErrorList {
	if !usable(addressOf(ip)) {
		return field.ErrorList{field.Invalid(at, strictjson.Short(ip), "must be the address of an interface, with or without a prefix length, for example 192.0.2.10/24")}
	}
	return nil
}

// usable reports whether an interface can have an address.
func usable(a netip.Addr) bool {
	return a.IsValid() && a.Zone() == "" && !a.Is4In6() && !a.IsUnspecified() && !a.IsMulticast() && !a.IsLoopback()
}

func validateMAC(mac string, at *field.Path) field.ErrorList {
	hw, err := net.ParseMAC(mac)
	switch {
	case err != nil || len(hw) != 6:
		return field.ErrorList{field.Invalid(at, strictjson.Short(mac), "must be a hardware address of six bytes, for example 02:00:00:00:00:01")}
	case hw[0]&1 == 1:
		return field.ErrorList{field.Invalid(at, mac, "is a multicast address; the first byte must be even")}
	case [6]byte(hw) == [6]byte{}:
		return field.ErrorList{field.Invalid(at, mac, "is not the address of an interface")}
	}
	return nil
}

func validateGUID(guid string, at *field.Path) field.ErrorList {
	if hw, err := net.ParseMAC(guid); err != nil || len(hw) != 8 {
		return field.ErrorList{field.Invalid(at, strictjson.Short(guid), "must be a GUID of eight bytes, for example 02:00:00:00:00:00:00:01")}
	}
	return nil
}

func validateClaim(name string, at *field.Path) field.ErrorList {
	if len(utilvalidation.IsDNS1123Subdomain(name)) > 0 {
		return field.ErrorList{field.Invalid(at, strictjson.Short(name), "must be the name of an IPAMClaim")}
	}
	return nil
}

func readArgs(s *Selection, value any, at *field.Path) field.ErrorList {
	o, ok := value.(*strictjson.Object)
	if !ok {
		return field.ErrorList{strictjson.WrongType(at, value, "an object")}
	}
	s.CNIArgs = o.Map()
	return nil
}

func readDefaultRoute(s *Selection, value any, at *field.Path) field.ErrorList {
	list, ok := value.([]any)
	if !ok {
		return field.ErrorList{strictjson.WrongType(at, value, "a list of gateways, which may be empty")}
	}
	s.DefaultRoute = true
	var errs field.ErrorList
	for i, element := range list {
		var gateway string
		errs = append(errs, text(&gateway, element, at.Index(i), func(v string, at *field.Path) field.ErrorList {
			addr, err := netip.ParseAddr(v)
			if err != nil || !usable(addr) {
				return field.ErrorList{field.Invalid(at, strictjson.Short(v), "must be the address of a gateway, without a prefix length")}
			}
			s.Gateways = append(s.Gateways, addr)
			return nil
		})...)
	}
	return errs
}

// number reads a whole number between lowest and highest.
func number(into *int64, value any, at *field.Path, lowest, highest int64) field.ErrorList {
	n, ok := value.(json.Number)
	if !ok {
		return field.ErrorList{strictjson.WrongType(at, value, "a number")}
	}
	i, err := n.Int64()
	if err != nil || i < lowest || i > highest {
		return field.ErrorList{field.Invalid(at, strictjson.Short(n.String()), fmt.Sprintf("must be a whole number from %d to %d", lowest, highest))}
	}
	*into = i
	return nil
}

// highestPort is the highest port of TCP, UDP and SCTP.
const highestPort = 1<<16 - 1

func readPortMappings(s *Selection, value any, at *field.Path) field.ErrorList {
	list, ok := value.([]any)
	if !ok {
		return field.ErrorList{strictjson.WrongType(at, value, "a list of port mappings")}
	}
	var errs field.ErrorList
	if len(list) == 0 {
		errs = append(errs, field.Required(at, "must have at least one port mapping"))
	}
	for i, element := range list {
		o, ok := element.(*strictjson.Object)
		if !ok {
			errs = append(errs, strictjson.WrongType(at.Index(i), element, "an object with hostPort and containerPort"))
			continue
		}
		m, wrong := readPortMapping(o, at.Index(i))
		errs = append(errs, wrong...)
		s.PortMappings = append(s.PortMappings, m)
	}
	return errs
}

func readPortMapping(o *strictjson.Object, at *field.Path) (PortMapping, field.ErrorList) {
	protocol := "tcp"
	ports := map[string]*int64{"hostPort": new(int64), "containerPort": new(int64), "protocol": nil}
	var errs field.ErrorList
	for _, key := range o.Keys {
		port, known := ports[key]
		switch {
		case !known:
			errs = append(errs, strictjson.UnknownKey(at, key, slices.Collect(maps.Keys(ports))))
		case port != nil:
			errs = append(errs, number(port, o.Values[key], at.Child(key), 1, highestPort)...)
		default:
			errs = append(errs, text(&protocol, o.Values[key], at.Child(key), validateProtocol)...)
		}
	}
	for _, key := range []string{"hostPort", "containerPort"} {
		if _, ok := o.Values[key]; !ok {
			errs = append(errs, field.Required(at.Child(key), "must be a port"))
		}
	}
	return PortMapping{HostPort: int32(*ports["hostPort"]), ContainerPort: int32(*ports["containerPort"]), Protocol: strings.ToLower(protocol)}, errs //nolint:gosec // number has checked the range
}

func validateProtocol(protocol string, at *field.Path) field.ErrorList {
	switch strings.ToLower(protocol) {
	case "tcp", "udp", "sctp":
		return nil
	}
	return field.ErrorList{field.Invalid(at, strictjson.Short(protocol), "must be TCP, UDP or SCTP")}
}

func readBandwidth(s *Selection, value any, at *field.Path) field.ErrorList {
	o, ok := value.(*strictjson.Object)
	if !ok {
		return field.ErrorList{strictjson.WrongType(at, value, "an object with ingressRate or egressRate")}
	}
	b := &Bandwidth{}
	limits := map[string]*int64{"ingressRate": &b.IngressRate, "ingressBurst": &b.IngressBurst, "egressRate": &b.EgressRate, "egressBurst": &b.EgressBurst}
	var errs field.ErrorList
	for _, key := range o.Keys {
		limit, known := limits[key]
		if !known {
			errs = append(errs, strictjson.UnknownKey(at, key, slices.Collect(maps.Keys(limits))))
			continue
		}
		errs = append(errs, number(limit, o.Values[key], at.Child(key), 1, 1<<62)...)
	}
	if len(o.Keys) == 0 {
		errs = append(errs, field.Required(at, "must have at least one of ingressRate and egressRate"))
	}
	for _, direction := range []string{"ingress", "egress"} {
		if _, present := o.Values[direction+"Rate"]; !present && *limits[direction+"Burst"] > 0 {
			errs = append(errs, field.Required(at.Child(direction+"Rate"), "a burst needs its rate"))
		}
	}
	s.Bandwidth = b
	return errs
}
