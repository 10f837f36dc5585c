package pipeline

import (
	"errors"
	"fmt"
	"net/netip"

	"k8s.io/apimachinery/pkg/util/validation/field"

	operatorv1 "github.com/cluster-network-operator/cno/api/operator/v1"
	"github.com/cluster-network-operator/cno/internal/netaddr"
	"github.com/cluster-network-operator/cno/internal/provider"
)

// maxPools is how many entries of each kind are looked at. No one needs as many, and the time and the length of
// the answer grow with their square.
const maxPools = 64

// pools are the address pools of a specification, as far as they can be read.
type pools struct {
	cluster, service []pool
	total            [2]int // entries written: of clusterNetwork, of serviceNetwork
}

// pool is one entry. Its prefix is invalid if the entry is not a CIDR.
type pool struct {
	path, cidrPath *field.Path
	text           string
	prefix         netip.Prefix
	err            error
	hostPrefix     uint32
}

func readPools(spec *operatorv1.NetworkSpec) pools {
	p := pools{total: [2]int{len(spec.ClusterNetwork), len(spec.ServiceNetwork)}}
	for i, text := range spec.ServiceNetwork[:min(maxPools, len(spec.ServiceNetwork))] {
		p.service = append(p.service, readPool(servicePath.Index(i), servicePath.Index(i), text, 0))
	}
	for i, e := range spec.ClusterNetwork[:min(maxPools, len(spec.ClusterNetwork))] {
		path := clusterPath.Index(i)
		p.cluster = append(p.cluster, readPool(path, path.Child("cidr"), e.CIDR, e.HostPrefix))
	}
	return p
}

func readPool(path, cidrPath *field.Path, text string, hostPrefix uint32) pool {
	p := pool{path: path, cidrPath: cidrPath, text: text, hostPrefix: hostPrefix}
	p.prefix, p.err = netaddr.ParseCIDR(text)
	// The other rules judge the network that was meant.
	if e, ok := errors.AsType[*netaddr.HostBitsError](p.err); ok {
		p.prefix = e.Network
	}
	return p
}

// all returns services before cluster networks: that is the order in which overlaps are told.
func (p pools) all() []pool { return append(append([]pool(nil), p.service...), p.cluster...) }

// readable reports whether every entry was understood, and there is one of each kind.
func (p pools) readable() bool {
	for _, one := range p.all() {
		if one.err != nil {
			return false
		}
	}
	return len(p.cluster) > 0 && len(p.service) > 0
}

func prefixes(list []pool) []netip.Prefix {
	out := make([]netip.Prefix, 0, len(list))
	for _, p := range list {
		out = append(out, p.prefix)
	}
	return out
}

// validatePools applies the rules for address pools that hold for every network, and those that its traits set.
func validatePools(p pools, t provider.Traits) field.ErrorList {
	errs := validateCounts(p, t)
	for _, one := range p.all() {
		errs = append(errs, validateCIDR(one)...)
	}
	for _, one := range p.service {
		errs = append(errs, validateServiceSize(one)...)
	}
	for _, one := range p.cluster {
		errs = append(errs, validateHostPrefix(one, t)...)
	}
	errs = append(errs, validateOverlaps(p)...)
	return append(errs, validateFamilies(p, t)...)
}

func validateCounts(p pools, t provider.Traits) field.ErrorList {
	var errs field.ErrorList
	if p.total[1] == 0 {
		errs = append(errs, field.Required(servicePath, "must have at least 1 entry, e.g. 172.30.0.0/16").WithOrigin(RuleServiceRequired))
	}
	if p.total[0] == 0 {
		errs = append(errs, field.Required(clusterPath, "must have at least 1 entry, e.g. cidr 10.128.0.0/14 with hostPrefix 23").WithOrigin(RuleClusterRequired))
	}
	limit := t.MaxClusterNetworks
	if limit == 0 {
		limit = maxPools
	}
	if n := p.total[0]; n > limit {
		detail := fmt.Sprintf("has %d entries; network type %s takes at most %d", n, t.Type, limit)
		errs = append(errs, field.Forbidden(clusterPath, detail).WithOrigin(RuleClusterCount))
	}
	return append(errs, validateServiceFamilies(p)...)
}

// validateServiceFamilies allows one service network, or one of each family.
func validateServiceFamilies(p pools) field.ErrorList {
	const core = "spec.serviceNetwork must contain at most one IPv4 and one IPv6 network"
	if n := p.total[1]; n > 2 {
		return field.ErrorList{field.Forbidden(servicePath, fmt.Sprintf("%s; it has %d entries", core, n)).WithOrigin(RuleServiceFamilies)}
	}
	if len(p.service) < 2 || !netaddr.SameFamily(p.service[0].prefix, p.service[1].prefix) {
		return nil
	}
	detail := fmt.Sprintf("%s is the second of its family: %s; remove it", p.service[1].text, core)
	return field.ErrorList{field.Invalid(p.service[1].path, p.service[1].text, detail).WithOrigin(RuleServiceFamilies)}
}

// validateCIDR refuses what is not exactly a network, and networks that the kernel keeps for itself.
func validateCIDR(p pool) field.ErrorList {
	if _, ok := errors.AsType[*netaddr.HostBitsError](p.err); ok {
		return field.ErrorList{field.Invalid(p.cidrPath, p.text, p.err.Error()).WithOrigin(RuleCIDRHostBits)}
	}
	if p.err != nil {
		return field.ErrorList{field.Invalid(p.cidrPath, p.text, p.err.Error()).WithOrigin(RuleCIDRSyntax)}
	}
	if kind := netaddr.Special(p.prefix); kind != "" {
		detail := fmt.Sprintf("lies in the %s addresses, which cannot be routed; choose a private network, e.g. 10.128.0.0/14", kind)
		return field.ErrorList{field.Invalid(p.cidrPath, p.text, detail).WithOrigin(RuleCIDRSpecial)}
	}
	return nil
}

