package admission

import (
	"fmt"
	"strings"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	networkv1 "github.com/cluster-network-operator/cno/api/network/v1"
	"github.com/cluster-network-operator/cno/api/rules"
	"github.com/cluster-network-operator/cno/internal/dayone/hostprogram"
	"github.com/cluster-network-operator/cno/internal/dayone/machineconfig"
	"github.com/cluster-network-operator/cno/internal/dayone/nodereport"
	"github.com/cluster-network-operator/cno/internal/dayone/placement"
	"github.com/cluster-network-operator/cno/internal/facts"
	"github.com/cluster-network-operator/cno/internal/manifest"
	"github.com/cluster-network-operator/cno/internal/multinet/finding"
	"github.com/cluster-network-operator/cno/internal/provider"
	"github.com/cluster-network-operator/cno/internal/status"
)

// own is the prefix of the policies for the operator's own account.
const own = prefix + "own-"

// The ClusterRoles that the operator may bind to itself, both for Secrets.
const (
	secretsRole = "cluster-network-operator-secrets"
	pkiRole     = "cluster-network-operator-pki"
)

// Namespaces returns the namespaces of the operator's own objects.
func Namespaces(operands provider.Operands) []string {
	return append([]string{status.OperatorNamespace, nodereport.Namespace}, operands.Names(nil)...)
}

// names are the names of the objects that the operator may write. A role cannot express them, since it does not restrict names of
// created objects, and namespaces of operands are created and deleted.
type names struct {
	namespaces, clusterRoles, clusterBindings, roleRefs, definitions []string
	// secrets are the namespaces in which the operator may bind the role of Secrets to itself.
	secrets []string
}

func namesOf(o provider.Operands) names {
	return names{
		namespaces: Namespaces(o), clusterRoles: o.ClusterRoles, clusterBindings: o.ClusterRoleBindings,
		roleRefs: append([]string{"system:auth-delegator"}, o.ClusterRoles...), secrets: o.Installed(), definitions: o.Definitions,
	}
}

// permissions returns the policies that restrict the operator's account further than its roles.
func permissions(operands provider.Operands) ([]admissionv1.ValidatingAdmissionPolicy, []admissionv1.ValidatingAdmissionPolicyBinding) {
	n := namesOf(operands)
	policies := []admissionv1.ValidatingAdmissionPolicy{n.ownWorkloads(), n.ownPods(), n.ownBindings(), n.ownObjects(), n.ownSecrets(), n.ownDefinitions(), ownPKIs(), ownMachineConfigs()}
	for _, a := range operands.Annotators {
		policies = append(policies, annotations(a))
	}
	var bindings []admissionv1.ValidatingAdmissionPolicyBinding
	for _, p := range policies {
		b := admissionv1.ValidatingAdmissionPolicyBinding{
			TypeMeta:   metav1.TypeMeta{APIVersion: admissionv1.SchemeGroupVersion.String(), Kind: "ValidatingAdmissionPolicyBinding"},
			ObjectMeta: metav1.ObjectMeta{Name: p.Name},
			Spec:       admissionv1.ValidatingAdmissionPolicyBindingSpec{PolicyName: p.Name, ValidationActions: []admissionv1.ValidationAction{admissionv1.Deny}},
		}
		if p.Spec.ParamKind != nil { // any object in the namespace of the request
			deny := admissionv1.DenyAction
			b.Spec.ParamRef = &admissionv1.ParamRef{Selector: &metav1.LabelSelector{}, ParameterNotFoundAction: &deny}
		}
		bindings = append(bindings, b)
	}
	return policies, bindings
}

