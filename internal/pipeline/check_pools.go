package pipeline

import (
	"net/netip"
	"slices"

	"k8s.io/apimachinery/pkg/util/validation/field"

	operatorv1 "github.com/cluster-network-operator/cno/api/operator/v1"
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
			errs = append(errs, forbid(servicePath, RuleDualStackConversion, "%s does not allow conversion to dual-stack cluster; remove the second network", c.platform)...)
		}
	}
	if !c.traits.ConvertDualStack {
		errs = append(errs, forbid(servicePath, RuleDualStackConversion, "network type %s does not allow migrating to/from dual-stack; put back %s", c.traits.Type, list(c.prev.ServiceNetwork))...)
	}
	if !sameNetwork(c.prev.ServiceNetwork[0], c.next.ServiceNetwork[0]) {
		errs = append(errs, forbid(servicePath.Index(0), RuleDualStackConversion, "cannot change primary ServiceNetwork when migrating to/from dual-stack; put back %s", c.prev.ServiceNetwork[0])...)
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
			errs = append(errs, forbid(clusterPath.Index(i), RuleDualStackConversion, "cannot change primary ClusterNetwork when migrating to/from dual-stack; put back %s with hostPrefix %d", prev[i].CIDR, prev[i].HostPrefix)...)
		}
	}
	if len(single) > len(dual) {
		return append(errs, forbid(clusterPath, RuleDualStackConversion, "the side with two IP families has fewer entries than the side with one; change nothing but the second family")...)
	}
	for i := len(single); i < len(dual) && len(single) > 0; i++ {
		if netaddr.SameFamily(lenient(dual[i].CIDR), lenient(single[0].CIDR)) {
			errs = append(errs, forbid(clusterPath.Index(i), RuleDualStackConversion, "cannot add additional ClusterNetwork values of original IP family when migrating to dual stack; leave %s out", dual[i].CIDR)...)
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
		return forbid(clusterPath, RuleDuringMigration, "cannot change ClusterNetwork during migration; put it back")
	}
	if len(was) != len(is) {
		return forbid(clusterPath, RuleClusterChange, "adding/removing clusterNetwork entries of the same type is not supported (%d are applied, %d are wanted); put them back", len(was), len(is))
	}
	order, ok := match(was, is)
	if !ok {
		order = identity(len(was))
	}
	var errs field.ErrorList
	if !slices.IsSorted(order) && (!c.traits.GrowPools || order[0] != 0) {
		errs = append(errs, forbid(clusterPath, RuleClusterOrder, "cannot change the order of clusterNetwork entries: the first one is the primary one; put %s first and leave the others where they were", was[0].CIDR)...)
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
		errs = append(errs, forbid(path.Child("hostPrefix"), RuleHostPrefixChange,
			"modifying a clusterNetwork's hostPrefix value is unsupported: "+BlocksStay+"; put back %d", was.HostPrefix)...)
	}
	if sameNetwork(was.CIDR, is.CIDR) {
		return errs
	}
	from, to := lenient(was.CIDR), lenient(is.CIDR)
	path = path.Child("cidr")
	switch {
	case !from.IsValid() || !to.IsValid() || !sameBase(from, to):
		errs = append(errs, forbid(path, RuleClusterChange, "modifying IP network value for clusterNetwork CIDR is unsupported: "+PodsStay+"; put back %s%s", was.CIDR, c.orGrow())...)
	case to.Bits() > from.Bits():
		errs = append(errs, forbid(path, RuleClusterShrink, "reducing IP range with a larger CIDR mask for clusterNetwork CIDR is unsupported: nodes may hold blocks outside it; put back %s", was.CIDR)...)
	case !c.traits.GrowPools:
		errs = append(errs, forbid(path, RuleClusterChange, "network type is %s. changing clusterNetwork entries is only supported for network types whose pools can grow; put back %s", c.traits.Type, was.CIDR)...)
	}
	return errs
}

// orGrow is the other way out of a change of a pool, where there is one.
func (c change) orGrow() string {
	if !c.traits.GrowPools {
		return ""
	}
	return ", or only shorten its prefix, beginning at the same address"
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
