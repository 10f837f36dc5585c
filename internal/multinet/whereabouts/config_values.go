package whereabouts

import (
	"encoding/json"
	"fmt"
	"math"
	"net/netip"
	"strconv"

	"github.com/containernetworking/cni/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/cluster-network-operator/cno/internal/multinet/strictjson"
	"github.com/cluster-network-operator/cno/internal/netaddr"
)

// text reads a string; ok is false after an error.
func (p *parser) text(value any, at *field.Path) (text string, ok bool) {
	if text, ok = value.(string); !ok {
		p.fail(strictjson.WrongType(at, value, "a string"))
	}
	return text, ok
}

func (p *parser) boolean(into *bool, value any, at *field.Path) {
	b, ok := value.(bool)
	if !ok {
		p.fail(strictjson.WrongType(at, value, "true or false"))
		return
	}
	*into = b
}

// gateway reads an address; an empty text is none.
func (p *parser) gateway(value any, at *field.Path) netip.Addr {
	text, ok := p.text(value, at)
	if !ok || text == "" {
		return netip.Addr{}
	}
	a, err := netip.ParseAddr(text)
	if err != nil || !plain(a) {
		p.fail(field.Invalid(at, strictjson.Short(text), "must be the address of a gateway, for example 192.0.2.1"))
		return netip.Addr{}
	}
	return a
}

// object reads an object, with a reader for each key.
func (p *parser) object(value any, at *field.Path, want string, read map[string]func(any, *field.Path)) {
	o, ok := value.(*strictjson.Object)
	if !ok {
		p.fail(strictjson.WrongType(at, value, want))
		return
	}
	for _, key := range o.Keys {
		if f, ok := read[key]; ok {
			f(o.Values[key], at.Child(key))
			continue
		}
		var known []string
		for name := range read {
			known = append(known, name)
		}
		p.fail(strictjson.UnknownKey(at, key, known))
	}
}

// list reads each element of a list.
func (p *parser) list(value any, at *field.Path, want string, read func(any, *field.Path)) {
	elements, ok := value.([]any)
	if !ok {
		p.fail(strictjson.WrongType(at, value, want))
		return
	}
	for i, element := range elements {
		read(element, at.Index(i))
	}
}

// number reads a number from 0 to most.
func (p *parser) number(value any, at *field.Path, most int64) int {
	text, ok := value.(json.Number)
	if !ok {
		p.fail(strictjson.WrongType(at, value, "a number"))
		return 0
	}
	n, err := strconv.ParseInt(text.String(), 10, 64)
	if err != nil || n < 0 || n > most {
		p.fail(field.Invalid(at, strictjson.Short(text.String()), fmt.Sprintf("must be a whole number from 0 to %d", most)))
		return 0
	}
	return int(n)
}

func (p *parser) routes(value any, at *field.Path) {
	p.list(value, at, "a list of routes", func(element any, at *field.Path) {
		route := &types.Route{}
		optional := func(into **int, most int64) func(any, *field.Path) {
			return func(v any, at *field.Path) {
				n := p.number(v, at, most)
				*into = &n
			}
		}
		var gateway netip.Addr
		p.object(element, at, `an object with "dst"`, map[string]func(any, *field.Path){
			"dst": func(v any, at *field.Path) {
				text, ok := p.text(v, at)
				if !ok {
					return
				}
				prefix, err := netaddr.ParseCIDR(text)
				if err != nil {
					p.fail(field.Invalid(at, strictjson.Short(text), err.Error()))
					return
				}
				route.Dst = *netaddr.IPNet(prefix)
			},
			"gw":       func(v any, at *field.Path) { gateway = p.gateway(v, at) },
			"mtu":      func(v any, at *field.Path) { route.MTU = p.number(v, at, math.MaxInt32) },
			"advmss":   func(v any, at *field.Path) { route.AdvMSS = p.number(v, at, math.MaxInt32) },
			"priority": func(v any, at *field.Path) { route.Priority = p.number(v, at, math.MaxInt32) },
			"table":    optional(&route.Table, math.MaxInt32),
			"scope":    optional(&route.Scope, math.MaxUint8),
		})
		if o, ok := element.(*strictjson.Object); ok && o.Values["dst"] == nil {
			p.fail(field.Required(at.Child("dst"), "must be the network that the route leads to, for example 0.0.0.0/0"))
		}
		if gateway.IsValid() {
			route.GW = gateway.AsSlice()
			if route.Dst.IP != nil && gateway.Is4() != (route.Dst.IP.To4() != nil) {
				p.fail(field.Invalid(at.Child("gw"), gateway.String(), "is of another IP family than dst"))
			}
		}
		p.config.Routes = append(p.config.Routes, route)
	})
}

func (p *parser) dns(value any, at *field.Path) {
	texts := func(into *[]string, address bool) func(any, *field.Path) {
		return func(v any, at *field.Path) {
			p.list(v, at, "a list of strings", func(element any, at *field.Path) {
				text, ok := p.text(element, at)
				if _, err := netip.ParseAddr(text); ok && address && err != nil {
					p.fail(field.Invalid(at, strictjson.Short(text), "must be an address"))
				}
				*into = append(*into, text)
			})
		}
	}
	p.object(value, at, "an object", map[string]func(any, *field.Path){
		"nameservers": texts(&p.config.DNS.Nameservers, true),
		"domain":      func(v any, at *field.Path) { p.config.DNS.Domain, _ = p.text(v, at) },
		"search":      texts(&p.config.DNS.Search, false),
		"options":     texts(&p.config.DNS.Options, false),
	})
}

func (p *parser) addresses(value any, at *field.Path) {
	p.list(value, at, "a list of addresses", func(element any, at *field.Path) {
		var s Static
		p.object(element, at, `an object with "address"`, map[string]func(any, *field.Path){
			"address": func(v any, at *field.Path) {
				text, ok := p.text(v, at)
				prefix, err := netip.ParsePrefix(text)
				if ok && (err != nil || !plain(prefix.Addr())) {
					p.fail(field.Invalid(at, strictjson.Short(text), "must be an address with its prefix length, for example 192.0.2.10/24"))
				}
				s.Address = prefix
			},
			"gateway": func(v any, at *field.Path) { s.Gateway = p.gateway(v, at) },
		})
		if o, ok := element.(*strictjson.Object); ok && o.Values["address"] == nil {
			p.fail(field.Required(at.Child("address"), "must be an address with its prefix length, for example 192.0.2.10/24"))
		}
		p.config.Static = append(p.config.Static, s)
	})
}
