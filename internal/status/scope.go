package status

import (
	"cmp"
	"slices"
)

// controllers are the operator's controllers besides that of the network, in the order in which they are reported. They affect
// the operator as a whole, but not the network: an invalid proxy is no problem of the network.
var controllers = [...]string{
	"ClusterConfig", "ProxyConfig", "InjectorConfig", "MachineConfig", "PKIConfig", "EgressRouterConfig", "CertificateSigner",
	"InfrastructureConfig", "IngressConfig", "DashboardConfig", "NetworkFeatures", "TLSProfile", "PullSecret",
}

// IsController reports whether a component is one of the operator's controllers besides that of the network.
func IsController(component string) bool { return slices.Contains(controllers[:], component) }

// rank returns the sort key of a component: first the operator's own work on the network, then its components, then
// other controllers.
func rank(component string) int {
	switch {
	case component == "":
		return 0
	case !IsController(component):
		return 1
	default:
		return 2 + slices.Index(controllers[:], component)
	}
}

// sorted returns findings in the order in which they are reported.
func sorted(findings []Finding) []Finding {
	all := slices.Clone(findings)
	slices.SortStableFunc(all, func(a, b Finding) int {
		return cmp.Or(
			cmp.Compare(rank(a.Component), rank(b.Component)), cmp.Compare(a.Component, b.Component),
			later(a.Reason)-later(b.Reason), cmp.Compare(a.Reason, b.Reason), cmp.Compare(a.Message, b.Message))
	})
	return all
}

// later returns 1 for the least specific reasons, which are reported last.
func later(reason string) int {
	if reason == reasonStartup || reason == reasonDeploying {
		return 1
	}
	return 0
}
