package ovnkubernetes

import (
	"k8s.io/apimachinery/pkg/util/validation/field"

	osv1 "github.com/openshift/api/operator/v1"

	operatorv1 "github.com/cluster-network-operator/cno/api/operator/v1"
	"github.com/cluster-network-operator/cno/api/rules"
	"github.com/cluster-network-operator/cno/providers/ovnkubernetes/agentconfig"
)

// validateIPsec returns every error in the settings of IPsec. An object without a mode means Full, as in early versions of the API.
func validateIPsec(c *osv1.IPsecConfig) field.ErrorList {
	if c == nil {
		return nil
	}
	at := configPath.Child("ipsecConfig")
	var errs field.ErrorList
	full := false
	switch c.Mode {
	case "", osv1.IPsecModeFull:
		full = true
	case osv1.IPsecModeDisabled, osv1.IPsecModeExternal:
	default:
		errs = append(errs, rules.OVNIPsecMode.Invalid(at.Child("mode"), c.Mode))
		full = true // an unknown mode has no further errors
	}
	if c.Full == nil {
		return errs
	}
	if !full {
		errs = append(errs, rules.OVNIPsecFull.Forbidden(at.Child("full"), c.Mode))
	}
	switch e := c.Full.Encapsulation; e {
	case "", osv1.EncapsulationAuto, osv1.EncapsulationAlways:
	default:
		errs = append(errs, rules.OVNIPsecEncapsulation.Invalid(at.Child("full", "encapsulation"), e))
	}
	return errs
}

// defaultIPsec returns the settings of IPsec with explicit mode and settings of mode Full.
func defaultIPsec(c *osv1.IPsecConfig) *osv1.IPsecConfig {
	out := c.DeepCopy()
	switch {
	case out == nil:
		return &osv1.IPsecConfig{Mode: osv1.IPsecModeDisabled}
	case out.Mode == "":
		out.Mode = osv1.IPsecModeFull
	}
	if out.Mode == osv1.IPsecModeFull {
		full := orZero(out.Full)
		if full.Encapsulation == "" {
			full.Encapsulation = osv1.EncapsulationAuto
		}
		out.Full = full
	}
	return out
}

// ipsecOverhead returns the reserve of the default MTU for IPsec, which is that of OpenShift, and the overhead that links must support. In mode Full, links must
// support both kinds of ESP: a node of the other kind may join.
func ipsecOverhead(spec *operatorv1.NetworkSpec) (reserved, needed int) {
	c := settings(spec).IPsecConfig
	switch {
	case wantsIPsec(spec):
		return agentconfig.KernelESPOverhead, agentconfig.UserspaceESPOverhead(tunnelsIPv6(spec))
	case c != nil && c.Mode == osv1.IPsecModeExternal:
		return agentconfig.KernelESPOverhead, agentconfig.KernelESPOverhead
	}
	return 0, 0
}

// maxDefaultMTU returns the maximum of the default MTU of pods. In mode Full it is what charon's ESP encrypts, so that a cluster with defaults loses no packets
// of nodes whose kernel has no ESP; which nodes these are is not known before the network is installed. In mode External, charon encrypts nothing.
func maxDefaultMTU(spec *operatorv1.NetworkSpec) int {
	if wantsIPsec(spec) {
		return agentconfig.UserspaceESPPacket - geneve(spec)
	}
	return maxMTU
}
