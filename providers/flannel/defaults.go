package flannel

import (
	operatorv1 "github.com/cluster-network-operator/cno/api/operator/v1"
	"github.com/cluster-network-operator/cno/internal/facts"
	"github.com/cluster-network-operator/cno/internal/mtumigration"
	"github.com/cluster-network-operator/cno/providers/flannel/agentconfig"
)

// Default values of settings.
const (
	defaultBackend    = operatorv1.FlannelBackendHostGW
	defaultVNI        = 1
	defaultVXLANPort  = 8472
	defaultPrefix     = "/coreos.com/network"
	defaultClientPort = 12379
	defaultPeerPort   = 12380
	defaultDataDir    = "/var/lib/cno/flannel-etcd"

	vxlanOverhead = agentconfig.VXLANOverhead
)

// Default makes every setting explicit. It takes an omitted immutable setting from prev, so that omitting a setting never changes it.
func (Flannel) Default(spec, prev *operatorv1.NetworkSpec, f facts.Cluster) *operatorv1.NetworkSpec {
	out := spec.DeepCopy()
	c, before := settings(out).DeepCopy(), settings(prev)
	out.DefaultNetwork.FlannelConfig = c

	c.Backend = first(c.Backend, before.Backend, defaultBackend)
	c.Interface = first(c.Interface, before.Interface)
	if c.Backend == operatorv1.FlannelBackendVXLAN {
		c.VXLAN = defaultVXLAN(c.VXLAN, before.VXLAN)
	}
	c.MTU = defaultMTU(c, before, f)
	if m := migration(spec); m != nil && before.MTU != nil {
		c.MTU = new(mtumigration.Filled(*m, *before.MTU, f.MTUMigration))
	}
	c.Etcd = defaultEtcd(c.Etcd, before.Etcd)
	return out
}

func defaultVXLAN(v, before *operatorv1.FlannelVXLAN) *operatorv1.FlannelVXLAN {
	v, before = orZero(v), orZero(before)
	return &operatorv1.FlannelVXLAN{
		VNI:  firstSet(v.VNI, before.VNI, new(uint32(defaultVNI))),
		Port: firstSet(v.Port, before.Port, new(uint32(defaultVXLANPort))),
	}
}

// defaultMTU returns the maximum MTU of all nodes. It returns nil while that is unknown: the pipeline waits for it. After a change of the backend it keeps the
// previous MTU unless the overhead is larger.
func defaultMTU(c, before *operatorv1.FlannelConfig, f facts.Cluster) *uint32 {
	switch {
	case c.MTU != nil:
		return new(*c.MTU)
	case before.MTU != nil && overhead(c.Backend) <= overhead(before.Backend):
		return new(*before.MTU)
	}
	limit := maxMTU
	if before.MTU != nil {
		limit = int(*before.MTU)
	}
	if mtu := f.HostMTU - overhead(c.Backend); f.HostMTU > 0 && mtu >= minMTU {
		return new(uint32(min(mtu, limit)))
	}
	return nil
}

func defaultEtcd(e, before *operatorv1.FlannelEtcd) *operatorv1.FlannelEtcd {
	e, before = orZero(e), orZero(before)
	out := &operatorv1.FlannelEtcd{Prefix: first(e.Prefix, before.Prefix, defaultPrefix), External: e.External, Managed: e.Managed}
	if out.External == nil && out.Managed == nil {
		out.External = before.External.DeepCopy()
	}
	if out.External != nil {
		return out
	}
	m, previous := orZero(out.Managed), orZero(before.Managed)
	out.Managed = &operatorv1.FlannelManagedEtcd{
		ClientPort: firstSet(m.ClientPort, previous.ClientPort, new(uint32(defaultClientPort))),
		PeerPort:   firstSet(m.PeerPort, previous.PeerPort, new(uint32(defaultPeerPort))),
		DataDir:    first(m.DataDir, previous.DataDir, defaultDataDir),
	}
	return out
}

// first returns the first value that is not zero.
func first[T comparable](values ...T) T {
	var zero T
	for _, v := range values {
		if v != zero {
			return v
		}
	}
	return zero
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

func orZero[T any](v *T) *T {
	if v == nil {
		return new(T)
	}
	return v
}
