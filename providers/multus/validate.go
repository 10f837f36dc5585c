package multus

import (
	"fmt"

	osv1 "github.com/openshift/api/operator/v1"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	operatorv1 "github.com/cluster-network-operator/cno/api/operator/v1"
	"github.com/cluster-network-operator/cno/internal/provider"
)

// The rules of this package, as refusals name them.
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

// notNamespace is what is wrong with a name that no namespace can have.
const notNamespace = "cannot be the name of a namespace; use lower-case letters, digits and dashes, at most 63"

// Validate checks spec.additionalNetworks and spec.multiNetwork.
func (Component) Validate(spec *operatorv1.NetworkSpec, _ provider.Traits) field.ErrorList {
	path := field.NewPath("spec", "additionalNetworks")
	var errs field.ErrorList
	if !spec.MultiNetworkEnabled() && len(spec.AdditionalNetworks) > 0 {
		detail := "additional networks cannot be specified without deploying Multus; remove them, or set spec.disableMultiNetwork to false"
		errs = append(errs, field.Forbidden(path, detail).WithOrigin(RuleNotDeployed))
	}
	first := map[string]int{}
	for i := range spec.AdditionalNetworks {
		n, at := &spec.AdditionalNetworks[i], path.Index(i)
		errs = append(errs, validateNames(n, at)...)
		if j, taken := first[n.Name]; taken && n.Name != "" {
			detail := fmt.Sprintf("is already the name of %s; every additional network needs a different name", path.Index(j))
			errs = append(errs, field.Invalid(at.Child("name"), n.Name, detail).WithOrigin(RuleDuplicate))
		} else {
			first[n.Name] = i
		}
		errs = append(errs, validateType(n, at)...)
	}
	return append(errs, validateSettings(spec.MultiNetwork, field.NewPath("spec", "multiNetwork"))...)
}

// validateNames checks the name and the namespace of the object that the network becomes.
func validateNames(n *osv1.AdditionalNetworkDefinition, at *field.Path) field.ErrorList {
	var errs field.ErrorList
	if n.Name == "" {
		errs = append(errs, field.Required(at.Child("name"), "the additional network needs a name, by which pods ask for it").WithOrigin(RuleName))
	} else if len(validation.IsDNS1123Subdomain(n.Name)) > 0 {
		detail := "cannot be the name of an object; use lower-case letters, digits, dashes and dots, and begin and end with a letter or a digit"
		errs = append(errs, field.Invalid(at.Child("name"), n.Name, detail).WithOrigin(RuleName))
	}
	if n.Namespace != "" && len(validation.IsDNS1123Label(n.Namespace)) > 0 {
		detail := notNamespace + ", or leave it out for the namespace default"
		errs = append(errs, field.Invalid(at.Child("namespace"), n.Namespace, detail).WithOrigin(RuleNamespace))
	}
	return errs
}

func validateType(n *osv1.AdditionalNetworkDefinition, at *field.Path) field.ErrorList {
	var errs field.ErrorList
	unused := func(child string, set bool) {
		if set {
			detail := fmt.Sprintf("has no effect on a network of type %s; remove it, or change the type", n.Type)
			errs = append(errs, field.Forbidden(at.Child(child), detail).WithOrigin(RuleOtherConfig))
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
		detail := fmt.Sprintf("unknown or unsupported NetworkType: %s; use Raw or SimpleMacvlan", n.Type)
		return field.ErrorList{field.Invalid(at.Child("type"), n.Type, detail).WithOrigin(RuleType)}
	}
}
