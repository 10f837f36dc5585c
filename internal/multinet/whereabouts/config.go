package whereabouts

import (
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"strings"

	"github.com/containernetworking/cni/pkg/types"
	utilvalidation "k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/cluster-network-operator/cno/internal/multinet/strictjson"
)

const (
	// Type is the type of the ipam plugin.
	Type = "whereabouts"
	// Rule is the origin of all errors of Parse.
	Rule = "whereabouts-config"
	// MaxRanges is the maximum number of ranges in ipRanges.
	MaxRanges = 32
	// ClaimKey is the capability, and the key of runtimeConfig, with the name of an IPAMClaim in the pod's namespace.
	ClaimKey = "ipam-claim-reference"
)

// Config is a parsed configuration.
type Config struct {
	// Network is the name of the CNI network.
	Network string
	// Ranges are not empty and do not overlap. The interface gets an address of each.
	Ranges []Range
	// Gateway is the gateway of the addresses of its family; not valid if there is none.
	Gateway netip.Addr
	Routes  []*types.Route
	DNS     types.DNS
	// Static are addresses that the interface gets in addition, on all nodes and in all pods.
	Static []Static
	// Overlapping is true if ranges of pools with the same NetworkName may overlap, so that addresses must be reserved across these pools.
	Overlapping bool
	// NetworkName separates the addresses of networks; empty for the shared space.
	NetworkName string
	// Sliced is true if each node has a slice of each range, with 2 to the power of SliceHostBits addresses.
	Sliced        bool
	SliceHostBits int
	// Requested are the addresses that the pod requests: each is in one range, and each range has at most one.
	Requested []netip.Addr
	// Claim is the name of an IPAMClaim in the pod's namespace; empty for none.
	Claim string
}

// Static is an address that is not allocated.
type Static struct {
	Address netip.Prefix
	Gateway netip.Addr
}

// Pool returns the pool of a range for a node.
func (c *Config) Pool(r Range, node string) Pool {
	p := Pool{NetworkName: c.NetworkName, Network: r.Network}
	if c.Sliced {
		p.Node = node
	}
	return p
}

// SliceBits returns the prefix length of the slices of a range.
func (c *Config) SliceBits(r Range) int { return r.Network.Addr().BitLen() - c.SliceHostBits }

// SlicePool returns the name of the NodeSlicePool of a range: the name of the network, followed by the range for all ranges but the first.
func (c *Config) SlicePool(r Range) string {
	name := c.NetworkName
	if name == "" {
		name = c.Network
	}
	if r.Network == c.Ranges[0].Network {
		return name
	}
	return join(name, normalize(r.Network.String()))
}

// Pools returns all pools of the configuration for a node, without duplicates.
func (c *Config) Pools(node string) []Pool {
	var pools []Pool
	for _, r := range c.Ranges {
		if p := c.Pool(r, node); !slices.Contains(pools, p) {
			pools = append(pools, p)
		}
	}
	return pools
}

// Parse reads the configuration of a plugin whose ipam section has the type whereabouts. All errors are returned at once, up to strictjson.MaxErrors, with
// path and value. If there are errors, the configuration has the ranges whose networks could be read. It may then be used only to release allocations of an
// earlier version.
func Parse(text string) (*Config, field.ErrorList) {
	c := &Config{Overlapping: true}
	value, errs := strictjson.Parse(text, nil)
	top, ok := value.(*strictjson.Object)
	if !ok {
		if len(errs) == 0 {
			errs = field.ErrorList{field.Forbidden(field.NewPath("ipam"), "is missing: the configuration is not an object")}
		}
		return c, errs.WithOrigin(Rule)
	}
	c.Network, _ = top.Values["name"].(string)
	ipam, ok := top.Values["ipam"].(*strictjson.Object)
	if !ok {
		return c, append(errs, strictjson.WrongType(field.NewPath("ipam"), top.Values["ipam"], "an object")).WithOrigin(Rule)
	}
	p := parser{config: c}
	p.ipam(ipam, field.NewPath("ipam"))
	p.runtime(top)
	p.checkCombinations(field.NewPath("ipam"))
	return c, strictjson.Bound(append(errs, p.errs...), field.NewPath("ipam")).WithOrigin(Rule)
}

// parser collects errors.
type parser struct {
	config *Config
	errs   field.ErrorList
	// at has the paths of the ranges.
	at []*field.Path
	// slice is the prefix length in node_slice_size.
	slice int
}

// fail adds an error, unless there are more than are reported.
func (p *parser) fail(e *field.Error) {
	if len(p.errs) <= strictjson.MaxErrors {
		p.errs = append(p.errs, e)
	}
}

// keys has a reader for each key of the section. readRange reads the keys of a range.
var keys = map[string]func(p *parser, value any, at *field.Path){
	"type": func(p *parser, v any, at *field.Path) {
		if text, ok := p.text(v, at); ok && text != Type {
			p.fail(field.NotSupported(at, strictjson.Short(text), []string{Type}))
		}
	},
	"gateway":                   func(p *parser, v any, at *field.Path) { p.config.Gateway = p.gateway(v, at) },
	"routes":                    (*parser).routes,
	"dns":                       (*parser).dns,
	"addresses":                 (*parser).addresses,
	"enable_overlapping_ranges": func(p *parser, v any, at *field.Path) { p.boolean(&p.config.Overlapping, v, at) },
	"network_name":              (*parser).networkName,
	"node_slice_size":           (*parser).nodeSliceSize,
	"ipRanges":                  (*parser).ranges,
	"datastore": func(p *parser, v any, at *field.Path) {
		if text, ok := p.text(v, at); ok && text != "kubernetes" {
			p.fail(field.Invalid(at, strictjson.Short(text), "is not supported: addresses are objects of the Kubernetes API; remove the key"))
		}
	},
}

