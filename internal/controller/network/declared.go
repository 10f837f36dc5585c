package network

import (
	"context"
	"errors"
	"fmt"
	"slices"

	configv1 "github.com/openshift/api/config/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	networkoperatorv1 "github.com/cluster-network-operator/cno/api/networkoperator/v1"
	operatorv1 "github.com/cluster-network-operator/cno/api/operator/v1"
	"github.com/cluster-network-operator/cno/internal/applied"
	"github.com/cluster-network-operator/cno/internal/declared"
	"github.com/cluster-network-operator/cno/internal/facts"
	"github.com/cluster-network-operator/cno/internal/pipeline"
)

// eventDetected is the reason of the event with the values of omitted fields and their sources.
const eventDetected = "DefaultsDetected"

// Recorded returns the last recorded configuration, also if a change is forced; nil if there is none.
func Recorded(record applied.Record, history applied.History) *operatorv1.NetworkSpec {
	if spec := record.Baseline(); spec != nil {
		return spec
	}
	last, _ := history.Applied()
	return last.Baseline()
}

// ReadDeclared reads the addresses that a cluster without a recorded configuration declares. It returns nil if Network.config determines
// them. An object that may not be read is an error of its values only: of all values if it is Network.config, or the NetworkGuard, which exists
// while a network is in use.
func ReadDeclared(ctx context.Context, r client.Reader, decision applied.Decision, services facts.Services) (*facts.Declared, error) {
	config := &unstructured.Unstructured{}
	config.SetGroupVersionKind(configv1.GroupVersion.WithKind("Network"))
	switch determined, err := exists(ctx, r, config, operatorv1.NetworkName); {
	case apierrors.IsForbidden(err):
		return facts.NoPermission(err), nil
	case determined || err != nil:
		return nil, err
	}
	guard := &unstructured.Unstructured{}
	guard.SetGroupVersionKind(networkoperatorv1.GroupVersion.WithKind("NetworkGuard"))
	switch inUse, err := exists(ctx, r, guard, networkoperatorv1.NetworkGuardName); {
	case apierrors.IsForbidden(err):
		return facts.NoPermission(err), nil
	case err != nil:
		return nil, err
	case inUse || decision != applied.Fresh:
		return facts.NoRecord(), nil
	}
	d := &facts.Declared{}
	var err error
	if d.Pods, d.Services, err = readKubeadm(ctx, r); err != nil {
		return nil, err
	}
	if len(services.CIDRs) > 0 {
		d.Services = declared.Value{Source: pipeline.ServiceCIDRSource}
		for _, cidr := range services.CIDRs {
			d.Services.Pools = append(d.Services.Pools, declared.Pool{CIDR: cidr})
		}
	}
	if !d.Pods.Declares() {
		d.Pods, err = readFlags(ctx, r)
	}
	return d, err
}

// exists reports whether an object exists, whose kind may be unknown to the API server.
func exists(ctx context.Context, r client.Reader, o *unstructured.Unstructured, name string) (bool, error) {
	err := r.Get(ctx, client.ObjectKey{Name: name}, o)
	if apierrors.IsNotFound(err) || meta.IsNoMatchError(err) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("read %s %s: %w", o.GroupVersionKind().GroupKind(), name, err)
	}
	return true, nil
}

// readKubeadm reads the networks of pods and of Services from the configuration that kubeadm keeps.
func readKubeadm(ctx context.Context, r client.Reader) (ofPods, ofServices declared.Value, err error) {
	var cm corev1.ConfigMap
	err = r.Get(ctx, client.ObjectKey{Namespace: declared.KubeadmNamespace, Name: declared.KubeadmName}, &cm)
	switch {
	case apierrors.IsNotFound(err):
		return declared.Value{}, declared.Value{}, nil
	case apierrors.IsForbidden(err):
		return declared.Unreadable(declared.KubeadmPods, errForbidden), declared.Unreadable(declared.KubeadmServices, errForbidden), nil
	case err != nil:
		return declared.Value{}, declared.Value{}, fmt.Errorf("read ConfigMap %s/%s: %w", declared.KubeadmNamespace, declared.KubeadmName, err)
	}
	ofPods, ofServices = declared.Kubeadm(cm.Data[declared.KubeadmKey])
	return ofPods, ofServices, nil
}

// errForbidden is the reason why a source cannot be used.
var errForbidden = errors.New("no permission to read it")

// readFlags reads the networks of pods from the static pods of kube-controller-manager.
func readFlags(ctx context.Context, r client.Reader) (declared.Value, error) {
	var pods corev1.PodList
	err := r.List(ctx, &pods, client.InNamespace(declared.ControllerManagerNamespace), client.MatchingLabels{labelComponent: declared.ControllerManager})
	if apierrors.IsForbidden(err) {
		return declared.Unreadable(declared.ControllerManagerPods, errForbidden), nil
	}
	if err != nil {
		return declared.Value{}, fmt.Errorf("list pods of %s: %w", declared.ControllerManager, err)
	}
	var commands []declared.Command
	for i := range pods.Items {
		p := &pods.Items[i]
		if _, static := p.Annotations[corev1.MirrorPodAnnotationKey]; !static {
			continue
		}
		for _, container := range p.Spec.Containers {
			commands = append(commands, declared.Command{Pod: p.Name, Arguments: slices.Concat(container.Command, container.Args)})
		}
	}
	return declared.Flags(commands), nil
}
