package admission

import (
	"fmt"
	"maps"
	"slices"
	"strings"

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
			MatchConditions:  []admissionv1.MatchCondition{{Name: "the-accounts", Expression: fmt.Sprintf("request.userInfo.username in [%q, %q]", serviceAccount(a), operator)}},
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

// reserved refuses that others write the annotations that an account reserves, in all ways in which an object gets annotations: when it is
// created or updated, by a subresource, and when a pod is bound to a node. It fails closed: who writes a pod's addresses gets the packets
// of another one.
func reserved(a provider.Annotator) admissionv1.ValidatingAdmissionPolicy {
	var rules []admissionv1.NamedRuleWithOperations
	var texts []string
	for _, resource := range slices.Sorted(maps.Keys(a.Reserved)) {
		rule := on("", resource, []admissionv1.OperationType{admissionv1.Create, admissionv1.Update})
		rule.Resources = append(rule.Resources, resource+"/*")
		rules = append(rules, rule)
		texts = append(texts, fmt.Sprintf("request.resource.resource == %q ? %q", resource, a.Reserved[resource]))
	}
	out := policy("reserved-"+a.Name, rules)
	fail := admissionv1.Fail
	out.Spec.FailurePolicy = &fail
	out.Spec.MatchConditions = append(out.Spec.MatchConditions, admissionv1.MatchCondition{
		Name: "not-the-account", Expression: fmt.Sprintf("request.userInfo.username != %q", serviceAccount(a)),
	})
	out.Spec.Variables = []admissionv1.Variable{
		{Name: "key", Expression: strings.Join(texts, " : ") + " : ''"},
		{Name: "after", Expression: "object == null ? '' : string(object.?metadata.?annotations[?variables.key].orValue(''))"},
		{Name: "before", Expression: "oldObject == null ? '' : string(oldObject.?metadata.?annotations[?variables.key].orValue(''))"},
	}
	out.Spec.Validations = []admissionv1.Validation{{
		Expression: fmt.Sprintf("params.?data[?%q].orValue('') != %q || variables.after == variables.before", keyType, a.Network),
		MessageExpression: fmt.Sprintf("'annotation ' + variables.key + ' is written by the network of type %s alone; leave it out, or as it is (reserved-annotation)'",
			a.Network),
	}}
	return out
}

func serviceAccount(a provider.Annotator) string {
	return fmt.Sprintf("system:serviceaccount:%s:%s", a.Namespace, a.Name)
}
