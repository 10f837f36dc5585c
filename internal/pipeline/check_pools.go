package pipeline

import (
	"net/netip"
	"slices"

	"k8s.io/apimachinery/pkg/util/validation/field"

	operatorv1 "github.com/cluster-network-operator/cno/api/operator/v1"
	"github.com/cluster-network-operator/cno/api/rules"
	"github.com/cluster-network-operator/cno/internal/netaddr"
)

// sameNetwork compares networks and ignores their spelling. An earlier version of the operator may have applied
// networks with host bits.
func sameNetwork(a, b string) bool {
	if a == b {
		return true
	}
	p, q := lenient(a), lenient(b)
	return p.IsValid() && p == q
}

func sameEntry(a, b operatorv1.ClusterNetworkEntry) bool {
	return sameNetwork(a.CIDR, b.CIDR) && a.HostPrefix == b.HostPrefix
}

func sameServices(a, b *operatorv1.NetworkSpec) bool {
	return slices.EqualFunc(a.ServiceNetwork, b.ServiceNetwork, sameNetwork)
}

func samePools(a, b *operatorv1.NetworkSpec) bool {
	return sameServices(a, b) && slices.EqualFunc(a.ClusterNetwork, b.ClusterNetwork, sameEntry)
}

// checkConversion allows a second IP family to be added or removed if the platform and the network support it and the
// other family does not change.
func (c change) checkConversion() field.ErrorList {
	toDual := len(c.next.ServiceNetwork) == 2
	var errs field.ErrorList
	switch c.platform {
	case "", "None", "BareMetal", "VSphere":
	default:
		if toDual {
			errs = append(errs, rules.ConversionPlatform.Forbidden(servicePath, c.platform))
		}
	}
	if !c.traits.ConvertDualStack {
		errs = append(errs, rules.ConversionNetwork.Forbidden(servicePath, c.traits.Type, list(c.prev.ServiceNetwork)))
	}
	if !sameNetwork(c.prev.ServiceNetwork[0], c.next.ServiceNetwork[0]) {
		errs = append(errs, rules.ConversionService.Forbidden(servicePath.Index(0), c.prev.ServiceNetwork[0]))
	}
	single, dual := c.prev.ClusterNetwork, c.next.ClusterNetwork
	if !toDual {
		single, dual = dual, single
	}
	return append(errs, checkConvertedEntries(c.prev.ClusterNetwork, single, dual)...)
}

// checkConvertedEntries compares the pools of the single-stack specification with those of the dual-stack one.
func checkConvertedEntries(prev, single, dual []operatorv1.ClusterNetworkEntry) field.ErrorList {
	var errs field.ErrorList
	for i := range min(len(single), len(dual)) {
		if !sameEntry(single[i], dual[i]) {
			errs = append(errs, rules.ConversionCluster.Forbidden(clusterPath.Index(i), prev[i].CIDR, prev[i].HostPrefix))
		}
	}
	if len(single) > len(dual) {
		return append(errs, rules.ConversionFewer.Forbidden(clusterPath))
	}
	for i := len(single); i < len(dual) && len(single) > 0; i++ {
		if netaddr.SameFamily(lenient(dual[i].CIDR), lenient(single[0].CIDR)) {
			errs = append(errs, rules.ConversionMore.Forbidden(clusterPath.Index(i), dual[i].CIDR))
		}
	}
	return errs
}

// checkCluster compares the pools of pods. The first entry is the primary one and must stay the first. For a network
// whose pools can grow, the order of the others has no meaning.
func (c change) checkCluster() field.ErrorList {
	before, after := c.prev.ClusterNetwork, c.next.ClusterNetwork
	if slices.EqualFunc(before, after, sameEntry) {
		return nil
	}
	if c.migrating() {
		return field.ErrorList{rules.DuringMigration.Forbidden(clusterPath)}
	}
	if len(before) != len(after) {
		return field.ErrorList{rules.ClusterNetworkEntries.Forbidden(clusterPath, len(before), len(after))}
	}
	order, ok := match(before, after)
	if !ok {
		order = identity(len(before))
	}
	var errs field.ErrorList
	if !slices.IsSorted(order) && (!c.traits.GrowPools || order[0] != 0) {
		errs = append(errs, rules.ClusterNetworkOrder.Forbidden(clusterPath, before[0].CIDR))
	}
	for i, j := range order {
		errs = append(errs, c.checkEntry(j, before[i], after[j])...)
	}
	return errs
}

// checkEntry compares one pool; i is its index in the desired specification.
func (c change) checkEntry(i int, before, after operatorv1.ClusterNetworkEntry) field.ErrorList {
	var errs field.ErrorList
	path := clusterPath.Index(i)
	if before.HostPrefix != after.HostPrefix {
		errs = append(errs, rules.HostPrefixChange.Forbidden(path.Child("hostPrefix")))
	}
	if sameNetwork(before.CIDR, after.CIDR) {
		return errs
	}
	from, to := lenient(before.CIDR), lenient(after.CIDR)
	path = path.Child("cidr")
	switch {
	case (!from.IsValid() || !to.IsValid() || !sameBase(from, to)) && c.traits.GrowPools:
		errs = append(errs, rules.ClusterNetworkGrow.Forbidden(path))
	case !from.IsValid() || !to.IsValid() || !sameBase(from, to):
		errs = append(errs, rules.ClusterNetworkChange.Forbidden(path))
	case to.Bits() > from.Bits():
		errs = append(errs, rules.ClusterNetworkShrink.Forbidden(path, before.CIDR))
	case !c.traits.GrowPools:
		errs = append(errs, rules.ClusterNetworkFixed.Forbidden(path, c.traits.Type, before.CIDR))
	}
	return errs
}

// sameBase reports whether two networks begin at the same address.
func sameBase(a, b netip.Prefix) bool { return a.Addr() == b.Addr() }

// match maps every previous entry to the index of its next one: the same network, or one with the same base. ok is
// false if an entry has no counterpart or shares it.
func match(before, after []operatorv1.ClusterNetworkEntry) (order []int, ok bool) {
	taken := map[int]bool{}
	for _, w := range before {
		j := slices.IndexFunc(after, func(n operatorv1.ClusterNetworkEntry) bool {
			return sameNetwork(w.CIDR, n.CIDR) || lenient(w.CIDR).IsValid() && sameBase(lenient(w.CIDR), lenient(n.CIDR))
		})
		if j < 0 || taken[j] {
			return nil, false
		}
		taken[j] = true
		order = append(order, j)
	}
	return order, true
}

func identity(n int) []int {
	order := make([]int, n)
	for i := range order {
		order[i] = i
	}
	return order
}
