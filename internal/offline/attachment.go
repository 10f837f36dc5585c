package offline

import (
	"fmt"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	kjson "sigs.k8s.io/json"

	"github.com/cluster-network-operator/cno/internal/multinet/definition"
)

// attachmentKind is the apiVersion and the kind of NetworkAttachmentDefinitions.
const attachmentKind = "k8s.cni.cncf.io/v1 NetworkAttachmentDefinition"

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

// attachmentProblems returns the errors in the CNI configuration of a definition, as the daemon of a node finds them when a pod asks for the
// network. What depends on the node or on the cluster's configuration is not among them.
func (in Input) attachmentProblems() []Problem {
	a := in.Attachment
	if strings.TrimSpace(a.Spec.Config) == "" {
		return nil // nodes have the configuration in a file
	}
	_, errs := definition.Parse(a.Namespace, a.Name, a.Spec.Config, definition.Rules{})
	var problems []Problem
	for _, e := range errs {
		p := in.fieldProblem(e)
		p.Message += ", in " + in.Name()
		problems = append(problems, p)
	}
	return problems
}
