package openshiftsdn

import (
	"cmp"

	osv1 "github.com/openshift/api/operator/v1"

	operatorv1 "github.com/cluster-network-operator/cno/api/operator/v1"
	"github.com/cluster-network-operator/cno/internal/facts"
	"github.com/cluster-network-operator/cno/internal/mtumigration"
	"github.com/cluster-network-operator/cno/providers/openshiftsdn/agentconfig"
)

// The defaults of settings.
const (
	defaultMode = osv1.SDNModeNetworkPolicy
	defaultPort = 4789
)

// Default makes every setting explicit. A setting that is left out is taken from prev, so that leaving it out never changes it.
func (OpenShiftSDN) Default(spec, prev *operatorv1.NetworkSpec, f facts.Cluster) *operatorv1.NetworkSpec {
	out := spec.DeepCopy()
	c, before := settings(out).DeepCopy(), settings(prev)
	out.DefaultNetwork.OpenShiftSDNConfig = c

	c.Mode = cmp.Or(spelled(c.Mode), spelled(before.Mode), defaultMode)
	c.VXLANPort = firstSet(c.VXLANPort, before.VXLANPort, new(uint32(defaultPort)))
	c.MTU = firstSet(c.MTU, before.MTU, linkMTU(f))
	if m := mtumigration.Announced(spec); m != nil && before.MTU != nil {
		c.MTU = new(mtumigration.Filled(*m, *before.MTU, f.MTUMigration))
	}
	c.UseExternalOpenvswitch = firstSet(c.UseExternalOpenvswitch, before.UseExternalOpenvswitch, new(false))
	c.EnableUnidling = firstSet(c.EnableUnidling, before.EnableUnidling, new(true))
	return out
}

// linkMTU is what the shortest link of the nodes takes, less VXLAN. It is nil while that is not known: the pipeline waits for it.
func linkMTU(f facts.Cluster) *uint32 {
	mtu := f.HostMTU - agentconfig.VXLANOverhead
	if mtu < minMTU {
		return nil
	}
	return new(uint32(min(mtu, maxMTU)))
}

// firstSet returns a copy of the first value that is given.
func firstSet[T any](values ...*T) *T {
	for _, v := range values {
		if v != nil {
			return new(*v)
		}
	}
	return nil
}
