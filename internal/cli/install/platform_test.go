package install

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func TestPlatformsAreRecognizedByTheirNodes(t *testing.T) {
	node := func(label, annotation, version, provider string) corev1.Node {
		n := corev1.Node{ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{}, Annotations: map[string]string{}}}
		if label != "" {
			n.Labels[label] = ""
		}
		if annotation != "" {
			n.Annotations[annotation] = ""
		}
		n.Status.NodeInfo.KubeletVersion, n.Spec.ProviderID = version, provider
		return n
	}
	const kubeadm = "kubeadm.alpha.kubernetes.io/cri-socket"
	for _, row := range []struct {
		why   string
		nodes []corev1.Node
		names []string
		// words are in the notes, one for each.
		words []string
	}{
		{"no node has joined yet", nil, nil, nil},
		{"nodes of an unknown platform", []corev1.Node{node(controlPlane, "", "v1.36.3", "")}, nil, nil},
		{"kubeadm", []corev1.Node{node(controlPlane, kubeadm, "v1.36.3", "")}, []string{"kubeadm"}, nil},
		{"kubeadm on a cloud with workers only as nodes of it", []corev1.Node{node(controlPlane, kubeadm, "v1.36.3", ""), node("", kubeadm, "v1.36.3", "aws:///eu-west-1a/i-0")}, []string{"kubeadm", "AWS"}, []string{"encapsulates"}},
		{"k3s", []corev1.Node{node(controlPlane, "", "v1.36.3+k3s1", "k3s://server")}, []string{"k3s"}, []string{"--flannel-backend=none"}},
		{"RKE2", []corev1.Node{node(controlPlane, "", "v1.36.3+rke2r1", "rke2://server")}, []string{"RKE2"}, []string{"cni: none"}},
		{"kind, which is made by kubeadm", []corev1.Node{node(controlPlane, kubeadm, "v1.36.3", "kind://docker/kind/kind-control-plane")}, []string{"kubeadm", "kind"}, []string{"disableDefaultCNI"}},
		{"a provider whose name begins like another", []corev1.Node{node(controlPlane, "", "v1.36.3", "kinda://x")}, nil, nil},
		{"a managed control plane", []corev1.Node{node("eks.amazonaws.com/nodegroup", "", "v1.36.3-eks-1", "aws:///eu-west-1a/i-0")}, []string{"Amazon EKS", "AWS"}, []string{"control plane is not in the cluster", "encapsulates", "No node has the label"}},
	} {
		names, notes := recognize(row.nodes)
		if diff := cmp.Diff(row.names, names); diff != "" {
			t.Errorf("%s: %s", row.why, diff)
		}
		if len(notes) != len(row.words) {
			t.Errorf("%s: notes %q, want one for each of %q", row.why, notes, row.words)
			continue
		}
		for i, word := range row.words {
			if !strings.Contains(notes[i], word) {
				t.Errorf("%s: %q does not contain %q", row.why, notes[i], word)
			}
		}
	}
}
