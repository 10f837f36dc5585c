package whereabouts

import (
	"fmt"
	"net/netip"
	"strconv"
	"strings"

	utilvalidation "k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/cluster-network-operator/cno/internal/multinet/strictjson"
	"github.com/cluster-network-operator/cno/internal/netaddr"
)

// readRange reads the keys of a range: range, range_start, range_end, exclude. It keeps a range with errors if its network can be read.
func (p *parser) readRange(o *strictjson.Object, at *field.Path) {
	value, ok := o.Values["range"]
	if !ok {
		p.fail(field.Required(at.Child("range"), "must be a network such as 192.0.2.0/24, or 192.0.2.10-192.0.2.20/24"))
		return
	}
	r, named, ok := p.network(value, at.Child("range"))
	if !ok {
		return
	}
	p.bounds(&r, named, o, at)
	if list, ok := o.Values["exclude"]; ok {
		p.exclude(&r, list, at.Child("exclude"))
	}
	p.config.Ranges, p.at = append(p.config.Ranges, r), append(p.at, at)
}

// network reads a network, or its first and last address, for which named is true. It drops host bits, as whereabouts does.
func (p *parser) network(value any, at *field.Path) (r Range, named, ok bool) {
	text, ok := p.text(value, at)
	if !ok {
		return r, false, false
	}
	start, rest, named := strings.Cut(text, "-")
	if !named {
		rest = text
	}
	prefix, err := netip.ParsePrefix(strings.TrimSpace(rest))
	if err != nil || prefix.Addr().Is4In6() {
		p.fail(field.Invalid(at, strictjson.Short(text), "must be a network such as 192.0.2.0/24, or its first and last address such as 192.0.2.10-192.0.2.20/24"))
		return r, false, false
	}
	r.Network = prefix.Masked()
	r.Span = usable(r.Network)
	if kind := netaddr.Special(r.Network); kind != "" && kind != "link-local" {
		p.fail(field.Invalid(at, strictjson.Short(text), "has "+kind+" addresses, which no interface can have"))
	}
	if named {
		first, err := netip.ParseAddr(strings.TrimSpace(start))
		if err != nil {
			p.fail(field.Invalid(at, strictjson.Short(text), "must begin with the first address that is assigned"))
			return r, true, true
		}
		p.bound(&r, true, first, at, text)
		p.bound(&r, false, prefix.Addr(), at, text)
		p.ordered(r, at, text)
	}
	return r, named, true
}

// bounds reads range_start and range_end.
func (p *parser) bounds(r *Range, named bool, o *strictjson.Object, at *field.Path) {
	read := false
	for _, key := range []string{"range_start", "range_end"} {
		value, ok := o.Values[key]
		if !ok {
			continue
		}
		text, ok := p.text(value, at.Child(key))
		if !ok || text == "" {
			continue
		}
		a, err := netip.ParseAddr(text)
		switch {
		case err != nil:
			p.fail(field.Invalid(at.Child(key), strictjson.Short(text), "must be an address of "+r.Network.String()))
		case named:
			p.fail(field.Invalid(at.Child(key), text, "cannot be used with a range that has its first and last address; remove one of them"))
		default:
			read = true
			p.bound(r, key == "range_start", a, at.Child(key), text)
		}
	}
	if read {
		p.ordered(*r, at.Child("range_end"), r.Last.String())
	}
}

// bound sets the first or the last address of a range. It excludes the network and broadcast addresses.
func (p *parser) bound(r *Range, first bool, a netip.Addr, at *field.Path, text string) {
	all := usable(r.Network)
	switch {
	case !r.Network.Contains(a):
		p.fail(field.Invalid(at, strictjson.Short(text), fmt.Sprintf("%s is not in %s; the range is from %s to %s", a, r.Network, all.First, all.Last)))
	case first && a.Compare(all.First) > 0:
		r.First = a
	case !first && a.Compare(all.Last) < 0:
		r.Last = a
	}
}

func (p *parser) ordered(r Range, at *field.Path, text string) {
	if r.First.Compare(r.Last) > 0 {
		p.fail(field.Invalid(at, strictjson.Short(text), fmt.Sprintf("ends before %s, where the range begins: no address can be assigned", r.First)))
	}
}

