package clusterconfig

import (
	configv1 "github.com/openshift/api/config/v1"
	osv1 "github.com/openshift/api/operator/v1"

	operatorv1 "github.com/cluster-network-operator/cno/api/operator/v1"
)

// appliedNetwork is the network that is applied.
type appliedNetwork struct {
	spec *operatorv1.NetworkSpec
	// mtu is the pod MTU; 0 if it is unknown.
	mtu int
	// own is true if this operator installs the network type. Otherwise a third party does, and its status takes precedence.
	own bool
}

// statusFor returns the status of Network.config for the applied network. The conditions stay, and without an applied network everything
// stays.
func statusFor(now configv1.NetworkStatus, n appliedNetwork) configv1.NetworkStatus {
	out := *now.DeepCopy()
	if n.spec == nil {
		return out
	}
	if n.own || len(out.ClusterNetwork) == 0 {
		out.ClusterNetwork = nil
		for _, e := range n.spec.ClusterNetwork {
			out.ClusterNetwork = append(out.ClusterNetwork, configv1.ClusterNetworkEntry{CIDR: e.CIDR, HostPrefix: e.HostPrefix})
		}
	}
	if n.own || len(out.ServiceNetwork) == 0 {
		out.ServiceNetwork = append([]string(nil), n.spec.ServiceNetwork...)
	}
	if n.own || out.NetworkType == "" {
		out.NetworkType = string(n.spec.DefaultNetwork.Type)
	}
	if n.own && n.mtu > 0 {
		out.ClusterNetworkMTU = n.mtu
	}
	out.Migration = migration(n.spec.Migration)
	return out
}

// migration returns the migration for the status; nil if there is none. The machine config operator waits for it.
func migration(m *osv1.NetworkMigration) *configv1.NetworkMigration {
	if m == nil || m.NetworkType == "" && m.MTU == nil {
		return nil
	}
	out := &configv1.NetworkMigration{NetworkType: m.NetworkType}
	if m.MTU != nil {
		out.MTU = &configv1.MTUMigration{Network: mtu(m.MTU.Network), Machine: mtu(m.MTU.Machine)}
	}
	return out
}

func mtu(v *osv1.MTUMigrationValues) *configv1.MTUMigrationValues {
	if v == nil {
		return nil
	}
	return (&configv1.MTUMigrationValues{To: v.To, From: v.From}).DeepCopy()
}
