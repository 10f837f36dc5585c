package pipeline

import (
	"errors"
	"fmt"
	"net/netip"
	"strconv"

	"k8s.io/apimachinery/pkg/util/validation/field"

	operatorv1 "github.com/cluster-network-operator/cno/api/operator/v1"
	"github.com/cluster-network-operator/cno/api/rules"
	"github.com/cluster-network-operator/cno/internal/netaddr"
	"github.com/cluster-network-operator/cno/internal/provider"
)

// maxPools is the maximum number of entries of each kind that are checked. The time and the length of the result grow
// with the square of the number.
const maxPools = 64

// pools are the parsed address pools of a specification, at most maxPools of each kind.
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
	// The other rules use the network without host bits.
	if e, ok := errors.AsType[*netaddr.HostBitsError](p.err); ok {
		p.prefix = e.Network
	}
	return p
}

// all returns service networks before cluster networks: that is the order in which overlaps are reported.
func (p pools) all() []pool { return append(append([]pool(nil), p.service...), p.cluster...) }

// readable reports whether every entry could be parsed, and there is at least one of each kind.
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

// validatePools applies the rules for address pools of every network, and those that depend on its traits.
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
	limit := t.MaxClusterNetworks
	if limit == 0 {
		limit = maxPools
	}
	if n := p.total[0]; n > limit {
		errs = append(errs, rules.ClusterNetworkCount.Forbidden(clusterPath, n, t.Type, limit))
	}
	return append(errs, validateServiceFamilies(p)...)
}

// validateServiceFamilies allows one service network, or one of each family.
func validateServiceFamilies(p pools) field.ErrorList {
	if n := p.total[1]; n > 2 {
		return field.ErrorList{rules.ServiceNetworkCount.Forbidden(servicePath, n)}
	}
	if len(p.service) < 2 || !netaddr.SameFamily(p.service[0].prefix, p.service[1].prefix) {
		return nil
	}
	return field.ErrorList{rules.ServiceNetworkFamily.Invalid(p.service[1].path, p.service[1].text, netaddr.Version(p.service[1].prefix))}
}

// validateCIDR refuses text that is no network address, and networks that the kernel reserves.
func validateCIDR(p pool) field.ErrorList {
	if p.err != nil {
		return field.ErrorList{netaddr.Invalid(p.cidrPath, p.text, p.err)}
	}
	if kind := netaddr.Special(p.prefix); kind != "" {
		return field.ErrorList{rules.CIDRSpecial.Invalid(p.cidrPath, p.text, kind)}
	}
	return nil
}

// leastServiceBits is the minimum number of host bits of a service network: the API server does not start with fewer than 8
// addresses.
const leastServiceBits = 3

func validateServiceSize(p pool) field.ErrorList {
	if p.err != nil || p.prefix.Addr().BitLen()-p.prefix.Bits() >= leastServiceBits {
		return nil
	}
	return field.ErrorList{rules.ServiceNetworkSize.Invalid(p.cidrPath, p.text, 1<<leastServiceBits, p.prefix.Addr().BitLen()-leastServiceBits)}
}

// validateHostPrefix checks that the block of a node is inside its pool and large enough for a pod. hostPrefix is optional
// for a provider that assigns no blocks to nodes, but must be valid if it is set.
func validateHostPrefix(p pool, t provider.Traits) field.ErrorList {
	if !p.prefix.IsValid() || p.hostPrefix == 0 && !t.HostPrefix {
		return nil
	}
	path, n := p.path.Child("hostPrefix"), p.hostPrefix
	lo, hi := netaddr.BlockRange(p.prefix)
	switch {
	case lo > hi:
		return field.ErrorList{rules.PoolWithoutBlocks.Invalid(p.cidrPath, p.text, hi)}
	case n == 0:
		return field.ErrorList{rules.HostPrefixMissing.Required(path, t.Type, blockExample(p.prefix, lo, hi))}
	case int64(n) < int64(lo):
		return field.ErrorList{rules.HostPrefixRange.Invalid(path, n, lo, hi, p.prefix.Bits())}
	case int64(n) > int64(hi):
		return field.ErrorList{rules.HostPrefixUnusable.Invalid(path, n, fmt.Sprintf("%d or less (%s)", hi, usualBlock(p.prefix)))}
	}
	return nil
}

// The usual prefix lengths of blocks.
const (
	usualBlock4 = 23
	usualBlock6 = 64
)

// usualBlock returns an example of the prefix length of a block.
func usualBlock(pool netip.Prefix) string {
	if pool.Addr().Is6() {
		return fmt.Sprintf("%d is usual", usualBlock6)
	}
	return fmt.Sprintf("%d gives %d", usualBlock4, netaddr.PodAddresses(pool, usualBlock4))
}

// blockExample returns an example of the prefix length of the blocks of a pool: the usual one, if the pool allows it.
func blockExample(pool netip.Prefix, lo, hi int) string {
	n := usualBlock4
	if pool.Addr().Is6() {
		n = usualBlock6
	}
	switch {
	case n < lo || n > hi:
		return strconv.Itoa(hi)
	case pool.Addr().Is6():
		return strconv.Itoa(n)
	}
	return fmt.Sprintf("%d for %d pods a node", n, netaddr.PodAddresses(pool, uint32(n)))
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
		errs = append(errs, rules.PoolOverlap.Invalid(second.cidrPath, second.text, o.Sentence()))
	}
	return errs
}

// lenient parses a network and ignores host bits. The result is invalid if the text is no network.
func lenient(text string) netip.Prefix {
	p, err := netip.ParsePrefix(text)
	if err != nil {
		return netip.Prefix{}
	}
	return p.Masked()
}

// validateFamilies requires pods and Services to have the same IP families, and the network to support them.
func validateFamilies(p pools, t provider.Traits) field.ErrorList {
	if !p.readable() {
		return nil
	}
	var errs field.ErrorList
	cluster, service := netaddr.FamiliesOf(prefixes(p.cluster)), netaddr.FamiliesOf(prefixes(p.service))
	if cluster != service {
		errs = append(errs, rules.FamilySymmetry.Forbidden(servicePath, cluster, service))
	}
	switch {
	case cluster.Dual() && !t.IPv6:
		errs = append(errs, rules.IPv6Added.Forbidden(clusterPath, t.Type))
	case cluster.IPv6 && !t.IPv6:
		errs = append(errs, rules.IPv6Unsupported.Forbidden(clusterPath, t.Type))
	case cluster.Dual() && !t.DualStack:
		errs = append(errs, rules.DualStack.Forbidden(clusterPath, t.Type))
	}
	return errs
}
