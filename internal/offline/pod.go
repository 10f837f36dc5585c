package offline

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
	kjson "sigs.k8s.io/json"

	"github.com/cluster-network-operator/cno/internal/multinet/selection"
)

// podKind is the apiVersion and the kind of Pods.
const podKind = "v1 Pod"

func decodePod(in *Input, asJSON []byte) (*Input, []Problem, error) {
	in.Pod = &corev1.Pod{}
	if err := kjson.UnmarshalCaseSensitivePreserveInts(asJSON, in.Pod); err != nil {
		return nil, nil, fmt.Errorf("not a Pod: %w", err)
	}
	return in, nil, nil
}

// selections returns the networks that a Pod requests. For a Pod without a namespace, it assumes the namespace default.
func (in Input) selections() ([]selection.Selection, field.ErrorList) {
	namespace := in.Pod.Namespace
	if namespace == "" {
		namespace = corev1.NamespaceDefault
	}
	return selection.Parse(in.Pod.Annotations[selection.Annotation], namespace)
}

// podProblems returns the errors in the networks that a Pod requests; the API server checks all other fields.
func (in Input) podProblems() []Problem {
	asked, errs := in.selections()
	var problems []Problem
	for _, e := range errs {
		p := in.fieldProblem(e)
		p.Message += in.inPod()
		problems = append(problems, p)
	}
	if len(asked)+len(errs) > 0 && in.Pod.Spec.HostNetwork {
		problems = append(problems, Problem{File: in.File, Field: "spec.hostNetwork", Value: "true", Rule: selection.Rule,
			Message: "a Pod with hostNetwork gets no further networks; remove the annotation " + selection.Annotation + in.inPod()})
	}
	return problems
}

// inPod returns the name of the Pod for the end of a message, since a file can have several.
func (in Input) inPod() string { return ", in " + in.Name() }
