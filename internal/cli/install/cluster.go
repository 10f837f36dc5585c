package install

import (
	"context"
	"fmt"
	"slices"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	operatorv1 "github.com/cluster-network-operator/cno/api/operator/v1"
	"github.com/cluster-network-operator/cno/internal/facts"
	"github.com/cluster-network-operator/cno/internal/manifest"
	"github.com/cluster-network-operator/cno/internal/preview"
	"github.com/cluster-network-operator/cno/internal/status"
)

// imageConfig is the prefix of the name of the ConfigMap of the operator's images, which no other operator has.
const imageConfig = "network-operator-images"

// controlPlane is the label of control-plane nodes.
const controlPlane = "node-role.kubernetes.io/control-plane"

// found is the state of a cluster.
type found struct {
	// operator is the Deployment with the operator's name; nil if there is none. own is true if it is that of this operator.
	operator *appsv1.Deployment
	own      bool
	// networks are third-party networks, by name with the DaemonSet or Deployment; proxies the DaemonSets of other kube-proxies.
	networks, proxies []string
	// platforms are the distribution and the cloud, notes what users have to know about a network there.
	platforms, notes []string
	// declared are the addresses that the cluster declares; nil if unknown.
	declared *facts.Declared
	// controlPlanes is the number of control-plane nodes, ready the number of nodes that have a network.
	controlPlanes, ready int
	// network is true if there is a Network. notUpgradeable is the reason why the operator must not be replaced now; empty if it may.
	network        bool
	notUpgradeable string
	// administrator is false if the user lacks permissions.
	administrator bool
}

// agents returns the DaemonSets of third-party networks.
func agents() map[string]string {
	return map[string]string{
		"calico-node": "Calico", "canal": "Canal", "cilium": "Cilium", "kube-flannel-ds": "Flannel, installed by another party", "kube-flannel": "Flannel, installed by another party",
		"antrea-agent": "Antrea", "weave-net": "Weave Net", "kube-router": "kube-router", "kindnet": "kindnet", "kube-ovn-cni": "Kube-OVN",
		"aws-node": "Amazon VPC CNI", "azure-cns": "Azure CNI", "ovnkube-node": "OVN-Kubernetes, installed by another party", "romana-agent": "Romana",
	}
}

// controllers returns the Deployments of third-party networks. Those of an operator exist before its agents do.
func controllers() map[string]string {
	return map[string]string{
		"tigera-operator": "Calico", "calico-kube-controllers": "Calico", "cilium-operator": "Cilium", "antrea-controller": "Antrea", "kube-ovn-controller": "Kube-OVN",
		"cluster-network-addons-operator": "cluster-network-addons-operator",
	}
}

// observe reads the state of the cluster for an installation. It changes nothing.
func observe(ctx context.Context, cluster preview.Cluster) (found, error) {
	var f found
	for _, read := range []func(context.Context, preview.Cluster) error{f.readPermissions, f.readOperator, f.readDaemonSets, f.readDeployments, f.readNodes, f.readNetwork, f.readAddresses} {
		if err := read(ctx, cluster); err != nil {
			return f, err
		}
	}
	return f, nil
}

func (f *found) readPermissions(ctx context.Context, cluster preview.Cluster) error {
	gvr := authorizationv1.SchemeGroupVersion.WithResource("selfsubjectaccessreviews")
	question := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": gvr.GroupVersion().String(), "kind": "SelfSubjectAccessReview",
		"spec": map[string]any{"resourceAttributes": map[string]any{"verb": "*", "group": "*", "resource": "*"}},
	}}
	review, err := cluster.API.Resource(gvr).Create(ctx, question, metav1.CreateOptions{})
	if err != nil {
		return fmt.Errorf("read permissions: %w", err)
	}
	f.administrator, _, err = unstructured.NestedBool(review.Object, "status", "allowed")
	return err
}

func (f *found) readOperator(ctx context.Context, cluster preview.Cluster) error {
	var d appsv1.Deployment
	err := cluster.Client.Get(ctx, client.ObjectKey{Namespace: cluster.Namespace, Name: status.OperatorDeployment}, &d)
	if apierrors.IsNotFound(err) || apierrors.IsForbidden(err) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("read Deployment %s: %w", status.OperatorDeployment, err)
	}
	f.operator = &d
	for _, c := range d.Spec.Template.Spec.Containers {
		f.own = f.own || slices.ContainsFunc(c.EnvFrom, func(e corev1.EnvFromSource) bool {
			return e.ConfigMapRef != nil && strings.HasPrefix(e.ConfigMapRef.Name, imageConfig)
		})
	}
	return nil
}

