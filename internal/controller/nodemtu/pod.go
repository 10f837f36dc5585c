package nodemtu

import (
	"crypto/sha256"
	"encoding/hex"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/cluster-network-operator/cno/internal/manifest"
)

// component is the component in labels and findings.
const component = "NodeMTU"

// podName returns the name of a node's probe. It has a hash, since names of nodes may be too long.
func podName(nodeName string) string {
	sum := sha256.Sum256([]byte(nodeName))
	return "mtu-prober-" + hex.EncodeToString(sum[:8])
}

// probePod returns the pod of a probe. It is bound to the node directly, tolerates all taints, and needs neither the pod network nor the
// API server: the result is its termination message.
func probePod(n node, namespace, image, pullSecret string) *corev1.Pod {
	no, yes, uid, seconds := false, true, int64(65534), int64(probeTimeout.Seconds())
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Name: podName(n.name), Namespace: namespace,
			Labels: map[string]string{manifest.LabelManagedBy: manifest.ManagedBy, manifest.LabelComponent: component},
			// The garbage collector removes it with its node.
			OwnerReferences: []metav1.OwnerReference{{APIVersion: "v1", Kind: "Node", Name: n.name, UID: types.UID(n.uid)}},
		},
		Spec: corev1.PodSpec{
			NodeName:                     n.name,
			HostNetwork:                  true,
			RestartPolicy:                corev1.RestartPolicyNever,
			ActiveDeadlineSeconds:        &seconds,
			AutomountServiceAccountToken: &no,
			EnableServiceLinks:           &no,
			PriorityClassName:            "system-node-critical",
			Tolerations:                  []corev1.Toleration{{Operator: corev1.TolerationOpExists}},
			SecurityContext: &corev1.PodSecurityContext{
				RunAsNonRoot: &yes, RunAsUser: &uid, RunAsGroup: &uid,
				SeccompProfile: &corev1.SeccompProfile{Type: corev1.SeccompProfileTypeRuntimeDefault},
			},
			Containers: []corev1.Container{{
				Name:            "probe-mtu",
				Image:           image,
				ImagePullPolicy: corev1.PullIfNotPresent,
				Args:            []string{"probe-mtu"},
				SecurityContext: &corev1.SecurityContext{
					AllowPrivilegeEscalation: &no, ReadOnlyRootFilesystem: &yes,
					Capabilities: &corev1.Capabilities{Drop: []corev1.Capability{"ALL"}},
				},
			}},
		},
	}
	if pullSecret != "" {
		pod.Spec.ImagePullSecrets = []corev1.LocalObjectReference{{Name: pullSecret}}
	}
	return pod
}

// readProbe returns the state of a probe's pod.
func readProbe(pod *corev1.Pod) probe {
	p := probe{name: pod.Name, node: pod.Spec.NodeName, started: pod.CreationTimestamp.Time, phase: pod.Status.Phase, deleting: pod.DeletionTimestamp != nil}
	for _, owner := range pod.OwnerReferences {
		if owner.Kind == "Node" {
			p.nodeUID = string(owner.UID)
		}
	}
	for _, c := range pod.Status.ContainerStatuses {
		if end := c.State.Terminated; end != nil {
			p.answer = end.Message
			if p.answer == "" && end.ExitCode != 0 {
				p.answer = end.Reason
			}
		}
		if wait := c.State.Waiting; wait != nil {
			p.waiting = wait.Reason
			if wait.Message != "" {
				p.waiting += ": " + wait.Message
			}
		}
	}
	return p
}
