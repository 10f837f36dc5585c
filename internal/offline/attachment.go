package offline

import (
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/validation/field"
	kjson "sigs.k8s.io/json"

	"github.com/cluster-network-operator/cno/internal/multinet/finding"
	"github.com/cluster-network-operator/cno/internal/multinet/policy"
)

// attachmentKind and policyKind are apiVersion and kind of NetworkAttachmentDefinitions and MultiNetworkPolicies.
const (
	attachmentKind = "k8s.cni.cncf.io/v1 NetworkAttachmentDefinition"
	policyKind     = "k8s.cni.cncf.io/v1beta1 MultiNetworkPolicy"
)

// policyRule is the rule of all errors of MultiNetworkPolicies.
const policyRule = "multi-network-policy"

// Attachment is a NetworkAttachmentDefinition.
type Attachment struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata"`
	Spec              struct {
		Config string `json:"config"`
	} `json:"spec"`
}

func decodeAttachment(in *Input, asJSON []byte) (*Input, []Problem, error) {
	in.Attachment = &Attachment{}
	if err := kjson.UnmarshalCaseSensitivePreserveInts(asJSON, in.Attachment); err != nil {
		return nil, nil, fmt.Errorf("not a NetworkAttachmentDefinition: %w", err)
	}
	return in, nil, nil
}

func decodePolicy(in *Input) (*Input, []Problem, error) {
	in.Policy = &unstructured.Unstructured{Object: in.Object}
	return in, nil, nil
}

// attachmentProblems returns the errors in the CNI configuration of a definition that the operator and the daemons on nodes would report, except
// those that depend on nodes or on the cluster's configuration.
func (in Input) attachmentProblems() []Problem {
	a := in.Attachment
	return in.userProblems(finding.ReadDefinition(a.Namespace, a.Name, a.Spec.Config).Errors, finding.InvalidDefinition)
}

// policyProblems returns the errors in a MultiNetworkPolicy.
func (in Input) policyProblems() []Problem {
	_, errs := policy.Read(in.Policy)
	return in.userProblems(errs.WithOrigin(policyRule), finding.InvalidPolicy)
}

// userProblems returns errors in an object of a user, with their effect.
func (in Input) userProblems(errs field.ErrorList, reason finding.Reason) []Problem {
	var problems []Problem
	for _, e := range errs {
		p := in.fieldProblem(e)
		p.Message += fmt.Sprintf(", in %s; %s", in.Name(), reason.Effect())
		problems = append(problems, p)
	}
	return problems
}