// ownPolicy returns a policy with the common fields of these policies. They fail closed, which affects only the operator.
func ownPolicy(name string, rules ...admissionv1.NamedRuleWithOperations) admissionv1.ValidatingAdmissionPolicy {
	fail := admissionv1.Fail
	return admissionv1.ValidatingAdmissionPolicy{
		TypeMeta:   metav1.TypeMeta{APIVersion: admissionv1.SchemeGroupVersion.String(), Kind: "ValidatingAdmissionPolicy"},
		ObjectMeta: metav1.ObjectMeta{Name: own + name},
		Spec: admissionv1.ValidatingAdmissionPolicySpec{
			FailurePolicy:    &fail,
			MatchConstraints: &admissionv1.MatchResources{ResourceRules: rules},
			MatchConditions:  []admissionv1.MatchCondition{{Name: "the-operator", Expression: fmt.Sprintf("request.userInfo.username == %q", operator)}},
			Variables:        []admissionv1.Variable{{Name: "meta", Expression: "object != null ? object.metadata : oldObject.metadata"}},
		},
	}
}

var writes = []admissionv1.OperationType{admissionv1.Create, admissionv1.Update, admissionv1.Delete}

// deletesOwn is a variable for whether the operator deletes an object with its label. After a downgrade, these are also objects that only a
// newer release renders, under names that this one does not have. The operator cannot label objects of others, since it may not write them.
var deletesOwn = admissionv1.Variable{
	Name:       "deletesOwn",
	Expression: fmt.Sprintf(`request.operation == "DELETE" && oldObject.metadata.?labels[?%q].orValue("") == %q`, manifest.LabelManagedBy, manifest.ManagedBy),
}

// list returns a CEL list of texts.
func list(all []string) string { return `["` + strings.Join(all, `", "`) + `"]` }

// ownWorkloads restricts DaemonSets and Deployments to the operands. Egress routers are in the namespaces of their users, and get
// neither host access nor a token there.
func (n names) ownWorkloads() admissionv1.ValidatingAdmissionPolicy {
	p := ownPolicy("workloads", on("apps", "daemonsets", writes), on("apps", "deployments", writes))
	p.Spec.Variables = append(p.Spec.Variables, deletesOwn,
		admissionv1.Variable{Name: "harmless", Expression: "object == null || object.spec.template.spec.?volumes.orValue([]).size() == 0" +
			" && !object.spec.template.spec.?hostNetwork.orValue(false) && !object.spec.template.spec.?hostPID.orValue(false) && !object.spec.template.spec.?hostIPC.orValue(false)" +
			" && object.spec.template.spec.?serviceAccountName.orValue('') in ['', 'default'] && object.spec.template.spec.?automountServiceAccountToken.orValue(true) == false" +
			" && object.spec.template.spec.containers.all(c, !c.?securityContext.?privileged.orValue(false) && c.?securityContext.?capabilities.?add.orValue([]).size() == 0)" +
			" && object.spec.template.spec.?initContainers.orValue([]).size() == 0"},
		admissionv1.Variable{Name: "router", Expression: `request.resource.resource == "deployments" && variables.meta.name.startsWith("egress-router-") && variables.harmless`})
	p.Spec.Validations = []admissionv1.Validation{{
		Expression: fmt.Sprintf(`request.namespace in %s || request.namespace == %q && variables.meta.name == "cni-sysctl-allowlist-ds" || variables.router || variables.deletesOwn`, list(n.namespaces), finding.Namespace),
		Message:    rules.OwnWorkloads.Message(),
	}}
	return p
}

// ownPods restricts deletions of pods to those of operands on the host network, which are replaced when the address of the node
// changes, and to the probes in the operator's own namespace.
func (n names) ownPods() admissionv1.ValidatingAdmissionPolicy {
	p := ownPolicy("pods", on("", "pods", []admissionv1.OperationType{admissionv1.Delete}))
	p.Spec.Variables = nil
	p.Spec.Validations = []admissionv1.Validation{{
		Expression: fmt.Sprintf(`request.namespace == %q || request.namespace in %s && oldObject.spec.?hostNetwork.orValue(false)`, status.OperatorNamespace, list(n.namespaces)),
		Message:    rules.OwnPods.Message(),
	}}
	return p
}

