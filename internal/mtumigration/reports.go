package mtumigration

import (
	"encoding/json"
	"fmt"

	corev1 "k8s.io/api/core/v1"

	"github.com/cluster-network-operator/cno/internal/status"
)

// Annotation is the annotation of agents' pods with the State that is done on their node once the pod is Ready: the operator sets it where pods restart for
// each step, and are Ready when they have done it; elsewhere agents write it.
const Annotation = "networkoperator.openshift.io/mtu"

// Encode returns the value of the annotation.
func (s State) Encode() (string, error) {
	text, err := json.Marshal(s)
	if err != nil {
		return "", fmt.Errorf("encode the MTU: %w", err)
	}
	return string(text), nil
}

// Reports returns what the agents of nodes report by their pods, by name of the node. A pod without the annotation, or with one that cannot be read,
// is as good as none: its node is waited for.
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
