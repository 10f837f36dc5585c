package openshiftsdn

import (
	"cmp"

	osv1 "github.com/openshift/api/operator/v1"

	operatorv1 "github.com/cluster-network-operator/cno/api/operator/v1"
	"github.com/cluster-network-operator/cno/internal/facts"
	"github.com/cluster-network-operator/cno/internal/mtumigration"
	"github.com/cluster-network-operator/cno/providers/openshiftsdn/agentconfig"
)

// Default values of settings.
const (
	defaultMode = osv1.SDNModeNetworkPolicy
	defaultPort = 4789
)

// Default makes every setting explicit. It takes an omitted setting from prev, so that omitting a setting never changes it.
func (OpenShiftSDN) Default(spec, prev *operatorv1.NetworkSpec, f facts.Cluster) *operatorv1.NetworkSpec {
	out := spec.DeepCopy()
	c, before := settings(out).DeepCopy(), settings(prev)
	out.DefaultNetwork.OpenShiftSDNConfig = c

	c.Mode = cmp.Or(canonicalMode(c.Mode), canonicalMode(before.Mode), defaultMode)
	c.VXLANPort = firstSet(c.VXLANPort, before.VXLANPort, new(uint32(defaultPort)))
	c.MTU = firstSet(c.MTU, before.MTU, linkMTU(f))
	if m := mtumigration.Announced(spec); m != nil && before.MTU != nil {
		c.MTU = new(mtumigration.Filled(*m, *before.MTU, f.MTUMigration))
	}
	c.UseExternalOpenvswitch = firstSet(c.UseExternalOpenvswitch, before.UseExternalOpenvswitch, new(false))
	c.EnableUnidling = firstSet(c.EnableUnidling, before.EnableUnidling, new(true))
	return out
}

// linkMTU returns the MTU of the nodes' shortest link minus the VXLAN overhead, at most maxMTU. It returns nil while the link MTU is unknown.
func linkMTU(f facts.Cluster) *uint32 {
	mtu := f.HostMTU - agentconfig.VXLANOverhead
	if mtu < minMTU {
		return nil
	}
	return new(uint32(min(mtu, maxMTU)))
}

// firstSet returns a copy of the first value that is not nil.
func firstSet[T any](values ...*T) *T {
	for _, v := range values {
		if v != nil {
			return new(*v)
		}
	}
	return nil
}