// ownBindings restricts bindings to the operands, and those of the two roles for Secrets to RoleBindings of the operator.
func (n names) ownBindings() admissionv1.ValidatingAdmissionPolicy {
	p := ownPolicy("bindings", on("rbac.authorization.k8s.io", "rolebindings", writes), on("rbac.authorization.k8s.io", "clusterrolebindings", writes))
	add := func(name, expression string) {
		p.Spec.Variables = append(p.Spec.Variables, admissionv1.Variable{Name: name, Expression: expression})
	}
	p.Spec.Variables = append(p.Spec.Variables, deletesOwn)
	add("everywhere", `request.resource.resource == "clusterrolebindings"`)
	add("role", `object == null ? "" : object.roleRef.name`)
	add("subjects", "object == null ? [] : object.?subjects.orValue([])")
	add("onlyItself", fmt.Sprintf(`variables.subjects.size() == 1 && variables.subjects.all(s, s.kind == "ServiceAccount" && s.name == "cluster-network-operator" && s.?namespace.orValue("") == %q)`, status.OperatorNamespace))
	add("operands", fmt.Sprintf(`variables.subjects.all(s, s.kind == "ServiceAccount" && s.?namespace.orValue("") in %s)`, list(n.namespaces)))
	p.Spec.Validations = []admissionv1.Validation{{
		Expression: fmt.Sprintf(`variables.deletesOwn || (variables.everywhere ? variables.meta.name in %s : request.namespace in %s || variables.meta.name == %q)`, list(n.clusterBindings), list(n.namespaces), pkiRole),
		Message:    rules.OwnBindings.Message(),
	}, {
		Expression: fmt.Sprintf(`variables.role != %q || !variables.everywhere && variables.onlyItself && request.namespace in %s`, secretsRole, list(n.secrets)),
		Message:    rules.OwnBindingsOfSecrets.Message(secretsRole, strings.Join(n.secrets, " or ")),
	}, {
		Expression: fmt.Sprintf(`variables.role != %[1]q || !variables.everywhere && variables.onlyItself && variables.meta.name == %[1]q`, pkiRole),
		Message:    rules.OwnBindingsOfPKI.Message(pkiRole),
	}, {
		Expression: fmt.Sprintf(`object == null || variables.role in %s || variables.role in %s && variables.operands`, list([]string{secretsRole, pkiRole}), list(n.roleRefs)),
		Message:    rules.OwnBindingsOfRoles.Message(),
	}}
	return p
}

// ownObjects restricts roles, namespaces and similar objects to the operands.
func (n names) ownObjects() admissionv1.ValidatingAdmissionPolicy {
	p := ownPolicy("objects", on("", "namespaces", writes), on("", "serviceaccounts", writes), on("", "services", writes), on("networking.k8s.io", "networkpolicies", writes),
		on("rbac.authorization.k8s.io", "clusterroles", writes), on(networkv1.GroupVersion.Group, "operatorpkis", writes),
		on("", "configmaps", []admissionv1.OperationType{admissionv1.Delete}))
	p.Spec.Variables = append(p.Spec.Variables, deletesOwn)
	p.Spec.Validations = []admissionv1.Validation{{
		Expression: fmt.Sprintf(`variables.deletesOwn || (request.resource.resource == "clusterroles" ? variables.meta.name in %s : (request.resource.resource == "namespaces" ? variables.meta.name in %[2]s :`+
			` (request.namespace in %[2]s || request.resource.resource == "configmaps" && request.namespace == "openshift-config-managed")))`, list(n.clusterRoles), list(n.namespaces)),
		Message: rules.OwnObjects.Message(),
	}}
	return p
}

// ownSecrets restricts Secrets that the operator creates to types that give no access to the cluster, and to the namespaces in which a role
// lets it update Secrets. The pull secret has its own role, by name, and its copies are in the namespaces of operands.
func (n names) ownSecrets() admissionv1.ValidatingAdmissionPolicy {
	p := ownPolicy("secrets", on("", "secrets", []admissionv1.OperationType{admissionv1.Create, admissionv1.Update}))
	p.Spec.Variables = append(p.Spec.Variables, admissionv1.Variable{Name: "secrets", Expression: `authorizer.group("").resource("secrets").namespace(request.namespace)`})
	p.Spec.Validations = []admissionv1.Validation{{
		Expression: fmt.Sprintf(`variables.meta.name == %q ? object.type == "kubernetes.io/dockerconfigjson" && request.namespace in %s`+
			` : object.type in ["Opaque", "kubernetes.io/tls"] && (variables.secrets.check("update").allowed() || variables.secrets.check("patch").allowed())`,
			facts.PullSecretName, list(n.namespaces)),
		Message: rules.OwnSecrets.Message(),
	}}
	return p
}

