package egressrouter

import (
	"fmt"
	"net/netip"

	"k8s.io/apimachinery/pkg/util/validation/field"
)

var (
	pathAddresses = field.NewPath("ip", "addresses")
	pathGateway   = field.NewPath("ip", "gateway")
)

func (r *reader) addresses(v any, at *field.Path) {
	list, ok := v.([]any)
	if !ok {
		r.wrongType(at, v, `a list of one address, e.g. ["192.168.12.99/24"]`)
		return
	}
	for i, element := range list {
		text, ok := r.text(element, at.Index(i))
		if !ok {
			continue
		}
		if r.addressed = true; i > 0 {
			r.invalid(at.Index(i), text, "is a further address, and an attachment has one; write a further attachment, or a further router, for it")
			continue
		}
		prefix, err := netip.ParsePrefix(text)
		switch {
		case err != nil:
			r.invalid(at.Index(i), text, "is not an address with the length of the prefix of its network, e.g. 192.168.12.99/24")
		case prefix.Addr().Is4In6() || !prefix.Addr().IsGlobalUnicast():
			r.invalid(at.Index(i), text, "is not an address that other machines can reach")
		default:
			r.conf.Address = prefix
		}
	}
}

func (r *reader) gateway(v any, at *field.Path) {
	r.routed = true
	text, ok := r.text(v, at)
	if !ok {
		return
	}
	gateway, err := netip.ParseAddr(text)
	if err != nil || gateway.Zone() != "" || gateway.Is4In6() {
		r.invalid(at, text, "is not an IP address; write that of the router of the network, without a prefix")
		return
	}
	r.conf.Gateway = gateway
}

// complete reports missing keys, and keys that contradict each other.
func (r *reader) complete() {
	if !r.typed {
		r.errs = append(r.errs, field.Required(field.NewPath("type"), "must be "+Type))
	}
	if !r.named || r.conf.Name == "" {
		r.errs = append(r.errs, field.Required(field.NewPath("name"), "must be the name of the network"))
	}
	if !r.addressed {
		r.errs = append(r.errs, field.Required(pathAddresses, `must be a list of one address, e.g. ["192.168.12.99/24"]`))
	}
	if !r.routed {
		r.errs = append(r.errs, field.Required(pathGateway, "must be the address of the router of the network"))
	}
	if !r.conf.Address.IsValid() {
		return
	}
	if r.conf.Family() == IPv6 && r.conf.MTU != 0 && r.conf.MTU < minMTUv6 {
		r.invalid(field.NewPath("interfaceArgs", "mtu"), r.conf.MTU, fmt.Sprintf("is too small for IPv6, which needs %d", minMTUv6))
	}
	r.checkGateway()
	r.checkDestinations()
}

func (r *reader) checkGateway() {
	address, gateway := r.conf.Address, r.conf.Gateway
	switch {
	case !gateway.IsValid():
	case gateway == address.Addr():
		r.invalid(pathGateway, gateway.String(), "is the router's own address; write that of the next router")
	case FamilyOf(gateway) == IPv6 && gateway.IsLinkLocalUnicast() && address.Addr().Is6():
	case !address.Contains(gateway):
		r.invalid(pathGateway, gateway.String(), fmt.Sprintf("is not inside %s", address.Masked()))
	}
}
