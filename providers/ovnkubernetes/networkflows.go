package ovnkubernetes

import (
	"net/netip"

	osv1 "github.com/openshift/api/operator/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	operatorv1 "github.com/cluster-network-operator/cno/api/operator/v1"
	"github.com/cluster-network-operator/cno/api/rules"
	"github.com/cluster-network-operator/cno/providers/ovnkubernetes/agentconfig"
)

// maxCollectors is the API's maximum number of collectors per protocol.
const maxCollectors = 10

// collectors is a protocol with its collectors.
type collectors struct {
	path  *field.Path
	given []osv1.IPPort
	set   func(*agentconfig.NetworkFlows, []netip.AddrPort)
}

func collectorsOf(e *osv1.ExportNetworkFlows) []collectors {
	if e == nil {
		return nil
	}
	path := field.NewPath("spec", "exportNetworkFlows")
	var out []collectors
	if e.NetFlow != nil {
		out = append(out, collectors{path.Child("netFlow", "collectors"), e.NetFlow.Collectors, func(n *agentconfig.NetworkFlows, a []netip.AddrPort) { n.NetFlow = a }})
	}
	if e.SFlow != nil {
		out = append(out, collectors{path.Child("sFlow", "collectors"), e.SFlow.Collectors, func(n *agentconfig.NetworkFlows, a []netip.AddrPort) { n.SFlow = a }})
	}
	if e.IPFIX != nil {
		out = append(out, collectors{path.Child("ipfix", "collectors"), e.IPFIX.Collectors, func(n *agentconfig.NetworkFlows, a []netip.AddrPort) { n.IPFIX = a }})
	}
	return out
}

// validateNetworkFlows returns an error for each invalid collector. The API accepts only IPv4 addresses.
func validateNetworkFlows(spec *operatorv1.NetworkSpec) field.ErrorList {
	var errs field.ErrorList
	for _, c := range collectorsOf(spec.ExportNetworkFlows) {
		if len(c.given) > 0 && !hasIPv4(spec) {
			errs = append(errs, rules.OVNFlowFamily.Forbidden(c.path))
		}
		if len(c.given) > maxCollectors {
			errs = append(errs, rules.OVNFlowCollectors.Forbidden(c.path, len(c.given), maxCollectors))
		}
		for i, text := range c.given {
			a, err := netip.ParseAddrPort(string(text))
			if err != nil || !a.Addr().Is4() || a.Port() == 0 || a.Addr().IsUnspecified() || a.Addr().IsMulticast() || a.Addr().IsLoopback() {
				errs = append(errs, rules.OVNFlowCollector.Invalid(c.path.Index(i), text))
			}
		}
	}
	return errs
}

// networkFlows returns the collectors of a valid specification.
func networkFlows(e *osv1.ExportNetworkFlows) agentconfig.NetworkFlows {
	var n agentconfig.NetworkFlows
	for _, c := range collectorsOf(e) {
		var all []netip.AddrPort
		for _, text := range c.given {
			if a, err := netip.ParseAddrPort(string(text)); err == nil {
				all = append(all, a)
			}
		}
		c.set(&n, all)
	}
	return n
}
