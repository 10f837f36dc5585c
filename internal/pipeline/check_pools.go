package pipeline

import (
	"net/netip"
	"slices"

	"k8s.io/apimachinery/pkg/util/validation/field"

	operatorv1 "github.com/cluster-network-operator/cno/api/operator/v1"
	"github.com/cluster-network-operator/cno/api/rules"
	"github.com/cluster-network-operator/cno/internal/netaddr"
)

// sameNetwork compares networks by meaning: how one is spelled does not matter. What was applied before may have
// been written by an operator that allowed host bits.
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

// checkConversion allows a second family to be added or removed, where the platform and the network can do it,
// and as long as what both sides have stays as it is.
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

// checkConvertedEntries compares the pools of the side with one family with those of the side with two.
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

// checkCluster compares the pools of pods, when services stay as they are. The first entry is the primary one: it
// stays the first. The order of the others means nothing to a network that can grow.
func (c change) checkCluster() field.ErrorList {
	was, is := c.prev.ClusterNetwork, c.next.ClusterNetwork
	if slices.EqualFunc(was, is, sameEntry) {
		return nil
	}
	if c.migrating() {
		return field.ErrorList{rules.DuringMigration.Forbidden(clusterPath)}
	}
	if len(was) != len(is) {
		return field.ErrorList{rules.ClusterNetworkEntries.Forbidden(clusterPath, len(was), len(is))}
	}
	order, ok := match(was, is)
	if !ok {
		order = identity(len(was))
	}
	var errs field.ErrorList
	if !slices.IsSorted(order) && (!c.traits.GrowPools || order[0] != 0) {
		errs = append(errs, rules.ClusterNetworkOrder.Forbidden(clusterPath, was[0].CIDR))
	}
	for i, j := range order {
		errs = append(errs, c.checkEntry(j, was[i], is[j])...)
	}
	return errs
}

// checkEntry compares one pool, now at index i of the wanted ones.
func (c change) checkEntry(i int, was, is operatorv1.ClusterNetworkEntry) field.ErrorList {
	var errs field.ErrorList
	path := clusterPath.Index(i)
	if was.HostPrefix != is.HostPrefix {
		errs = append(errs, rules.HostPrefixChange.Forbidden(path.Child("hostPrefix")))
	}
	if sameNetwork(was.CIDR, is.CIDR) {
		return errs
	}
	from, to := lenient(was.CIDR), lenient(is.CIDR)
	path = path.Child("cidr")
	switch {
	case (!from.IsValid() || !to.IsValid() || !sameBase(from, to)) && c.traits.GrowPools:
		errs = append(errs, rules.ClusterNetworkGrow.Forbidden(path))
	case !from.IsValid() || !to.IsValid() || !sameBase(from, to):
		errs = append(errs, rules.ClusterNetworkChange.Forbidden(path))
	case to.Bits() > from.Bits():
		errs = append(errs, rules.ClusterNetworkShrink.Forbidden(path, was.CIDR))
	case !c.traits.GrowPools:
		errs = append(errs, rules.ClusterNetworkFixed.Forbidden(path, c.traits.Type, was.CIDR))
	}
	return errs
}

// sameBase reports whether two networks begin at the same address.
func sameBase(a, b netip.Prefix) bool { return a.Addr() == b.Addr() }

// match finds for every entry the one that it became: the same network, or one with the same base. ok is false if
// there is an entry that has none, or shares it.
func match(was, is []operatorv1.ClusterNetworkEntry) (order []int, ok bool) {
	taken := map[int]bool{}
	for _, w := range was {
		j := slices.IndexFunc(is, func(n operatorv1.ClusterNetworkEntry) bool {
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
