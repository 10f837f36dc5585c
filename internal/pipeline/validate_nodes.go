package pipeline

import (
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/cluster-network-operator/cno/api/rules"
	"github.com/cluster-network-operator/cno/internal/netaddr"
	"github.com/cluster-network-operator/cno/internal/phrase"
)

// validateNodes compares the pools with the nodes of the cluster. Errors of new pools are refusals. Those of applied pools,
// which cannot be changed any more, are warnings: refusing would block every other edit as well.
func (s *state) validateNodes(p pools) field.ErrorList {
	errs := append(s.nodesInPools(p), s.tooManyNodes(p)...)
	errs = append(errs, s.nodesWithoutFamily(p)...)
	if len(errs) == 0 || s.in.Applied == nil || !samePools(s.in.Applied, s.result.Spec) {
		return errs
	}
	s.result.Warnings = append(s.result.Warnings, refusals(errs, lookup{}, lookupIn(s.result.Spec))...)
	return nil
}

// nodesInPools refuses pools that contain the address of a node: its traffic would go to a pod.
func (s *state) nodesInPools(p pools) field.ErrorList {
	var errs field.ErrorList
	names := slices.Sorted(maps.Keys(s.in.Cluster.NodeAddresses))
	for _, one := range p.all() {
		if one.err != nil {
			continue
		}
		var inside []string
		for _, name := range names {
			for _, a := range s.in.Cluster.NodeAddresses[name] {
				if one.prefix.Contains(a.Unmap()) {
					inside = append(inside, fmt.Sprintf("node %s address %s", name, a.Unmap()))
				}
			}
		}
		if len(inside) > 0 {
			errs = append(errs, rules.NodeAddressInPool.Invalid(one.cidrPath, one.text, one.prefix, some(inside)))
		}
	}
	return errs
}

// nodesWithoutFamily refuses to add an IP family to a network in use while nodes have no internal address of that family:
// other nodes could not reach the addresses of their pods. Nodes whose addresses are not known yet are ignored.
func (s *state) nodesWithoutFamily(p pools) field.ErrorList {
	if s.in.Applied == nil {
		return nil
	}
	var errs field.ErrorList
	for i, one := range p.service {
		if one.err != nil || slices.ContainsFunc(s.in.Applied.ServiceNetwork, func(cidr string) bool {
			applied := lenient(cidr)
			return !applied.IsValid() || netaddr.SameFamily(applied, one.prefix)
		}) {
			continue
		}
		family := "IPv6"
		if one.prefix.Addr().Is4() {
			family = "IPv4"
		}
		if without := s.nodesLacking(one.prefix.Addr().Is4()); len(without) > 0 {
			errs = append(errs, rules.NodeFamily.Invalid(servicePath.Index(i), one.text, family, some(without), family))
		}
	}
	return errs
}

// nodesLacking returns the nodes that have internal addresses, but none of an IP family.
func (s *state) nodesLacking(v4 bool) []string {
	var names []string
	for _, name := range slices.Sorted(maps.Keys(s.in.Cluster.NodeAddresses)) {
		addresses := s.in.Cluster.NodeAddresses[name]
		if len(addresses) > 0 && !slices.ContainsFunc(addresses, func(a netip.Addr) bool { return a.Unmap().Is4() == v4 }) {
			names = append(names, name)
		}
	}
	return names
}

// some formats a list with at most three entries and the number of the others.
func some(list []string) string {
	return phrase.Names(list, 3)
}

// tooManyNodes refuses pools that have fewer blocks than the cluster has nodes, for each family.
func (s *state) tooManyNodes(p pools) field.ErrorList {
	if !s.result.Traits.HostPrefix || s.in.Cluster.NodeCount <= 0 {
		return nil
	}
	var errs field.ErrorList
	for _, v4 := range []bool{true, false} {
		var total uint64
		var parts []string
		for _, one := range p.cluster {
			if one.err == nil && one.prefix.Addr().Is4() == v4 {
				total = netaddr.Add(total, netaddr.Blocks(one.prefix, one.hostPrefix))
				parts = append(parts, fmt.Sprintf("%s with hostPrefix %d", one.prefix, one.hostPrefix))
			}
		}
		// No block at all means that hostPrefix is invalid, which has been reported.
		if total > 0 && total < uint64(s.in.Cluster.NodeCount) {
			errs = append(errs, rules.PoolCapacity.Forbidden(clusterPath, strings.Join(parts, " and "), total, s.in.Cluster.NodeCount))
		}
	}
	return errs
}
