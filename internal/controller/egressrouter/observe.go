package egressrouter

import (
	"context"
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	networkv1 "github.com/cluster-network-operator/cno/api/network/v1"
)

// objectKey identifies an object in the router's namespace.
type objectKey struct{ kind, name string }

func keyOf(o *unstructured.Unstructured) objectKey { return objectKey{o.GetKind(), o.GetName()} }

// observation is the observed state of a router.
type observation struct {
	settings settings
	// multus is true if NetworkAttachmentDefinitions are available.
	multus bool
	// live are the Deployments and attachments with the router's labels.
	live map[objectKey]*unstructured.Unstructured
	pods []corev1.Pod
}

// kindSCC is the kind that assigns users to pods on OpenShift.
var kindSCC = schema.GroupKind{Group: "security.openshift.io", Kind: "SecurityContextConstraints"}

// observe reads the objects of a router.
func (c *Controller) observe(ctx context.Context, r *networkv1.EgressRouter) (observation, error) {
	w := observation{settings: settings{Image: c.Image, Version: c.Version}, live: map[objectKey]*unstructured.Unstructured{}}
	var err error
	if w.multus, err = c.attachmentsAvailable(); err != nil {
		return observation{}, err
	}
	if w.settings.UsersAreAssigned, err = c.Serves(kindSCC); err != nil {
		return observation{}, fmt.Errorf("check whether %s is available: %w", kindSCC.Kind, err)
	}
	if c.Workloads != nil {
		if w.settings.Workloads, err = c.Workloads(ctx); err != nil {
			return observation{}, err
		}
	}
	ofRouter := []client.ListOption{client.InNamespace(r.Namespace), client.MatchingLabels{LabelRouter: idOf(r.Name)}}
	var deployments appsv1.DeploymentList
	if err := c.client.List(ctx, &deployments, ofRouter...); err != nil {
		return observation{}, fmt.Errorf("list Deployments: %w", err)
	}
	for i := range deployments.Items {
		content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(&deployments.Items[i])
		if err != nil {
			return observation{}, fmt.Errorf("read Deployment: %w", err)
		}
		u := &unstructured.Unstructured{Object: content}
		u.SetGroupVersionKind(kindDeployment)
		w.live[keyOf(u)] = u
	}
	if w.multus {
		attachments := &unstructured.UnstructuredList{}
		attachments.SetGroupVersionKind(kindAttachment.GroupVersion().WithKind(kindAttachment.Kind + "List"))
		if err := c.attachments.Load().List(ctx, attachments, ofRouter...); err != nil {
			return observation{}, fmt.Errorf("list NetworkAttachmentDefinitions: %w", err)
		}
		for i := range attachments.Items {
			w.live[keyOf(&attachments.Items[i])] = &attachments.Items[i]
		}
	}
	var pods corev1.PodList
	if err := c.client.List(ctx, &pods, ofRouter...); err != nil {
		return observation{}, fmt.Errorf("list pods: %w", err)
	}
	w.pods = pods.Items
	return w, nil
}