// readDaemonSets finds the agents of third-party networks, except those that the operator applied.
func (f *found) readDaemonSets(ctx context.Context, cluster preview.Cluster) error {
	var list appsv1.DaemonSetList
	if err := cluster.Client.List(ctx, &list); apierrors.IsForbidden(err) {
		return nil
	} else if err != nil {
		return fmt.Errorf("list DaemonSets: %w", err)
	}
	known := agents()
	for _, d := range list.Items {
		where := fmt.Sprintf("DaemonSet %s/%s", d.Namespace, d.Name)
		switch network, ok := known[d.Name]; {
		case d.Labels[manifest.LabelManagedBy] == manifest.ManagedBy:
		case ok:
			f.networks = append(f.networks, fmt.Sprintf("%s (%s)", network, where))
		case d.Name == "kube-proxy":
			f.proxies = append(f.proxies, where)
		}
	}
	return nil
}

// readDeployments finds the controllers of third-party networks, except those that the operator applied.
func (f *found) readDeployments(ctx context.Context, cluster preview.Cluster) error {
	var list appsv1.DeploymentList
	if err := cluster.Client.List(ctx, &list); apierrors.IsForbidden(err) {
		return nil
	} else if err != nil {
		return fmt.Errorf("list Deployments: %w", err)
	}
	known := controllers()
	for _, d := range list.Items {
		if network, ok := known[d.Name]; ok && d.Labels[manifest.LabelManagedBy] != manifest.ManagedBy {
			f.networks = append(f.networks, fmt.Sprintf("%s (Deployment %s/%s)", network, d.Namespace, d.Name))
		}
	}
	return nil
}

func (f *found) readNodes(ctx context.Context, cluster preview.Cluster) error {
	var list corev1.NodeList
	if err := cluster.Client.List(ctx, &list); apierrors.IsForbidden(err) {
		return nil
	} else if err != nil {
		return fmt.Errorf("list nodes: %w", err)
	}
	f.platforms, f.notes = recognize(list.Items)
	for _, n := range list.Items {
		if _, ok := n.Labels[controlPlane]; ok {
			f.controlPlanes++
		}
		if slices.ContainsFunc(n.Status.Conditions, func(c corev1.NodeCondition) bool {
			return c.Type == corev1.NodeReady && c.Status == corev1.ConditionTrue
		}) {
			f.ready++
		}
	}
	return nil
}

// readNetwork reads the Network, whose CRD may be missing.
func (f *found) readNetwork(ctx context.Context, cluster preview.Cluster) error {
	var n operatorv1.Network
	err := cluster.Client.Get(ctx, client.ObjectKey{Name: operatorv1.NetworkName}, &n)
	if apierrors.IsNotFound(err) || meta.IsNoMatchError(err) || apierrors.IsForbidden(err) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("read network: %w", err)
	}
	f.network = true
	for _, c := range n.Status.Conditions {
		if c.Type == "Upgradeable" && string(c.Status) == "False" {
			f.notUpgradeable = c.Message
		}
	}
	return nil
}

// replicas returns 1 for a cluster with one control-plane node, in which a second replica could never be scheduled.
func (f found) replicas() int64 {
	if f.controlPlanes == 1 {
		return 1
	}
	return 2
}

// version returns the version of the operator in the cluster; "" if there is none, or it is unknown.
func (f found) version() string {
	if f.operator == nil {
		return ""
	}
	return f.operator.Annotations[manifest.AnnotationVersion]
}

// image returns the image of the Deployment's first container.
func (f found) image() string {
	if c := f.operator.Spec.Template.Spec.Containers; len(c) > 0 {
		return c[0].Image
	}
	return "no image"
}

// refuse returns an error if nothing can be installed in the cluster.
func (f found) refuse() error {
	switch {
	case !f.administrator:
		return fmt.Errorf("the user of this kubeconfig may not install an operator: that takes the permissions of cluster-admin")
	case f.operator != nil && !f.own:
		return fmt.Errorf("the cluster has another network operator: Deployment %s/%s runs %s", f.operator.Namespace, f.operator.Name, f.image())
	}
	return nil
}

// refuseInstall returns an error if the operator must not be installed.
func (f found) refuseInstall(version string, keepNetwork bool) error {
	if err := f.refuse(); err != nil {
		return err
	}
	if f.operator != nil {
		if f.version() != version {
			return fmt.Errorf("the operator is installed already, as version %s; to replace it by %s: cno upgrade", f.version(), version)
		}
		return nil
	}
	switch {
	case keepNetwork:
	case len(f.networks) > 0:
		return fmt.Errorf("the cluster has another network: %s; remove it first, or keep it with --keep-network and a Network of a third party's type", strings.Join(f.networks, ", "))
	case f.ready > 0 && !f.network:
		return fmt.Errorf("the cluster has another network: nodes are Ready (%d) although the operator is not installed; remove it first, or keep it with --keep-network and a Network of a third party's type", f.ready)
	}
	return nil
}
