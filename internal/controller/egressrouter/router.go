package egressrouter

import (
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"encoding/json"
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	networkv1 "github.com/cluster-network-operator/cno/api/network/v1"
	operatorv1 "github.com/cluster-network-operator/cno/api/operator/v1"
	"github.com/cluster-network-operator/cno/internal/manifest"
	"github.com/cluster-network-operator/cno/internal/multinet/wire"
	"github.com/cluster-network-operator/cno/internal/pipeline"
)

//go:embed assets
var assets embed.FS

const (
	// defaultUser is the user and group ID of the container where the cluster does not assign one.
	defaultUser = 65534
)

// settings are common to all routers.
type settings struct {
	// Image is the image of the pod.
	Image string
	// Version is the version of the operator.
	Version string
	// UsersAreAssigned is true if the cluster assigns users to pods and they may not choose one, as on OpenShift.
	UsersAreAssigned bool
	// Workloads are the overrides of workloads.
	Workloads []operatorv1.Workload
}

// objects returns the objects of a valid router in the order of creation: the attachments, then the Deployment.
func objects(r *networkv1.EgressRouter, s settings) ([]*unstructured.Unstructured, error) {
	var all []*unstructured.Unstructured
	var selections []networkSelection
	hash := sha256.New()
	for i := range r.Spec.Addresses {
		address := &r.Spec.Addresses[i]
		config, err := configOf(r, address)
		if err != nil {
			return nil, err
		}
		text, err := json.Marshal(config)
		if err != nil {
			return nil, fmt.Errorf("encode CNI configuration: %w", err)
		}
		hash.Write(text)
		attachment, err := finish(attachmentOf(config.Name, string(text)), r, s)
		if err != nil {
			return nil, err
		}
		all = append(all, attachment)
		selections = append(selections, networkSelection{Name: config.Name, DefaultRoute: []string{address.Gateway}})
	}
	d, err := deploymentOf(r, s)
	if err != nil {
		return nil, err
	}
	networks, err := json.Marshal(selections)
	if err != nil {
		return nil, fmt.Errorf("encode networks of the pod: %w", err)
	}
	d.Spec.Template.Annotations[wire.AnnotationNetworks] = string(networks)
	d.Spec.Template.Annotations[annotationConfig] = hex.EncodeToString(hash.Sum(nil)[:16])
	deployment, err := finish(d, r, s)
	return append(all, deployment), err
}

// networkSelection is an element of the networks annotation of a pod.
type networkSelection struct {
	Name string `json:"name"`
	// DefaultRoute are the gateways of the pod's default routes; they replace the existing ones.
	DefaultRoute []string `json:"default-route"`
}

func attachmentOf(name, config string) *unstructured.Unstructured {
	u := &unstructured.Unstructured{Object: map[string]any{"spec": map[string]any{"config": config}}}
	u.SetGroupVersionKind(kindAttachment)
	u.SetName(name)
	return u
}

func deploymentOf(r *networkv1.EgressRouter, s settings) (*appsv1.Deployment, error) {
	d, err := manifest.Decode[appsv1.Deployment](assets, "assets/deployment.yaml")
	if err != nil {
		return nil, err
	}
	d.Name = deploymentName(r.Name)
	d.Spec.Selector = &metav1.LabelSelector{MatchLabels: map[string]string{manifest.LabelComponent: component, LabelRouter: idOf(r.Name)}}
	template := &d.Spec.Template
	for key, value := range labelsOf(r.Name) {
		template.Labels[key] = value
	}
	template.Annotations[annotationRouter] = r.Name
	template.Spec.Containers[0].Image = s.Image
	if !s.UsersAreAssigned {
		template.Spec.SecurityContext.RunAsUser = new(int64(defaultUser))
		template.Spec.SecurityContext.RunAsGroup = new(int64(defaultUser))
	}
	return d, nil
}

// finish sets namespace, labels, annotations, owner and workload overrides of an object.
func finish(o manifest.Typed, r *networkv1.EgressRouter, s settings) (*unstructured.Unstructured, error) {
	made, err := manifest.New(o, manifest.Policy{})
	if err != nil {
		return nil, err
	}
	u := made.Object
	u.SetNamespace(r.Namespace)
	labels := labelsOf(r.Name)
	if u.GroupVersionKind() == kindDeployment {
		labels["app"] = "egress-router-cni"
	}
	u.SetLabels(labels)
	if err := pipeline.OverrideWorkload(u, s.Workloads); err != nil {
		return nil, fmt.Errorf("apply spec.workloads to %s: %w", u.GetName(), err)
	}
	annotations := map[string]string{annotationRouter: r.Name}
	if s.Version != "" {
		annotations[manifest.AnnotationVersion] = s.Version
	}
	u.SetAnnotations(annotations)
	u.SetOwnerReferences([]metav1.OwnerReference{ownerOf(r)})
	annotations[manifest.AnnotationHash] = manifest.Hash(made)
	u.SetAnnotations(annotations)
	return u, nil
}
