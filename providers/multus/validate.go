package multus

import (
	osv1 "github.com/openshift/api/operator/v1"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	operatorv1 "github.com/cluster-network-operator/cno/api/operator/v1"
	"github.com/cluster-network-operator/cno/api/rules"
	"github.com/cluster-network-operator/cno/internal/provider"
)

// Identifiers of this package's rules.
const (
	RuleChange       = "multi-network-change"
	RuleNotDeployed  = "additional-networks-without-multus"
	RuleName         = "additional-network-name"
	RuleNamespace    = "additional-network-namespace"
	RuleDuplicate    = "additional-network-duplicate"
	RuleType         = "additional-network-type"
	RuleOtherConfig  = "additional-network-other-config"
	RuleRawCNIConfig = "raw-cni-config"
	RuleMacvlan      = "simple-macvlan"
	RuleIPAM         = "simple-macvlan-ipam"

	RuleGlobalNamespaces = "global-namespaces"
	RuleAttachments      = "attachments"
	RuleMasters          = "restricted-masters"
)

// Validate checks spec.additionalNetworks and spec.multiNetwork.
func (Component) Validate(spec *operatorv1.NetworkSpec, _ provider.Traits) field.ErrorList {
	path := field.NewPath("spec", "additionalNetworks")
	var errs field.ErrorList
	if !spec.MultiNetworkEnabled() && len(spec.AdditionalNetworks) > 0 {
		errs = append(errs, rules.AdditionalWithoutMultus.Forbidden(path))
	}
	first := map[string]int{}
	for i := range spec.AdditionalNetworks {
		n, at := &spec.AdditionalNetworks[i], path.Index(i)
		errs = append(errs, validateNames(n, at)...)
		if j, taken := first[n.Name]; taken && n.Name != "" {
			errs = append(errs, rules.AdditionalDuplicate.Invalid(at.Child("name"), n.Name, path.Index(j)))
		} else {
			first[n.Name] = i
		}
		errs = append(errs, validateType(n, at)...)
	}
	return append(errs, validateSettings(spec.MultiNetwork, field.NewPath("spec", "multiNetwork"))...)
}

// validateNames validates the name and the namespace of the network's object.
func validateNames(n *osv1.AdditionalNetworkDefinition, at *field.Path) field.ErrorList {
	var errs field.ErrorList
	if n.Name == "" {
		errs = append(errs, rules.AdditionalNameRequired.Required(at.Child("name")))
	} else if len(validation.IsDNS1123Subdomain(n.Name)) > 0 {
		errs = append(errs, rules.AdditionalName.Invalid(at.Child("name"), n.Name))
	}
	if n.Namespace != "" && len(validation.IsDNS1123Label(n.Namespace)) > 0 {
		errs = append(errs, rules.AdditionalNamespace.Invalid(at.Child("namespace"), n.Namespace))
	}
	return errs
}

func validateType(n *osv1.AdditionalNetworkDefinition, at *field.Path) field.ErrorList {
	var errs field.ErrorList
	unused := func(child string, set bool) {
		if set {
			errs = append(errs, rules.AdditionalOtherConfig.Forbidden(at.Child(child), n.Type))
		}
	}
	switch n.Type {
	case osv1.NetworkTypeRaw:
		unused("simpleMacvlanConfig", n.SimpleMacvlanConfig != nil)
		return append(errs, validateRaw(n.RawCNIConfig, at.Child("rawCNIConfig"))...)
	case osv1.NetworkTypeSimpleMacvlan:
		unused("rawCNIConfig", n.RawCNIConfig != "")
		return append(errs, validateMacvlan(n.SimpleMacvlanConfig, at.Child("simpleMacvlanConfig"))...)
	default:
		return field.ErrorList{rules.AdditionalType.Invalid(at.Child("type"), n.Type, n.Type)}
	}
}
