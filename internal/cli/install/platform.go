package install

import (
	"context"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	operatorv1 "github.com/cluster-network-operator/cno/api/operator/v1"
	"github.com/cluster-network-operator/cno/internal/facts"
	"github.com/cluster-network-operator/cno/internal/networks"
	"github.com/cluster-network-operator/cno/internal/pipeline"
	"github.com/cluster-network-operator/cno/internal/preview"
)

// platform is a distribution of Kubernetes or a cloud.
type platform struct {
	name string
	// note is what users have to know about a network there; empty if nothing.
	note string
	// of reports whether a node belongs to it.
	of func(corev1.Node) bool
}

// platforms returns the platforms that nodes can be recognized by. A node may belong to a distribution and a cloud.
func platforms() []platform {
	const (
		filtered = "its network drops packets with addresses of pods. Choose a network, or a backend of it, that encapsulates packets between nodes"
		managed  = "its control plane is not in the cluster, and the operator runs on control-plane nodes: give nodes the label " + controlPlane
	)
	return []platform{
		{"kubeadm", "", annotated("kubeadm.alpha.kubernetes.io/cri-socket")},
		{"k3s", "it has a network and a kube-proxy in its own process. Start its servers with --flannel-backend=none, --disable-network-policy and --disable-kube-proxy", kubelet("+k3s")},
		{"RKE2", "start its servers with cni: none and disable-kube-proxy: true in their configuration", kubelet("+rke2")},
		{"kind", "create it with disableDefaultCNI: true and kubeProxyMode: none in its configuration", provided("kind")},
		{"minikube", "start it with --cni=false", labelled("minikube.k8s.io/name")},
		{"OpenShift", "", labelled("node.openshift.io/os_id")},
		{"Amazon EKS", managed, labelled("eks.amazonaws.com/nodegroup")},
		{"Google GKE", managed, labelled("cloud.google.com/gke-nodepool")},
		{"Azure AKS", managed, labelled("kubernetes.azure.com/cluster")},
		{"AWS", filtered, provided("aws")},
		{"Google Cloud", filtered, provided("gce")},
		{"Azure", filtered, provided("azure")},
		{"OpenStack", filtered, provided("openstack")},
		{"VMware vSphere", "", provided("vsphere")},
	}
}

func annotated(name string) func(corev1.Node) bool {
	return func(n corev1.Node) bool { _, ok := n.Annotations[name]; return ok }
}

func labelled(name string) func(corev1.Node) bool {
	return func(n corev1.Node) bool { _, ok := n.Labels[name]; return ok }
}

// kubelet matches nodes by a part of the version of their kubelet, which distributions extend.
func kubelet(part string) func(corev1.Node) bool {
	return func(n corev1.Node) bool { return strings.Contains(n.Status.NodeInfo.KubeletVersion, part) }
}

// provided matches nodes by the scheme of their provider ID, which the controller of a cloud sets.
func provided(scheme string) func(corev1.Node) bool {
	return func(n corev1.Node) bool { return strings.HasPrefix(n.Spec.ProviderID, scheme+"://") }
}

// recognize returns the platforms of nodes, and notes about a network there.
func recognize(nodes []corev1.Node) (names, notes []string) {
	for _, p := range platforms() {
		if !slices.ContainsFunc(nodes, p.of) {
			continue
		}
		names = append(names, p.name)
		if p.note != "" {
			notes = append(notes, p.name+": "+p.note+".")
		}
	}
	if len(nodes) > 0 && !slices.ContainsFunc(nodes, labelled(controlPlane)) {
		notes = append(notes, "No node has the label "+controlPlane+". The operator only runs on nodes with that label.")
	}
	return names, notes
}

// readAddresses reads the addresses that the cluster declares, unless it has a Network already.
func (f *found) readAddresses(ctx context.Context, cluster preview.Cluster) error {
	if f.network {
		return nil
	}
	var err error
	if f.declared, err = cluster.Declared(ctx); err != nil && !apierrors.IsForbidden(err) {
		return fmt.Errorf("read what the cluster declares: %w", err)
	}
	return nil
}

// addressNotes returns what the operator detects in the cluster, and what a Network must have in addition. They are empty if that is unknown.
func (f found) addressNotes(ctx context.Context) []string {
	if f.declared == nil || f.declared.Unavailable != "" {
		return nil
	}
	p := pipeline.Pipeline{Registry: networks.Registry()}
	res, err := p.Run(ctx, pipeline.Input{Desired: &operatorv1.NetworkSpec{}, Cluster: facts.Cluster{Declared: f.declared}}, pipeline.Validate)
	var notes []string
	for _, d := range res.Detected {
		notes = append(notes, fmt.Sprintf("If a Network omits %s, it is %s, from %s.", d.Field, d.Value, d.Source))
	}
	refusals := pipeline.RefusalsOf(err)
	for _, r := range refusals {
		notes = append(notes, fmt.Sprintf("In a Network, %s %s.", r.Field, r.Message))
	}
	if len(refusals) == 0 {
		notes = append(notes, "A Network with spec: {} suffices.")
	}
	return notes
}