// Ignored returns the keys of whereabouts that have no effect: there is no lease and no reconciler on the node, and the agent's log and API access are
// used. Paths and credentials of a definition are never opened.
func Ignored() []string {
	return []string{
		"configuration_path", "kubernetes", "leader_lease_duration", "leader_renew_deadline", "leader_retry_period", "log_file",
		"log_level", "reconciler_cron_expression", "sleep_for_race",
	}
}

// rangeKeys are the keys of a range, at the top of the section or in ipRanges.
var rangeKeys = []string{"range", "range_start", "range_end", "exclude"}

func (p *parser) ipam(section *strictjson.Object, at *field.Path) {
	if slices.ContainsFunc(rangeKeys, func(k string) bool { _, ok := section.Values[k]; return ok }) {
		p.readRange(section, at)
	}
	known := slices.Concat(slices.Collect(maps.Keys(keys)), rangeKeys, Ignored())
	for _, key := range section.Keys {
		if read, ok := keys[key]; ok {
			read(p, section.Values[key], at.Child(key))
		} else if !slices.Contains(known, key) {
			p.fail(strictjson.UnknownKey(at, key, known))
		}
	}
	if _, ok := section.Values["type"]; !ok {
		p.fail(field.Required(at.Child("type"), "must be "+Type))
	}
}

func (p *parser) ranges(value any, at *field.Path) {
	list, ok := value.([]any)
	if !ok {
		p.fail(strictjson.WrongType(at, value, "a list of ranges"))
		return
	}
	if len(list) > MaxRanges {
		p.fail(field.TooMany(at, len(list), MaxRanges))
		return
	}
	for i, element := range list {
		o, ok := element.(*strictjson.Object)
		if !ok {
			p.fail(strictjson.WrongType(at.Index(i), element, `an object with "range"`))
			continue
		}
		for _, key := range o.Keys {
			if !slices.Contains(rangeKeys, key) {
				p.fail(strictjson.UnknownKey(at.Index(i), key, rangeKeys))
			}
		}
		p.readRange(o, at.Index(i))
	}
}

func (p *parser) networkName(value any, at *field.Path) {
	text, ok := p.text(value, at)
	if !ok || text == "" {
		return
	}
	if len(utilvalidation.IsDNS1123Subdomain(text)) > 0 || len(text) > utilvalidation.DNS1123LabelMaxLength {
		p.fail(field.Invalid(at, strictjson.Short(text), "must be at most 63 lower-case letters, digits, hyphens and dots, which begin and end with a letter or digit: it is part of the names of objects"))
		return
	}
	p.config.NetworkName = text
}

// runtime reads the request of the pod.
func (p *parser) runtime(top *strictjson.Object) {
	runtime, ok := top.Values["runtimeConfig"].(*strictjson.Object)
	if !ok {
		return
	}
	if ips, ok := runtime.Values["ips"]; ok {
		p.requested(ips, field.NewPath("runtimeConfig", "ips"))
	}
	if claim, ok := runtime.Values[ClaimKey]; ok {
		at := field.NewPath("runtimeConfig", ClaimKey)
		if text, ok := p.text(claim, at); ok && len(utilvalidation.IsDNS1123Subdomain(text)) > 0 {
			p.fail(field.Invalid(at, strictjson.Short(text), "must be the name of an IPAMClaim"))
		} else {
			p.config.Claim = text
		}
	}
}

func (p *parser) requested(value any, at *field.Path) {
	list, ok := value.([]any)
	if !ok {
		p.fail(strictjson.WrongType(at, value, "a list of addresses"))
		return
	}
	asked := map[int]netip.Addr{}
	for i, element := range list {
		text, ok := p.text(element, at.Index(i))
		if !ok {
			continue
		}
		a, bits, ok := addressOf(text)
		in := slices.IndexFunc(p.config.Ranges, func(r Range) bool { return r.Network.Contains(a) && r.contains(a) })
		switch {
		case !ok:
			p.fail(field.Invalid(at.Index(i), strictjson.Short(text), "must be an address, with or without a prefix length"))
		case in < 0:
			p.fail(field.Invalid(at.Index(i), text, "is in none of the ranges of the network: "+p.names()))
		case !p.config.Ranges[in].Assignable(a):
			p.fail(field.Invalid(at.Index(i), text, "is excluded from the range "+p.config.Ranges[in].String()))
		case bits >= 0 && bits != p.config.Ranges[in].Network.Bits():
			p.fail(field.Invalid(at.Index(i), text, fmt.Sprintf("has another prefix length than the network %s; leave it out", p.config.Ranges[in].Network)))
		case asked[in].IsValid():
			p.fail(field.Invalid(at.Index(i), text, fmt.Sprintf("is in the same range as %s; an interface gets one address of each range", asked[in])))
		default:
			asked[in] = a
			p.config.Requested = append(p.config.Requested, a)
		}
	}
}

// names lists the ranges.
func (p *parser) names() string {
	var names []string
	for _, r := range p.config.Ranges {
		names = append(names, r.String())
	}
	return strings.Join(names, ", ")
}

// addressOf reads an address with or without a prefix length; bits is -1 without.
func addressOf(text string) (a netip.Addr, bits int, ok bool) {
	if prefix, err := netip.ParsePrefix(text); err == nil {
		return prefix.Addr(), prefix.Bits(), plain(prefix.Addr())
	}
	a, err := netip.ParseAddr(text)
	return a, -1, err == nil && plain(a)
}

// plain reports whether an interface can have an address.
func plain(a netip.Addr) bool {
	return a.Zone() == "" && !a.Is4In6() && !a.IsUnspecified() && !a.IsMulticast() && !a.IsLoopback()
}
