package admission

import (
	"io"
	"slices"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/cluster-network-operator/cno/internal/provider"
	"github.com/cluster-network-operator/cno/internal/status"
)

const rolesHead = `# Written by hack/generate.sh from what the networks declare; do not edit. The operator applies the namespaces itself; they are here so that
# it can read what is in them from its first moment on.
`

// networksRole is the ClusterRole of the operator's account for the permissions that individual networks need.
const networksRole = "cluster-network-operator-operands"

// WriteRoles writes as YAML the objects that networks and components need for the operator's account: the namespaces that are installed
// with the operator and its role in each of them, and one ClusterRole with the rules of all.
func WriteRoles(w io.Writer, operands provider.Operands) error {
	subjects := []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Name: account, Namespace: status.OperatorNamespace}}
	role := func(name string) rbacv1.RoleRef {
		return rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: name}
	}
	meta := func(kind string) metav1.TypeMeta {
		return metav1.TypeMeta{APIVersion: rbacv1.SchemeGroupVersion.String(), Kind: kind}
	}
	var all []any
	for _, ns := range operands.Installed() {
		all = append(all, &corev1.Namespace{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Namespace"}, ObjectMeta: metav1.ObjectMeta{Name: ns}})
		all = append(all, &rbacv1.RoleBinding{
			TypeMeta: meta("RoleBinding"), ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: account}, RoleRef: role(secretsRole), Subjects: subjects,
		})
	}
	all = append(all,
		&rbacv1.ClusterRole{TypeMeta: meta("ClusterRole"), ObjectMeta: metav1.ObjectMeta{Name: networksRole}, Rules: rulesFor(operands)},
		&rbacv1.ClusterRoleBinding{
			TypeMeta: meta("ClusterRoleBinding"), ObjectMeta: metav1.ObjectMeta{Name: networksRole}, RoleRef: role(networksRole), Subjects: subjects,
		})
	return write(w, rolesHead, all)
}

// rulesFor returns the rules of the networks without duplicates, and those for ConfigMaps by name.
func rulesFor(operands provider.Operands) []rbacv1.PolicyRule {
	var out []rbacv1.PolicyRule
	if names := slices.Compact(slices.Sorted(slices.Values(operands.ConfigMaps))); len(names) > 0 {
		out = append(out, rbacv1.PolicyRule{APIGroups: []string{""}, Resources: []string{"configmaps"}, ResourceNames: names, Verbs: []string{"update", "patch", "delete"}})
	}
	if names := slices.Compact(slices.Sorted(slices.Values(operands.Definitions))); len(names) > 0 {
		// A policy restricts which CRDs may be created: a role cannot.
		out = append(out, rbacv1.PolicyRule{APIGroups: []string{"apiextensions.k8s.io"}, Resources: []string{"customresourcedefinitions"}, Verbs: []string{"create"}},
			rbacv1.PolicyRule{APIGroups: []string{"apiextensions.k8s.io"}, Resources: []string{"customresourcedefinitions"}, ResourceNames: names, Verbs: []string{"get", "update", "patch", "delete"}})
	}
	for _, r := range operands.Rules {
		if !slices.ContainsFunc(out, func(o rbacv1.PolicyRule) bool { return o.String() == r.String() }) {
			out = append(out, r)
		}
	}
	return out
}
