package openshiftsdn

import (
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation/field"

	osv1 "github.com/openshift/api/operator/v1"

	operatorv1 "github.com/cluster-network-operator/cno/api/operator/v1"
	"github.com/cluster-network-operator/cno/api/rules"
)

const (
	minMTU = 576 // RFC 791: the smallest MTU that every IPv4 host must accept
	maxMTU = 65536
)

var configPath = field.NewPath("spec", "defaultNetwork", "openshiftSDNConfig")

// modes are the canonical names of the modes.
var modes = []osv1.SDNMode{osv1.SDNModeSubnet, osv1.SDNModeMultitenant, osv1.SDNModeNetworkPolicy}

// Validate returns every error in the settings. The pipeline validates the pools according to Traits.
func (OpenShiftSDN) Validate(spec *operatorv1.NetworkSpec) field.ErrorList {
	var errs field.ErrorList
	c := settings(spec)
	if c.Mode != "" && canonicalMode(c.Mode) == "" {
		errs = append(errs, rules.OpenShiftSDNMode.Invalid(configPath.Child("mode"), c.Mode))
	}
	if p := c.VXLANPort; p != nil && (*p < 1 || *p > 65535) {
		errs = append(errs, rules.OpenShiftSDNVXLANPort.Invalid(configPath.Child("vxlanPort"), *p))
	}
	if m := c.MTU; m != nil && (*m < minMTU || *m > maxMTU) {
		errs = append(errs, rules.OpenShiftSDNMTU.Invalid(configPath.Child("mtu"), *m))
	}
	return errs
}

// canonicalMode returns the canonical name of a mode; empty if the mode is unknown.
func canonicalMode(mode osv1.SDNMode) osv1.SDNMode {
	i := slices.IndexFunc(modes, func(m osv1.SDNMode) bool { return strings.EqualFold(string(m), string(mode)) })
	if i < 0 {
		return ""
	}
	return modes[i]
}