// leastServiceBits is how many bits of its service network the API server wants for addresses: it does not start with fewer
// than 8 addresses.
const leastServiceBits = 3

func validateServiceSize(p pool) field.ErrorList {
	if p.err != nil || p.prefix.Addr().BitLen()-p.prefix.Bits() >= leastServiceBits {
		return nil
	}
	detail := fmt.Sprintf("is too small for Services: the API server needs at least %d addresses; use a /%d or a shorter prefix", 1<<leastServiceBits, p.prefix.Addr().BitLen()-leastServiceBits)
	return field.ErrorList{field.Invalid(p.cidrPath, p.text, detail).WithOrigin(RuleServiceSize)}
}

// validateHostPrefix keeps the block of a node inside its pool, and large enough for a pod. A provider that gives
// no blocks to nodes may leave hostPrefix out, but may not write nonsense.
func validateHostPrefix(p pool, t provider.Traits) field.ErrorList {
	if !p.prefix.IsValid() || p.hostPrefix == 0 && !t.HostPrefix {
		return nil
	}
	path, n := p.path.Child("hostPrefix"), p.hostPrefix
	lo, hi := netaddr.BlockRange(p.prefix)
	var detail string
	switch {
	case lo > hi:
		path, detail = p.cidrPath, fmt.Sprintf("is too small for a node: a pool needs at least two host bits; use /%d or shorter", hi)
		return field.ErrorList{field.Invalid(path, p.text, detail).WithOrigin(RuleHostPrefix)}
	case n == 0:
		detail = fmt.Sprintf("is required by network type %s: the length of each node's block, %d to %d for %s", t.Type, lo, hi, p.prefix)
		return field.ErrorList{field.Required(path, detail).WithOrigin(RuleHostPrefix)}
	case int64(n) < int64(lo):
		detail = fmt.Sprintf("%d must be between %d and %d for a /%d", n, lo, hi, p.prefix.Bits())
	case int64(n) > int64(hi):
		detail = fmt.Sprintf("%d leaves no usable pod address per node; use %d to %d for a /%d%s", n, lo, hi, p.prefix.Bits(), blockExample(p.prefix, lo, hi))
	default:
		return nil
	}
	return field.ErrorList{field.Invalid(path, n, detail).WithOrigin(RuleHostPrefix)}
}

// blockExample shows what a usual length gives, where the pool allows it.
func blockExample(pool netip.Prefix, lo, hi int) string {
	const usual = 23
	if !pool.Addr().Is4() || usual < lo || usual > hi {
		return ""
	}
	return fmt.Sprintf(" (%d gives %d)", usual, netaddr.PodAddresses(pool, usual))
}

// validateOverlaps refuses every pair of pools that share addresses.
func validateOverlaps(p pools) field.ErrorList {
	var errs field.ErrorList
	list, byName := []netaddr.Pool(nil), map[string]pool{}
	for _, one := range p.all() {
		prefix := lenient(one.text)
		name := fmt.Sprintf("%s %s", one.path, prefix)
		list = append(list, netaddr.Pool{Name: name, Prefix: prefix})
		byName[name] = one
	}
	for _, o := range netaddr.Overlaps(list) {
		second := byName[o.Second.Name]
		if !netaddr.Contains(o.First.Prefix, o.Second.Prefix) {
			o.First, o.Second = o.Second, o.First
		}
		detail := o.Sentence() + "; choose non-overlapping ranges"
		errs = append(errs, field.Invalid(second.cidrPath, second.text, detail).WithOrigin(RulePoolOverlap))
	}
	return errs
}

// lenient reads a network without minding host bits. It is invalid if the text is no network at all.
func lenient(text string) netip.Prefix {
	p, err := netip.ParsePrefix(text)
	if err != nil {
		return netip.Prefix{}
	}
	return p.Masked()
}

// validateFamilies wants pods and services to have the same families, and the network to know them.
func validateFamilies(p pools, t provider.Traits) field.ErrorList {
	if !p.readable() {
		return nil
	}
	var errs field.ErrorList
	cluster, service := netaddr.FamiliesOf(prefixes(p.cluster)), netaddr.FamiliesOf(prefixes(p.service))
	if cluster != service {
		detail := fmt.Sprintf("spec.clusterNetwork and spec.serviceNetwork must either both be IPv4-only, both be IPv6-only, or both be dual-stack; spec.clusterNetwork is %s, spec.serviceNetwork is %s", cluster, service)
		errs = append(errs, field.Forbidden(servicePath, detail).WithOrigin(RuleFamilySymmetry))
	}
	switch {
	case cluster.IPv6 && !t.IPv6:
		detail := fmt.Sprintf("has IPv6 networks, which network type %s does not support; use IPv4 networks", t.Type)
		if cluster.Dual() {
			detail = fmt.Sprintf("adds IPv6 networks to IPv4 ones, but network type %s gives pods IPv4 addresses alone; leave the IPv6 networks out, here and in spec.serviceNetwork", t.Type)
		}
		errs = append(errs, field.Forbidden(clusterPath, detail).WithOrigin(RuleIPv6))
	case cluster.Dual() && !t.DualStack:
		detail := fmt.Sprintf("is dual-stack, which network type %s does not support; use networks of one family", t.Type)
		errs = append(errs, field.Forbidden(clusterPath, detail).WithOrigin(RuleDualStack))
	}
	return errs
}
