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

// objectKey names an object of the router's namespace.
type objectKey struct{ kind, name string }

func keyOf(o *unstructured.Unstructured) objectKey { return objectKey{o.GetKind(), o.GetName()} }

// world is what the loop finds of a router.
type world struct {
	settings settings
	// multus is true if attachments can be made.
	multus bool
	// have are the objects with the router's labels.
	have map[objectKey]*unstructured.Unstructured
	pods []corev1.Pod
}

// kindSCC is the kind that gives pods their users on OpenShift.
var kindSCC = schema.GroupKind{Group: "security.openshift.io", Kind: "SecurityContextConstraints"}

// gather reads what there is of a router.
func (c *Controller) gather(ctx context.Context, r *networkv1.EgressRouter) (world, error) {
	w := world{settings: settings{Image: c.Image, Version: c.Version}, have: map[objectKey]*unstructured.Unstructured{}}
	var err error
	if w.multus, err = c.isServed(); err != nil {
		return world{}, err
	}
	if w.settings.UsersAreAssigned, err = c.Serves(kindSCC); err != nil {
		return world{}, fmt.Errorf("ask whether %s is served: %w", kindSCC.Kind, err)
	}
	if c.Workloads != nil {
		if w.settings.Workloads, err = c.Workloads(ctx); err != nil {
			return world{}, err
		}
	}
	mine := []client.ListOption{client.InNamespace(r.Namespace), client.MatchingLabels{LabelRouter: idOf(r.Name)}}
	var deployments appsv1.DeploymentList
	if err := c.client.List(ctx, &deployments, mine...); err != nil {
		return world{}, fmt.Errorf("list Deployments: %w", err)
	}
	for i := range deployments.Items {
		content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(&deployments.Items[i])
		if err != nil {
			return world{}, fmt.Errorf("read Deployment: %w", err)
		}
		u := &unstructured.Unstructured{Object: content}
		u.SetGroupVersionKind(kindDeployment)
		w.have[keyOf(u)] = u
	}
	if w.multus {
		attachments := &unstructured.UnstructuredList{}
		attachments.SetGroupVersionKind(kindAttachment.GroupVersion().WithKind(kindAttachment.Kind + "List"))
		if err := c.attachments.Load().List(ctx, attachments, mine...); err != nil {
			return world{}, fmt.Errorf("list NetworkAttachmentDefinitions: %w", err)
		}
		for i := range attachments.Items {
			w.have[keyOf(&attachments.Items[i])] = &attachments.Items[i]
		}
	}
	var pods corev1.PodList
	if err := c.client.List(ctx, &pods, mine...); err != nil {
		return world{}, fmt.Errorf("list pods: %w", err)
	}
	w.pods = pods.Items
	return w, nil
}
