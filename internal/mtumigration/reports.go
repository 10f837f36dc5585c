package mtumigration

import (
	"encoding/json"
	"fmt"

	corev1 "k8s.io/api/core/v1"

	"github.com/cluster-network-operator/cno/internal/status"
)

// Annotation is the annotation of agents' pods with the State that is applied on their node when the pod is Ready. The operator sets it if pods restart for
// each step and become Ready after they have applied it; otherwise agents set it.
const Annotation = "networkoperator.openshift.io/mtu"

// Encode returns the value of the annotation.
func (s State) Encode() (string, error) {
	text, err := json.Marshal(s)
	if err != nil {
		return "", fmt.Errorf("encode the MTU: %w", err)
	}
	return string(text), nil
}

// Reports returns the nodes with the reports in the annotations of agents' pods, by name of the node. It ignores pods without a valid annotation.
func Reports(nodes []*corev1.Node, pods []corev1.Pod) map[string]Node {
	out := make(map[string]Node, len(nodes))
	for _, n := range nodes {
		out[n.Name] = Node{Ready: status.NodeReady(n)}
	}
	for i := range pods {
		p := &pods[i]
		node, known := out[p.Spec.NodeName]
		var s State
		if !known || p.DeletionTimestamp != nil || json.Unmarshal([]byte(p.Annotations[Annotation]), &s) != nil {
			continue
		}
		node.Report = &Report{Ready: status.OfPod(p, false).Ready, Step: s.Step, MTU: s.MTU}
		out[p.Spec.NodeName] = node
	}
	return out
}
