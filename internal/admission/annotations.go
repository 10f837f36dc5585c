package admission

import (
	"fmt"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/cluster-network-operator/cno/internal/provider"
)

// annotations keeps an account, and the operator, to annotations with a prefix of the objects that its role lets it update.
func annotations(a provider.Annotator) admissionv1.ValidatingAdmissionPolicy {
	fail := admissionv1.Fail
	var rules []admissionv1.NamedRuleWithOperations
	for _, r := range a.Resources {
		rules = append(rules, on("", r, []admissionv1.OperationType{admissionv1.Update}))
	}
	account := fmt.Sprintf("system:serviceaccount:%s:%s", a.Namespace, a.Name)
	unchanged := ""
	for _, field := range []string{"?spec", "metadata.?labels", "metadata.?finalizers", "metadata.?ownerReferences"} {
		unchanged += fmt.Sprintf("object.%[1]s == oldObject.%[1]s && ", field)
	}
	return admissionv1.ValidatingAdmissionPolicy{
		TypeMeta:   metav1.TypeMeta{APIVersion: admissionv1.SchemeGroupVersion.String(), Kind: "ValidatingAdmissionPolicy"},
		ObjectMeta: metav1.ObjectMeta{Name: prefix + "annotations-" + a.Name},
		Spec: admissionv1.ValidatingAdmissionPolicySpec{
			FailurePolicy:    &fail,
			MatchConstraints: &admissionv1.MatchResources{ResourceRules: rules},
			MatchConditions:  []admissionv1.MatchCondition{{Name: "the-accounts", Expression: fmt.Sprintf("request.userInfo.username in [%q, %q]", account, operator)}},
			Variables: []admissionv1.Variable{
				{Name: "before", Expression: "oldObject.metadata.?annotations.orValue({})"},
				{Name: "after", Expression: "object.metadata.?annotations.orValue({})"},
			},
			Validations: []admissionv1.Validation{{
				Expression: unchanged + fmt.Sprintf("variables.after.all(k, k.startsWith(%[1]q) || variables.before[?k] == variables.after[?k])"+
					" && variables.before.all(k, k.startsWith(%[1]q) || k in variables.after)", a.Prefix),
				Message: fmt.Sprintf("service account %s of the network changes annotations that begin with %s, and nothing else (annotations-only)", a.Name, a.Prefix),
			}},
		},
	}
}
