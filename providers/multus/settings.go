package multus

import (
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	operatorv1 "github.com/cluster-network-operator/cno/api/operator/v1"

	"github.com/cluster-network-operator/cno/api/rules"
)

// globalNamespaces are the default namespaces whose networks all pods may use. They are the same as in OpenShift.
var globalNamespaces = []string{"default", Namespace, "openshift-sriov-network-operator", "openshift-cnv"}

// fillSettings makes every setting of spec.multiNetwork explicit.
func fillSettings(spec *operatorv1.NetworkSpec) {
	if spec.MultiNetwork == nil {
		spec.MultiNetwork = &operatorv1.MultiNetworkConfig{}
	}
	m := spec.MultiNetwork
	if m.NamespaceIsolation == nil {
		m.NamespaceIsolation = new(true)
	}
	if len(m.GlobalNamespaces) == 0 {
		m.GlobalNamespaces = slices.Clone(globalNamespaces)
	}
	if m.Attachments == "" {
		m.Attachments = operatorv1.AttachmentsTrusted
	}
}

// validateSettings checks spec.multiNetwork.
func validateSettings(m *operatorv1.MultiNetworkConfig, at *field.Path) field.ErrorList {
	if m == nil {
		return nil
	}
	var errs field.ErrorList
	refuse := func(err *field.Error) { errs = append(errs, err) }
	for i, name := range m.GlobalNamespaces {
		path := at.Child("globalNamespaces").Index(i)
		if len(validation.IsDNS1123Label(name)) > 0 {
			refuse(rules.GlobalNamespace.Invalid(path, name))
		} else if j := slices.Index(m.GlobalNamespaces, name); j < i {
			refuse(rules.GlobalNamespaceTwice.Invalid(path, name, at.Child("globalNamespaces").Index(j)))
		}
	}
	switch m.Attachments {
	case "", operatorv1.AttachmentsTrusted, operatorv1.AttachmentsRestricted:
	default:
		refuse(rules.AttachmentsLevel.Invalid(at.Child("attachments"), m.Attachments, operatorv1.AttachmentsTrusted, operatorv1.AttachmentsRestricted))
	}
	if m.Restricted == nil {
		return errs
	}
	for i, name := range m.Restricted.Masters {
		path := at.Child("restricted", "masters").Index(i)
		if !interfaceName(name) {
			refuse(rules.RestrictedMaster.Invalid(path, name))
		} else if j := slices.Index(m.Restricted.Masters, name); j < i {
			refuse(rules.RestrictedMasterTwice.Invalid(path, name, at.Child("restricted", "masters").Index(j)))
		}
	}
	return errs
}

// interfaceName reports whether the kernel accepts a name of an interface, by its length and characters.
func interfaceName(name string) bool {
	return name != "" && len(name) <= 15 && name != "." && name != ".." && !strings.ContainsAny(name, "/ \t\n\v\f\r")
}
