package ovnkubernetes

import (
	"slices"

	"k8s.io/apimachinery/pkg/util/validation/field"

	osv1 "github.com/openshift/api/operator/v1"

	"github.com/cluster-network-operator/cno/api/rules"
	"github.com/cluster-network-operator/cno/providers/ovnkubernetes/agentconfig"
)

// validateAudit returns an error for each setting of audit messages that ovn-controller cannot apply.
func validateAudit(c *osv1.PolicyAuditConfig) field.ErrorList {
	if c == nil {
		return nil
	}
	at := configPath.Child("policyAuditConfig")
	var errs field.ErrorList
	positive := func(name string, set bool, value int64) {
		if set && value < 1 {
			errs = append(errs, rules.OVNAuditLimit.Invalid(at.Child(name), value))
		}
	}
	positive("rateLimit", c.RateLimit != nil, int64(*orZero(c.RateLimit)))
	positive("maxFileSize", c.MaxFileSize != nil, int64(*orZero(c.MaxFileSize)))
	positive("maxLogFiles", c.MaxLogFiles != nil, int64(*orZero(c.MaxLogFiles)))
	if c.Destination != "" && !agentconfig.ValidDestination(c.Destination) {
		errs = append(errs, rules.OVNAuditDestination.Invalid(at.Child("destination"), c.Destination))
	}
	if c.SyslogFacility != "" && !slices.Contains(agentconfig.Facilities(), c.SyslogFacility) {
		errs = append(errs, rules.OVNAuditFacility.Invalid(at.Child("syslogFacility"), c.SyslogFacility))
	}
	return errs
}

// validateNotImplemented rejects features that this version does not implement at all.
func validateNotImplemented(c *osv1.OVNKubernetesConfig) field.ErrorList {
	var errs field.ErrorList
	if c.HybridOverlayConfig != nil {
		errs = append(errs, rules.OVNNotBuilt.Forbidden(configPath.Child("hybridOverlayConfig"),
			"configures an overlay to nodes without OVN, which is not part of this version; remove it"))
	}
	if s := c.EgressIPConfig.ReachabilityTotalTimeoutSeconds; s != nil {
		errs = append(errs, notImplemented(configPath.Child("egressIPConfig", "reachabilityTotalTimeoutSeconds"), *s,
			"is for egress IP addresses, which are not part of this version; remove egressIPConfig"))
	}
	switch c.RouteAdvertisements {
	case "", osv1.RouteAdvertisementsDisabled:
	case osv1.RouteAdvertisementsEnabled:
		errs = append(errs, notImplemented(configPath.Child("routeAdvertisements"), c.RouteAdvertisements,
			"is not part of this version: routes to pods are not advertised; use Disabled"))
	default:
		errs = append(errs, rules.OVNRouteAdvertisements.Invalid(configPath.Child("routeAdvertisements"), c.RouteAdvertisements))
	}
	return errs
}
