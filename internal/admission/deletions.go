package admission

import (
	"fmt"
	"slices"
	"strings"

	admissionv1 "k8s.io/api/admissionregistration/v1"

	"github.com/cluster-network-operator/cno/api/rules"
	"github.com/cluster-network-operator/cno/internal/dayone/nodereport"
	"github.com/cluster-network-operator/cno/internal/provider"
	"github.com/cluster-network-operator/cno/internal/status"
)

// kept describes objects of one resource that a network in use depends on.
type kept struct {
	group, resource string
	// namespaces are their namespaces; none for cluster-scoped objects.
	namespaces []string
	// names are the names of the objects. One that ends with * matches a prefix, one that begins with * matches a suffix.
	names []string
}

// account is the name of the operator's ServiceAccount.
const account = "cluster-network-operator"

// dependencies returns the objects that a network in use depends on: the configuration, the installation of the operator, and the
// namespaces of operands. Admission policies are excluded, since policies do not apply to policies: the operator recreates those.
func dependencies(operands provider.Operands) []kept {
	namespaces := append([]string{status.OperatorNamespace, nodereport.Namespace}, operands.Installed()...)
	protected := operands.Names(func(n provider.OperandNamespace) bool { return n.Protected && !n.Installed })
	everywhere := []string{strings.TrimSuffix(prefix, "-") + "*"}
	rights := slices.Concat(everywhere, []string{"host-network"})
	return []kept{
		{group: "operator.openshift.io", resource: "networks", names: []string{"cluster"}},
		{group: "apiextensions.k8s.io", resource: "customresourcedefinitions", names: []string{"networks.operator.openshift.io",
			"*.networkoperator.openshift.io", "*.network.operator.openshift.io", "podnetworkconnectivitychecks.controlplane.operator.openshift.io"}},
		{resource: "namespaces", names: append(protected, namespaces...)},
		{resource: "serviceaccounts", namespaces: namespaces, names: rights},
		{resource: "configmaps", namespaces: []string{status.OperatorNamespace}, names: []string{"network-operator-images*"}},
		// The operator restores those of operands.
		{group: "networking.k8s.io", resource: "networkpolicies", namespaces: []string{status.OperatorNamespace, nodereport.Namespace}, names: []string{"default-deny"}},
		{group: "apps", resource: "deployments", namespaces: []string{status.OperatorNamespace}, names: []string{status.OperatorDeployment}},
		{group: "rbac.authorization.k8s.io", resource: "roles", namespaces: namespaces, names: rights},
		{group: "rbac.authorization.k8s.io", resource: "rolebindings", namespaces: namespaces, names: rights},
		{group: "rbac.authorization.k8s.io", resource: "clusterroles", names: everywhere},
		{group: "rbac.authorization.k8s.io", resource: "clusterrolebindings", names: everywhere},
	}
}

// expression returns a CEL expression for whether the object of a deletion is among them. For a deletion of a collection, it uses the
// name of each object.
func (k kept) expression() string {
	var any []string
	for _, name := range k.names {
		switch {
		case strings.HasSuffix(name, "*"):
			any = append(any, fmt.Sprintf("oldObject.metadata.name.startsWith(%q)", strings.TrimSuffix(name, "*")))
		case strings.HasPrefix(name, "*"):
			any = append(any, fmt.Sprintf("oldObject.metadata.name.endsWith(%q)", strings.TrimPrefix(name, "*")))
		default:
			any = append(any, fmt.Sprintf("oldObject.metadata.name == %q", name))
		}
	}
	in := ""
	if len(k.namespaces) > 0 {
		in = fmt.Sprintf(` && oldObject.metadata.namespace in ["%s"]`, strings.Join(k.namespaces, `", "`))
	}
	return fmt.Sprintf("request.resource.resource == %q%s && (%s)", k.resource, in, strings.Join(any, " || "))
}

// cleaners matches the users of Kubernetes' namespace deletion and garbage collection.
const cleaners = `request.userInfo.username.startsWith("system:serviceaccount:kube-system:") || request.userInfo.username in ["system:kube-controller-manager", "system:apiserver"]`

// networksOf returns a CEL map from the namespaces that only one network type needs to that type.
func networksOf(operands provider.Operands) string {
	var entries []string
	for _, n := range operands.Namespaces {
		if n.Network != "" && n.Protected && !n.Installed {
			entries = append(entries, fmt.Sprintf("%q: %q", n.Name, n.Network))
		}
	}
	slices.Sort(entries)
	return "{" + strings.Join(slices.Compact(entries), ", ") + "}"
}

// deletions returns the policy that refuses to delete objects that a network in use depends on.
func deletions(operands provider.Operands) admissionv1.ValidatingAdmissionPolicy {
	var requests []admissionv1.NamedRuleWithOperations
	var any []string
	for _, k := range dependencies(operands) {
		requests = append(requests, on(k.group, k.resource, []admissionv1.OperationType{admissionv1.Delete}))
		any = append(any, k.expression())
	}
	out := policy("deletions", requests)
	out.Spec.MatchConditions = append(out.Spec.MatchConditions,
		admissionv1.MatchCondition{Name: "not-kubernetes-itself", Expression: "!(" + cleaners + ")"},
		admissionv1.MatchCondition{Name: "of-the-network", Expression: strings.Join(any, " ||\n")})
	out.Spec.Variables = []admissionv1.Variable{{Name: "of", Expression: networksOf(operands)}}
	out.Spec.Validations = []admissionv1.Validation{{
		Expression: fmt.Sprintf("oldObject.metadata.?annotations[?%q].orValue('') == 'true' || request.resource.resource == 'namespaces' &&"+
			" variables.of[?oldObject.metadata.name].orValue(params.data[?%[2]q].orValue('')) != params.data[?%[2]q].orValue('')", AllowDeletion, keyType),
		MessageExpression: rules.DeletionInUse.MessageCEL("%s %s: ", "request.resource.resource", "oldObject.metadata.name", param(keyType), quoted(AllowDeletion)),
	}}
	return out
}
