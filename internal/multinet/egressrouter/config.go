package egressrouter

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/cluster-network-operator/cno/internal/multinet/strictjson"
)

const (
	// maxConfig bounds the configuration in bytes: a definition is at most this long.
	maxConfig = 256 << 10
	// maxDestinations bounds the rules of an attachment.
	maxDestinations = 1024
	// maxInterfaceName is the longest name of an interface in bytes.
	maxInterfaceName = 15
	minMTU, maxMTU   = 68, 65535
	// minMTUv6 is the minimum link MTU of IPv6.
	minMTUv6 = 1280
)

// modes are those of macvlan.
var modes = []string{"bridge", "private", "vepa", "passthru"}

// Conf is a parsed configuration.
type Conf struct {
	// Name is that of the network.
	Name string
	// Master is an interface of the node; if it is empty, that of the node's default route.
	Master string
	// Mode is one of macvlan's: bridge, private, vepa, passthru.
	Mode string
	// MTU is 0 for that of the master.
	MTU int
	// Address is the router's, with the length of the prefix of its network. Gateway is in that network, or link-local.
	Address netip.Prefix
	Gateway netip.Addr
	// Destinations are in order. That for all ports, if there is one, is the last.
	Destinations []Destination
	// Debug is true if each step is to be logged.
	Debug bool
}

// Family is that of the address.
func (c *Conf) Family() Family { return FamilyOf(c.Address.Addr()) }

// NeedsGateway reports whether there is a destination outside the router's own network.
func (c *Conf) NeedsGateway() bool {
	return slices.ContainsFunc(c.Destinations, func(d Destination) bool { return !c.Address.Contains(d.Address) })
}

// Parse reads a configuration strictly, and returns all errors in it, up to strictjson.MaxErrors. It accepts keys of CNI that the plugin does not use, and keys
// with a domain.
func Parse(text []byte) (Conf, field.ErrorList) {
	c := Conf{Mode: modes[0]}
	if len(text) > maxConfig {
		return c, field.ErrorList{field.TooLong(nil, "", maxConfig)}
	}
	value, errs := strictjson.Parse(string(text), nil)
	o, ok := value.(*strictjson.Object)
	if !ok {
		if len(errs) == 0 {
			errs = append(errs, field.Forbidden(nil, "the configuration is not a JSON object"))
		}
		return c, errs
	}
	r := reader{conf: &c, errs: errs}
	r.object(o, nil, r.top())
	r.complete()
	return c, strictjson.Bound(r.errs, nil)
}

// reader collects the configuration and the errors.
type reader struct {
	conf *Conf
	errs field.ErrorList
	// typed and addressed are true if these keys exist, also with a wrong value.
	typed, named, addressed, routed bool
}

type readers map[string]func(value any, at *field.Path)

// ignored is for keys whose value has no effect.
func ignored(any, *field.Path) {}

func (r *reader) top() readers {
	return readers{
		"type": func(v any, at *field.Path) {
			r.typed = true
			r.oneOf(v, at, false, Type)
		},
		"name": func(v any, at *field.Path) {
			r.named = true
			r.conf.Name, _ = r.text(v, at)
		},
		"interfaceType": func(v any, at *field.Path) { r.oneOf(v, at, false, "macvlan") },
		"interfaceArgs": func(v any, at *field.Path) { r.nested(v, at, r.interfaceArgs()) },
		"ip":            func(v any, at *field.Path) { r.nested(v, at, r.ip()) },
		"log_level": func(v any, at *field.Path) {
			level, _ := r.text(v, at)
			r.conf.Debug = strings.EqualFold(level, "debug")
		},
		"podIP":    r.unsupported("the plugin does not support addresses by pod; write ip"),
		"ipConfig": r.unsupported("the plugin does not support addresses in a ConfigMap; write ip"),
		"ipam": func(v any, at *field.Path) {
			if o, ok := v.(*strictjson.Object); !ok || len(o.Keys) > 0 {
				r.forbid(at, "is not used by this plugin, whose address is in ip.addresses; remove it")
			}
		},
		"cniVersion": ignored, "log_file": ignored,
		"args": ignored, "runtimeConfig": ignored, "capabilities": ignored, "prevResult": ignored, "dns": ignored, "disableCheck": ignored, "disableGC": ignored,
	}
}

