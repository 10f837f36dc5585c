package ovnkubernetes

import (
	"cmp"

	osv1 "github.com/openshift/api/operator/v1"

	operatorv1 "github.com/cluster-network-operator/cno/api/operator/v1"
	"github.com/cluster-network-operator/cno/internal/facts"
	"github.com/cluster-network-operator/cno/internal/mtumigration"
	"github.com/cluster-network-operator/cno/providers/ovnkubernetes/agentconfig"
	"github.com/cluster-network-operator/cno/providers/ovnkubernetes/topology"
)

// Default values of settings.
const (
	defaultGenevePort = 6081
	defaultJoin       = "100.64.0.0/16"
	defaultTransit    = "100.88.0.0/16"
	defaultJoin6      = "fd98::/64"
	defaultTransit6   = "fd97::/64"
	// masquerade has the source address of a pod's connections to itself through a Service, 169.254.169.5.
	masquerade = "169.254.169.0/29"
	// masquerade6 is the same for IPv6, with fd69::5.
	masquerade6 = "fd69::/125"

	// overhead is subtracted from the nodes' MTU for the default MTU, as in OpenShift's operator: enough for Geneve with options over either IP family, and
	// for VLAN tags.
	overhead = 100
)

// geneve returns the overhead of a packet in a tunnel.
func geneve(spec *operatorv1.NetworkSpec) int { return topology.GeneveOverhead(tunnelsIPv6(spec)) }

// Default makes every setting explicit. It takes an omitted immutable setting from prev, so that omitting a setting never changes it.
func (OVNKubernetes) Default(spec, prev *operatorv1.NetworkSpec, f facts.Cluster) *operatorv1.NetworkSpec {
	out := spec.DeepCopy()
	c, before := settings(out).DeepCopy(), settings(prev)
	out.DefaultNetwork.OVNKubernetesConfig = c

	c.IPsecConfig = defaultIPsec(c.IPsecConfig)
	c.MTU = defaultMTU(spec, before, f)
	if m := mtumigration.Announced(spec); m != nil && before.MTU != nil {
		c.MTU = new(mtumigration.Filled(*m, *before.MTU, f.MTUMigration))
	}
	c.GenevePort = firstSet(c.GenevePort, before.GenevePort, new(uint32(defaultGenevePort)))
	c.RouteAdvertisements = cmp.Or(c.RouteAdvertisements, osv1.RouteAdvertisementsDisabled)
	c.PolicyAuditConfig = defaultAudit(c.PolicyAuditConfig)
	c.GatewayConfig = defaultGateway(spec)
	if hasIPv4(spec) {
		v4, previous := orZero(c.IPv4), orZero(before.IPv4)
		c.IPv4 = &osv1.IPv4OVNKubernetesConfig{
			InternalJoinSubnet:          cmp.Or(v4.InternalJoinSubnet, c.V4InternalSubnet, previous.InternalJoinSubnet, defaultJoin),
			InternalTransitSwitchSubnet: cmp.Or(v4.InternalTransitSwitchSubnet, previous.InternalTransitSwitchSubnet, defaultTransit),
		}
	}
	if hasIPv6(spec) {
		v6, previous := orZero(c.IPv6), orZero(before.IPv6)
		c.IPv6 = &osv1.IPv6OVNKubernetesConfig{
			InternalJoinSubnet:          cmp.Or(v6.InternalJoinSubnet, c.V6InternalSubnet, previous.InternalJoinSubnet, defaultJoin6),
			InternalTransitSwitchSubnet: cmp.Or(v6.InternalTransitSwitchSubnet, previous.InternalTransitSwitchSubnet, defaultTransit6),
		}
	}
	return out
}

// defaultAudit returns the settings of audit messages with defaults.
func defaultAudit(given *osv1.PolicyAuditConfig) *osv1.PolicyAuditConfig {
	a, standard := orZero(given.DeepCopy()), agentconfig.DefaultAudit()
	return &osv1.PolicyAuditConfig{
		RateLimit: firstSet(a.RateLimit, &standard.RateLimit), MaxFileSize: firstSet(a.MaxFileSize, &standard.MaxFileSize), MaxLogFiles: firstSet(a.MaxLogFiles, &standard.MaxLogFiles),
		Destination: cmp.Or(a.Destination, standard.Destination), SyslogFacility: cmp.Or(a.SyslogFacility, standard.Facility),
	}
}

// audit returns the settings of audit messages of a specification.
func audit(spec *operatorv1.NetworkSpec) agentconfig.Audit {
	a := defaultAudit(settings(spec).PolicyAuditConfig)
	return agentconfig.Audit{RateLimit: *a.RateLimit, MaxFileSize: *a.MaxFileSize, MaxLogFiles: *a.MaxLogFiles, Destination: a.Destination, Facility: a.SyslogFacility}
}

// defaultMTU returns the MTU of the nodes minus the overhead of Geneve and IPsec, and with IPsec at most what every node encrypts. It returns nil while the
// nodes' MTU is unknown: the pipeline waits for it.
func defaultMTU(spec *operatorv1.NetworkSpec, before *osv1.OVNKubernetesConfig, f facts.Cluster) *uint32 {
	if set := firstSet(settings(spec).MTU, before.MTU); set != nil {
		return set
	}
	// The reserve is enough for both kinds of ESP over IPv4, but not for charon's over IPv6.
	reserved, needed := ipsecOverhead(spec)
	if mtu := f.HostMTU - max(overhead+reserved, geneve(spec)+needed); mtu >= int(smallestMTU(hasIPv6(spec))) {
		return new(uint32(min(mtu, maxDefaultMTU(spec))))
	}
	return nil
}

// defaultGateway returns the gateway's settings with defaults. Only one kind of gateway is implemented.
func defaultGateway(spec *operatorv1.NetworkSpec) *osv1.GatewayConfig {
	out := settings(spec).GatewayConfig.DeepCopy()
	if out == nil {
		out = &osv1.GatewayConfig{RoutingViaHost: true}
	}
	out.IPForwarding = cmp.Or(out.IPForwarding, osv1.IPForwardingGlobal)
	if hasIPv4(spec) {
		out.IPv4.InternalMasqueradeSubnet = cmp.Or(out.IPv4.InternalMasqueradeSubnet, masquerade)
	}
	if hasIPv6(spec) {
		out.IPv6.InternalMasqueradeSubnet = cmp.Or(out.IPv6.InternalMasqueradeSubnet, masquerade6)
	}
	return out
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
