package admission

import (
	"fmt"
	"strings"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	networkoperatorv1 "github.com/cluster-network-operator/cno/api/networkoperator/v1"
	"github.com/cluster-network-operator/cno/internal/pipeline"
	"github.com/cluster-network-operator/cno/internal/provider"
	"github.com/cluster-network-operator/cno/internal/status"
)

// AllowDeletion is the annotation that permits the deletion of an object that a network in use depends on.
const AllowDeletion = pipeline.AllowDeletionAnnotation

// AllowUnsafe is the annotation that permits storing an unsafe change of an object. The operator still refuses to apply the
// change unless it is forced.
const AllowUnsafe = pipeline.AllowUnsafeAnnotation

// operator is the user name of the operator, for which these policies refuse nothing.
const operator = "system:serviceaccount:" + status.OperatorNamespace + ":" + account

// prefix is the prefix of the names of all policies.
const prefix = "cluster-network-operator-"

// Policies returns all policies and their bindings. fields and operands are those of all networks that can be installed.
func Policies(fields []provider.Field, operands provider.Operands) ([]admissionv1.ValidatingAdmissionPolicy, []admissionv1.ValidatingAdmissionPolicyBinding) {
	policies := []admissionv1.ValidatingAdmissionPolicy{
		edits("network", "operator.openshift.io", "networks", "cluster", networkProblems(fields)),
		edits("networkconfig", "networkoperator.openshift.io", "networkconfigs", "default", shortProblems(fields)),
		edits("clusterconfig", "config.openshift.io", "networks", "cluster", configProblems(fields)),
		deletions(operands),
		serviceCIDRs(),
		fights(operands.FightReporters),
	}
	for _, a := range operands.Annotators {
		if len(a.Reserved) > 0 {
			policies = append(policies, reserved(a))
		}
	}
	warns := map[string]bool{}
	for _, g := range operands.Guards {
		p := guard(g)
		policies, warns[p.Name] = append(policies, p), g.Warn
	}
	var bindings []admissionv1.ValidatingAdmissionPolicyBinding
	for _, p := range policies {
		allow, action := admissionv1.AllowAction, admissionv1.Deny
		if warns[p.Name] {
			action = admissionv1.Warn
		}
		bindings = append(bindings, admissionv1.ValidatingAdmissionPolicyBinding{
			TypeMeta:   metav1.TypeMeta{APIVersion: admissionv1.SchemeGroupVersion.String(), Kind: "ValidatingAdmissionPolicyBinding"},
			ObjectMeta: metav1.ObjectMeta{Name: p.Name},
			Spec: admissionv1.ValidatingAdmissionPolicyBindingSpec{
				PolicyName: p.Name, ValidationActions: []admissionv1.ValidationAction{action},
				ParamRef: &admissionv1.ParamRef{Name: networkoperatorv1.NetworkGuardName, ParameterNotFoundAction: &allow},
			},
		})
	}
	ownPolicies, ownBindings := permissions(operands)
	return append(policies, ownPolicies...), append(bindings, ownBindings...)
}

// policy returns a policy with the common fields.
func policy(name string, rules []admissionv1.NamedRuleWithOperations) admissionv1.ValidatingAdmissionPolicy {
	ignore := admissionv1.Ignore
	return admissionv1.ValidatingAdmissionPolicy{
		TypeMeta:   metav1.TypeMeta{APIVersion: admissionv1.SchemeGroupVersion.String(), Kind: "ValidatingAdmissionPolicy"},
		ObjectMeta: metav1.ObjectMeta{Name: prefix + name},
		Spec: admissionv1.ValidatingAdmissionPolicySpec{
			FailurePolicy:    &ignore,
			ParamKind:        &admissionv1.ParamKind{APIVersion: networkoperatorv1.GroupVersion.String(), Kind: "NetworkGuard"},
			MatchConstraints: &admissionv1.MatchResources{ResourceRules: rules},
			MatchConditions: []admissionv1.MatchCondition{
				{Name: "not-the-operator", Expression: fmt.Sprintf("request.userInfo.username != %q", operator)},
			},
		},
	}
}

func on(group, resource string, operations []admissionv1.OperationType, names ...string) admissionv1.NamedRuleWithOperations {
	return admissionv1.NamedRuleWithOperations{ResourceNames: names, RuleWithOperations: admissionv1.RuleWithOperations{
		Operations: operations, Rule: admissionv1.Rule{APIGroups: []string{group}, APIVersions: []string{"*"}, Resources: []string{resource}},
	}}
}

// edits returns a policy that refuses changes of one object, with all problems in one message.
func edits(name, group, resource, object string, p problems) admissionv1.ValidatingAdmissionPolicy {
	out := policy(name+"-edits", []admissionv1.NamedRuleWithOperations{on(group, resource, []admissionv1.OperationType{admissionv1.Create, admissionv1.Update})})
	out.Spec.MatchConditions = append(out.Spec.MatchConditions,
		admissionv1.MatchCondition{Name: "the-one", Expression: fmt.Sprintf("object.metadata.name == %q", object)},
		admissionv1.MatchCondition{Name: "not-allowed", Expression: fmt.Sprintf("object.metadata.?annotations[?%q].orValue('') != 'true'", AllowUnsafe)},
		admissionv1.MatchCondition{Name: "spec-changes", Expression: "oldObject == null || object.?spec != oldObject.?spec"},
	)
	out.Spec.Variables = append(out.Spec.Variables, admissionv1.Variable{Name: "acknowledged", Expression: fmt.Sprintf(
		"object.metadata.?annotations[?%[1]q].orValue('').matches(%[3]q) && object.metadata.?annotations[?%[1]q].orValue('') != params.data[%[2]q]",
		pipeline.AcknowledgeAnnotation, keyAcknowledged, "^"+pipeline.AcknowledgementPattern+"$")})
	out.Spec.Variables = append(out.Spec.Variables, p.variables...)
	out.Spec.Variables = append(out.Spec.Variables, admissionv1.Variable{Name: "problems", Expression: "[" + strings.Join(p.texts, ",\n") + "].filter(p, p != '')"})
	out.Spec.Validations = []admissionv1.Validation{{
		Expression:        "size(variables.problems) == 0",
		MessageExpression: fmt.Sprintf("variables.problems.join('; ') + '. To force it, annotate the object with %s=true, change it, and delete the ConfigMap applied-cluster of the operator'", AllowUnsafe),
	}}
	return out
}
