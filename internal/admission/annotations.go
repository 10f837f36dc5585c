package admission

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/cluster-network-operator/cno/api/rules"
	"github.com/cluster-network-operator/cno/internal/provider"
)

// annotations restricts an account, and the operator, to certain annotations of the objects that its role lets it update.
func annotations(a provider.Annotator) admissionv1.ValidatingAdmissionPolicy {
	fail := admissionv1.Fail
	var requests []admissionv1.NamedRuleWithOperations
	fields := []string{"?spec", "metadata.?labels", "metadata.?finalizers", "metadata.?ownerReferences"}
	for _, r := range a.Resources {
		requests = append(requests, on("", r, []admissionv1.OperationType{admissionv1.Update}))
		if strings.HasSuffix(r, "/status") {
			fields = append(fields, "?status")
		}
	}
	unchanged := ""
	for _, field := range fields {
		unchanged += fmt.Sprintf("object.%[1]s == oldObject.%[1]s && ", field)
	}
	own, which := fmt.Sprintf("k.startsWith(%q)", a.Prefix), "annotations that begin with "+a.Prefix
	if a.Annotation != "" {
		own, which = fmt.Sprintf("k == %q", a.Annotation), "the annotation "+a.Annotation
	}
	if a.OwnPod != "" {
		own = fmt.Sprintf("(%s || k == %q && request.userInfo.?extra[?%q].orValue([]) == [string(oldObject.metadata.uid)])", own, a.OwnPod, extraPod)
		which += ", and the annotation " + a.OwnPod + " of its own pod"
	}
	p := admissionv1.ValidatingAdmissionPolicy{
		TypeMeta:   metav1.TypeMeta{APIVersion: admissionv1.SchemeGroupVersion.String(), Kind: "ValidatingAdmissionPolicy"},
		ObjectMeta: metav1.ObjectMeta{Name: prefix + "annotations-" + a.Name},
		Spec: admissionv1.ValidatingAdmissionPolicySpec{
			FailurePolicy:    &fail,
			MatchConstraints: &admissionv1.MatchResources{ResourceRules: requests},
			MatchConditions:  []admissionv1.MatchCondition{{Name: "the-accounts", Expression: fmt.Sprintf("request.userInfo.username in [%q, %q]", serviceAccount(a), operator)}},
			Variables: []admissionv1.Variable{
				{Name: "before", Expression: "oldObject.metadata.?annotations.orValue({})"},
				{Name: "after", Expression: "object.metadata.?annotations.orValue({})"},
			},
			Validations: []admissionv1.Validation{{
				Expression: unchanged + fmt.Sprintf("variables.after.all(k, %[1]s || variables.before[?k] == variables.after[?k])"+
					" && variables.before.all(k, %[1]s || k in variables.after)", own),
				Message: rules.AnnotationsOnly.Message(a.Name, which),
			}},
		},
	}
	if a.OwnNode {
		p.Spec.Variables = append(p.Spec.Variables, admissionv1.Variable{Name: "nodes", Expression: fmt.Sprintf("request.userInfo.?extra[?%q].orValue([])", extraNode)})
		p.Spec.Validations = append(p.Spec.Validations, admissionv1.Validation{
			Expression: fmt.Sprintf("request.userInfo.username == %q && variables.nodes.size() == 1 && variables.nodes[0] != '' && oldObject.spec.?nodeName.orValue('') == variables.nodes[0]",
				serviceAccount(a)),
			Message: rules.AnnotationsOwnNode.Message(a.Name),
		})
	}
	return p
}

// extraNode is the key of the node of the pod to which a token is bound.
const extraNode = "authentication.kubernetes.io/node-name"

// extraPod is the key of the UID of that pod.
const extraPod = "authentication.kubernetes.io/pod-uid"

// reserved refuses writes of other accounts to the annotations that an account reserves, in all ways in which an object gets annotations:
// create, update, subresources, and the binding of a pod to a node. It fails closed, since addresses in annotations of a pod can redirect
// the packets of other pods.
func reserved(a provider.Annotator) admissionv1.ValidatingAdmissionPolicy {
	var requests []admissionv1.NamedRuleWithOperations
	var texts []string
	for _, resource := range slices.Sorted(maps.Keys(a.Reserved)) {
		rule := on("", resource, []admissionv1.OperationType{admissionv1.Create, admissionv1.Update})
		rule.Resources = append(rule.Resources, resource+"/*")
		requests = append(requests, rule)
		texts = append(texts, fmt.Sprintf("request.resource.resource == %q ? %q", resource, a.Reserved[resource]))
	}
	out := policy("reserved-"+a.Name, requests)
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
	key, value, writer := keyType, string(a.Network), "the network of type "+string(a.Network)
	if a.Network == "" {
		key, value, writer = a.Setting, a.Value, "service account "+a.Name+" of namespace "+a.Namespace
	}
	out.Spec.Validations = []admissionv1.Validation{{
		Expression:        fmt.Sprintf("params.?data[?%q].orValue('') != %q || variables.after == variables.before", key, value),
		MessageExpression: rules.ReservedAnnotation.MessageCEL("annotation %s ", "variables.key", quoted(writer)),
	}}
	return out
}

func serviceAccount(a provider.Annotator) string {
	return provider.Account{Namespace: a.Namespace, Name: a.Name}.User()
}
