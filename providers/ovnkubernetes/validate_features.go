package ovnkubernetes

import (
	"fmt"

	"k8s.io/apimachinery/pkg/util/validation/field"

	osv1 "github.com/openshift/api/operator/v1"
)

// validateIPsec accepts that IPsec is disabled. An object without a mode means Full, as early versions of the API had it.
func validateIPsec(c *osv1.IPsecConfig) field.ErrorList {
	if c == nil {
		return nil
	}
	at := configPath.Child("ipsecConfig")
	var errs field.ErrorList
	switch c.Mode {
	case osv1.IPsecModeDisabled:
	case "":
		errs = append(errs, field.Forbidden(at, "has no mode, which means Full: IPsec is not part of this version; set mode to Disabled, or leave ipsecConfig out").WithOrigin(ruleNotBuilt))
	case osv1.IPsecModeExternal, osv1.IPsecModeFull:
		errs = append(errs, notBuilt(at.Child("mode"), c.Mode, "is not part of this version: packets between nodes are not encrypted; use Disabled"))
	default:
		errs = append(errs, field.Invalid(at.Child("mode"), c.Mode, "is not a mode of IPsec; use Disabled").WithOrigin("ovn-ipsec-mode"))
	}
	if c.Full != nil {
		errs = append(errs, field.Forbidden(at.Child("full"), "has settings of IPsec, which is not part of this version; remove it").WithOrigin(ruleNotBuilt))
	}
	return errs
}

// validateAudit accepts what the API server fills in, which writes no messages to a syslog. Anything else asks for audit messages.
func validateAudit(c *osv1.PolicyAuditConfig) field.ErrorList {
	if c == nil {
		return nil
	}
	at := configPath.Child("policyAuditConfig")
	var errs field.ErrorList
	refuse := func(name string, value, standard any) {
		errs = append(errs, notBuilt(at.Child(name), value, fmt.Sprintf("configures audit messages of NetworkPolicies, which are not part of this version; use %v, or leave policyAuditConfig out", standard)))
	}
	if c.RateLimit != nil && *c.RateLimit != 20 {
		refuse("rateLimit", *c.RateLimit, 20)
	}
	if c.MaxFileSize != nil && *c.MaxFileSize != 50 {
		refuse("maxFileSize", *c.MaxFileSize, 50)
	}
	if c.MaxLogFiles != nil && *c.MaxLogFiles != 5 {
		refuse("maxLogFiles", *c.MaxLogFiles, 5)
	}
	if c.Destination != "" && c.Destination != "null" {
		refuse("destination", c.Destination, `"null"`)
	}
	if c.SyslogFacility != "" && c.SyslogFacility != "local0" {
		refuse("syslogFacility", c.SyslogFacility, "local0")
	}
	return errs
}

// validateNotBuilt refuses what this version does not implement at all.
func validateNotBuilt(c *osv1.OVNKubernetesConfig) field.ErrorList {
	var errs field.ErrorList
	if c.HybridOverlayConfig != nil {
		errs = append(errs, field.Forbidden(configPath.Child("hybridOverlayConfig"),
			"configures an overlay to nodes without OVN, which is not part of this version; remove it").WithOrigin(ruleNotBuilt))
	}
	if s := c.EgressIPConfig.ReachabilityTotalTimeoutSeconds; s != nil {
		errs = append(errs, notBuilt(configPath.Child("egressIPConfig", "reachabilityTotalTimeoutSeconds"), *s,
			"is for egress IP addresses, which are not part of this version; remove egressIPConfig"))
	}
	switch c.RouteAdvertisements {
	case "", osv1.RouteAdvertisementsDisabled:
	case osv1.RouteAdvertisementsEnabled:
		errs = append(errs, notBuilt(configPath.Child("routeAdvertisements"), c.RouteAdvertisements,
			"is not part of this version: routes to pods are not advertised; use Disabled"))
	default:
		errs = append(errs, field.Invalid(configPath.Child("routeAdvertisements"), c.RouteAdvertisements, "is neither Enabled nor Disabled; use Disabled").WithOrigin("ovn-route-advertisements"))
	}
	return errs
}