func (p *parser) exclude(r *Range, value any, at *field.Path) {
	list, ok := value.([]any)
	if !ok {
		p.fail(strictjson.WrongType(at, value, "a list of networks and addresses"))
		return
	}
	var spans []Span
	for i, element := range list {
		text, ok := p.text(element, at.Index(i))
		if !ok {
			continue
		}
		prefix, err := netip.ParsePrefix(text)
		if a, e := netip.ParseAddr(text); e == nil {
			prefix, err = netip.PrefixFrom(a, a.BitLen()), nil
		}
		prefix = prefix.Masked()
		switch {
		case err != nil || !prefix.IsValid():
			p.fail(field.Invalid(at.Index(i), strictjson.Short(text), "must be a network or an address"))
		case !prefix.Overlaps(r.Network):
			p.fail(field.Invalid(at.Index(i), text, "is not in "+r.Network.String()+", so that it excludes nothing; correct or remove it"))
		default:
			spans = append(spans, Span{prefix.Addr(), lastOf(prefix)})
		}
	}
	if r.First.Compare(r.Last) <= 0 {
		r.exclude(spans...)
	}
}

// nodeSliceSize reads the prefix length of slices, with or without a slash before it.
func (p *parser) nodeSliceSize(value any, at *field.Path) {
	text, ok := p.text(value, at)
	if !ok || text == "" {
		return
	}
	bits, err := strconv.ParseUint(strings.TrimPrefix(text, "/"), 10, 8)
	if err != nil || bits == 0 || bits > 128 {
		p.fail(field.Invalid(at, strictjson.Short(text), "must be the prefix length of the part of the range that each node gets, for example /28"))
		return
	}
	p.config.Sliced, p.slice = true, int(bits)
}

// checkCombinations checks for conflicts between keys.
func (p *parser) checkCombinations(at *field.Path) {
	c := p.config
	if len(c.Ranges) == 0 {
		if len(p.errs) == 0 {
			p.fail(field.Required(at.Child("range"), "must be a network, for example 192.0.2.0/24; without one there is nothing to assign"))
		}
		return
	}
	p.disjoint()
	p.excludeGateway(at.Child("gateway"))
	for i, r := range c.Ranges {
		if r.First.Compare(r.Last) <= 0 && r.Size() == 0 {
			p.fail(field.Invalid(p.at[i].Child("exclude"), r.String(), "has no address left: all are excluded"))
		}
	}
	if c.Sliced {
		p.slices(at.Child("node_slice_size"))
	}
	if c.Claim != "" && len(c.Requested) > 0 {
		p.fail(field.Forbidden(field.NewPath("runtimeConfig", "ips"), "cannot be used together with an IPAMClaim; remove one of them"))
	}
}

func (p *parser) disjoint() {
	ranges := p.config.Ranges
	for i := range ranges {
		for j := range i {
			if ranges[i].Network.Overlaps(ranges[j].Network) && ranges[i].First.Compare(ranges[j].Last) <= 0 && ranges[j].First.Compare(ranges[i].Last) <= 0 {
				p.fail(field.Invalid(p.at[i].Child("range"), ranges[i].String(), fmt.Sprintf("overlaps the range %s: the interface would get two addresses of it", ranges[j])))
			}
		}
	}
}

// excludeGateway excludes the address of the gateway from the ranges.
func (p *parser) excludeGateway(at *field.Path) {
	gateway := p.config.Gateway
	if !gateway.IsValid() {
		return
	}
	family := false
	for i := range p.config.Ranges {
		r := &p.config.Ranges[i]
		family = family || r.Network.Addr().Is4() == gateway.Is4()
		if r.First.Compare(r.Last) <= 0 {
			r.exclude(Span{gateway, gateway})
		}
	}
	if !family {
		p.fail(field.Invalid(at, gateway.String(), "is of another IP family than the ranges"))
	}
}

func (p *parser) slices(at *field.Path) {
	c := p.config
	most := 128
	for _, r := range c.Ranges {
		if r.Network.Addr().Is4() {
			most = 32 // in both families a slice has as many addresses as in IPv4
		}
	}
	text := "/" + strconv.Itoa(p.slice)
	if p.slice > most {
		p.fail(field.Invalid(at, text, fmt.Sprintf("must be at most /%d", most)))
		return
	}
	c.SliceHostBits = most - p.slice
	for i, r := range c.Ranges {
		if c.SliceBits(r) <= r.Network.Bits() {
			p.fail(field.Invalid(at, text, fmt.Sprintf("is not longer than the prefix of %s: %s cannot be divided", r.Network, p.at[i].Child("range"))))
		}
	}
	if c.Claim != "" {
		p.fail(field.Forbidden(at, "cannot be used together with an IPAMClaim: another node has another slice"))
	}
	if name := c.SlicePool(c.Ranges[len(c.Ranges)-1]); len(utilvalidation.IsDNS1123Subdomain(name)) > 0 {
		p.fail(field.Invalid(field.NewPath("name"), strictjson.Short(c.Network), "cannot be the name of a NodeSlicePool; set network_name to lower-case letters, digits and hyphens"))
	}
}