func (r *reader) interfaceArgs() readers {
	return readers{
		"mode": func(v any, at *field.Path) { r.conf.Mode = r.oneOf(v, at, true, modes...) },
		"master": func(v any, at *field.Path) {
			name, ok := r.text(v, at)
			if ok && !validInterface(name) {
				r.invalid(at, name, "is not the name of an interface")
			}
			r.conf.Master = name
		},
		"mtu": r.mtu,
	}
}

func (r *reader) ip() readers {
	return readers{
		"addresses":    r.addresses,
		"gateway":      r.gateway,
		"destinations": r.destinations,
	}
}

func (r *reader) forbid(at *field.Path, detail string) {
	r.errs = append(r.errs, field.Forbidden(at, detail))
}

func (r *reader) wrongType(at *field.Path, value any, want string) {
	r.errs = append(r.errs, strictjson.WrongType(at, value, want))
}

func (r *reader) invalid(at *field.Path, value any, detail string) {
	if s, ok := value.(string); ok {
		value = strictjson.Short(s)
	}
	r.errs = append(r.errs, field.Invalid(at, value, detail))
}

func (r *reader) unsupported(detail string) func(any, *field.Path) {
	return func(_ any, at *field.Path) { r.forbid(at, detail) }
}

func (r *reader) object(o *strictjson.Object, at *field.Path, keys readers) {
	for _, key := range o.Keys {
		path := field.NewPath(key)
		if at != nil {
			path = at.Child(key)
		}
		read, ok := keys[key]
		switch {
		case ok:
			read(o.Values[key], path)
		case !strings.ContainsAny(key, "./"):
			r.errs = append(r.errs, strictjson.UnknownKey(path, key, slices.Collect(maps.Keys(keys))))
		}
	}
}

func (r *reader) nested(v any, at *field.Path, keys readers) {
	if o, ok := v.(*strictjson.Object); ok {
		r.object(o, at, keys)
		return
	}
	r.wrongType(at, v, "an object")
}

func (r *reader) text(v any, at *field.Path) (string, bool) {
	s, ok := v.(string)
	if !ok {
		r.wrongType(at, v, "a string")
	}
	return s, ok
}

// oneOf reads one of the values; if fold is true, in letters of any case.
func (r *reader) oneOf(v any, at *field.Path, fold bool, values ...string) string {
	s, ok := r.text(v, at)
	if !ok {
		return values[0]
	}
	chosen := s
	if fold {
		chosen = strings.ToLower(s)
	}
	if slices.Contains(values, chosen) {
		return chosen
	}
	r.invalid(at, s, "must be one of "+strings.Join(values, ", "))
	return values[0]
}

// mtu reads a number, which OpenShift's plugin has as a string.
func (r *reader) mtu(v any, at *field.Path) {
	text := ""
	switch v := v.(type) {
	case json.Number:
		text = v.String()
	case string:
		text = v
	}
	n, err := strconv.Atoi(text)
	if err != nil || n != 0 && (n < minMTU || n > maxMTU) {
		r.invalid(at, text, fmt.Sprintf("is not an MTU; write a number from %d to %d, or leave it out for that of the master", minMTU, maxMTU))
		return
	}
	r.conf.MTU = n
}

func validInterface(name string) bool {
	return len(name) <= maxInterfaceName && name != "." && name != ".." && !strings.ContainsFunc(name, func(c rune) bool {
		return c == '/' || c == ':' || unicode.IsSpace(c)
	})
}