// ownDefinitions restricts CRDs to those of operands: a role cannot restrict the names of created ones.
func (n names) ownDefinitions() admissionv1.ValidatingAdmissionPolicy {
	p := ownPolicy("definitions", on("apiextensions.k8s.io", "customresourcedefinitions", writes))
	p.Spec.Validations = []admissionv1.Validation{{
		Expression: "variables.meta.name in " + list(n.definitions),
		Message:    rules.OwnDefinitions.Message(),
	}}
	return p
}

// ownPKIs lets the operator bind the role for Secrets of a namespace only while there is an OperatorPKI. The API server reads the
// parameter before it evaluates conditions, so that the rule itself names the bindings, whose name ownBindings fixes.
func ownPKIs() admissionv1.ValidatingAdmissionPolicy {
	p := ownPolicy("pkis", on("rbac.authorization.k8s.io", "rolebindings", []admissionv1.OperationType{admissionv1.Create, admissionv1.Update}, pkiRole))
	p.Spec.ParamKind = &admissionv1.ParamKind{APIVersion: networkv1.GroupVersion.String(), Kind: "OperatorPKI"}
	p.Spec.Variables = nil
	p.Spec.Validations = []admissionv1.Validation{{Expression: "params != null", Message: rules.OwnPKIs.Message()}}
	return p
}

// ownMachineConfigs restricts MachineConfigs, which could configure anything on nodes, to the documents of hosts and the binary that
// applies them: files in their directories, its own units, and the unit that they mask.
func ownMachineConfigs() admissionv1.ValidatingAdmissionPolicy {
	p := ownPolicy("machineconfigs", on("machineconfiguration.openshift.io", "machineconfigs", writes))
	add := func(name, expression string) {
		p.Spec.Variables = append(p.Spec.Variables, admissionv1.Variable{Name: name, Expression: expression})
	}
	add("documents", fmt.Sprintf("variables.meta.name.startsWith(%q)", machineconfig.Name("")))
	add("program", fmt.Sprintf("variables.meta.name.startsWith(%q)", hostprogram.Name("")))
	add("files", "object == null ? [] : object.spec.config.?storage.?files.orValue([])")
	add("units", "object == null ? [] : object.spec.config.?systemd.?units.orValue([])")
	p.Spec.Validations = []admissionv1.Validation{{
		Expression: "variables.documents || variables.program",
		Message:    rules.OwnMachineConfigs.Message(),
	}, {
		Expression: fmt.Sprintf("variables.files.all(f, f.path.matches(%q) || variables.program && f.path == %q)", "^"+placement.Dir+"/[^/]+$", "/"+hostprogram.Config+"/host-network.conf"),
		Message:    rules.OwnMachineConfigFiles.Message(placement.Dir),
	}, {
		Expression: fmt.Sprintf("variables.units.all(u, variables.program && (u.name.matches(%q) || u.name == %q && u.?mask.orValue(false) && u.?contents.orValue('') == ''))",
			`^host-network(-[a-z]+)?\.(service|path)$`, hostprogram.StockUnit),
		Message: rules.OwnMachineConfigUnits.Message(hostprogram.StockUnit),
	}, {
		Expression: "object == null || object.spec.all(k, k == 'config') && object.spec.config.all(k, k in ['ignition', 'storage', 'systemd'])" +
			" && object.spec.config.ignition.all(k, k == 'version') && object.spec.config.?storage.orValue({}).all(k, k == 'files') && object.spec.config.?systemd.orValue({}).all(k, k == 'units')",
		Message: rules.OwnMachineConfigParts.Message(),
	}}
	return p
}
