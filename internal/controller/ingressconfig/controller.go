// Package ingressconfig labels the traffic of ingress controllers on the host network for NetworkPolicies.
//
// Input: all IngressControllers in the namespace openshift-ingress-operator, and the namespace openshift-host-network. Output: two labels
// on that namespace while at least one of them is on the host network; findings of component IngressConfig.
//
// The controller never creates or deletes the namespace, and never removes a label of another client.
package ingressconfig

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"

	osv1 "github.com/openshift/api/operator/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/cluster-network-operator/cno/internal/dayone/nodereport"
	"github.com/cluster-network-operator/cno/internal/loop"
	"github.com/cluster-network-operator/cno/internal/report"
	"github.com/cluster-network-operator/cno/internal/status"
)

// Name is the name of the controller in logs and on the board.
const Name = "ingressconfig"

// controllerNamespace is the namespace of IngressControllers.
const controllerNamespace = "openshift-ingress-operator"

// fieldManager owns the labels. It is the same as in OpenShift's operator.
const fieldManager = client.FieldOwner("cluster-network-operator/ingress_controller")

// component is the component of the controller's findings, and reasonFailed their reason.
const component, reasonFailed = "IngressConfig", "IngressConfigError"

// Controller labels the namespace. All fields must be set.
type Controller struct {
	// Client reads both kinds from the controller's cache, and writes.
	Client client.Client
	Board  *report.Board
	Log    *slog.Logger
}

// requiredKinds are the kinds that the API server must serve.
func requiredKinds() []schema.GroupKind {
	return []schema.GroupKind{{Group: osv1.GroupName, Kind: "IngressController"}}
}

// cacheOptions returns the cached kinds: the publishing strategy of ingress controllers, and the namespace of the host network.
func cacheOptions() map[client.Object]cache.ByObject {
	return map[client.Object]cache.ByObject{
		&osv1.IngressController{}: {Namespaces: map[string]cache.Config{controllerNamespace: {}}, Transform: trimController},
		namespace():               {Field: fields.OneTermEqualSelector("metadata.name", nodereport.Namespace), Transform: trimNamespace},
	}
}

func namespace() *metav1.PartialObjectMetadata {
	m := &metav1.PartialObjectMetadata{}
	m.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("Namespace"))
	return m
}

func trimController(o any) (any, error) {
	c, ok := o.(*osv1.IngressController)
	if !ok {
		return o, nil
	}
	kept := &osv1.IngressController{ObjectMeta: metav1.ObjectMeta{Namespace: c.Namespace, Name: c.Name, UID: c.UID, ResourceVersion: c.ResourceVersion}}
	if s := c.Status.EndpointPublishingStrategy; s != nil {
		kept.Status.EndpointPublishingStrategy = &osv1.EndpointPublishingStrategy{Type: s.Type}
	}
	return kept, nil
}

// trimNamespace keeps everything, since managed fields are needed.
func trimNamespace(o any) (any, error) { return o, nil }

// Specs returns the specification of the controller.
func (c *Controller) Specs() []loop.Spec {
	return []loop.Spec{{Name: Name, Needs: requiredKinds(), Owns: cacheOptions(), Setup: c.setup}}
}

func (c *Controller) setup(mgr manager.Manager) error {
	c.Client = mgr.GetClient()
	once := loop.Once()
	return loop.Add(mgr, Name, c.Reconcile, loop.Options{},
		loop.On(mgr, &osv1.IngressController{}, once),
		loop.On(mgr, namespace(), once),
	)
}

// Reconcile updates the labels.
func (c *Controller) Reconcile(ctx context.Context, _ reconcile.Request) (reconcile.Result, error) {
	err := c.reconcile(ctx)
	switch {
	case err == nil:
		c.Board.Report(Name)
	case !apierrors.IsConflict(err) && !errors.Is(err, context.Canceled):
		c.Board.Report(Name, status.Finding{Component: component, Effect: status.Degraded, Reason: reasonFailed, Message: fmt.Sprintf(
			"NetworkPolicies may not select the traffic of ingress controllers on the host network: %v", err)})
	}
	return reconcile.Result{}, err
}

func (c *Controller) reconcile(ctx context.Context) error {
	ns := namespace()
	if err := c.Client.Get(ctx, client.ObjectKey{Name: nodereport.Namespace}, ns); err != nil {
		if apierrors.IsNotFound(err) { // the active network does not have it
			return nil
		}
		return fmt.Errorf("read namespace %s: %w", nodereport.Namespace, err)
	}
	var controllers osv1.IngressControllerList
	if err := c.Client.List(ctx, &controllers, client.InNamespace(controllerNamespace)); err != nil {
		return fmt.Errorf("list ingress controllers: %w", err)
	}
	d := decide(controllers.Items, ns)
	var err error
	switch {
	case !ns.DeletionTimestamp.IsZero():
	case d.set:
		err = c.set(ctx, ns)
	case len(d.remove) > 0:
		err = c.remove(ctx, ns, d.remove)
	}
	return client.IgnoreNotFound(err)
}

// set sets the labels. The UID prevents the creation of a deleted namespace.
func (c *Controller) set(ctx context.Context, ns *metav1.PartialObjectMetadata) error {
	desired := namespace()
	desired.Name, desired.UID, desired.Labels = ns.Name, ns.UID, labels()
	encoded, err := json.Marshal(desired)
	if err != nil {
		return fmt.Errorf("encode labels: %w", err)
	}
	if err := c.Client.Patch(ctx, namespaceNamed(ns.Name), client.RawPatch(types.ApplyPatchType, encoded), fieldManager, client.ForceOwnership); err != nil {
		return fmt.Errorf("label namespace %s: %w", ns.Name, err)
	}
	c.Log.Info("set the labels, because ingress controllers are on the host network", "namespace", ns.Name)
	return nil
}

// remove removes labels of any field manager of this operator.
func (c *Controller) remove(ctx context.Context, ns *metav1.PartialObjectMetadata, keys []string) error {
	removed := map[string]any{}
	for _, key := range keys {
		removed[key] = nil
	}
	patch, err := json.Marshal(map[string]any{"metadata": map[string]any{"resourceVersion": ns.ResourceVersion, "labels": removed}})
	if err != nil {
		return fmt.Errorf("encode labels: %w", err)
	}
	if err := c.Client.Patch(ctx, namespaceNamed(ns.Name), client.RawPatch(types.MergePatchType, patch), fieldManager); err != nil {
		return fmt.Errorf("remove labels from namespace %s: %w", ns.Name, err)
	}
	c.Log.Info("removed the labels, because no ingress controller is on the host network", "namespace", ns.Name)
	return nil
}

func namespaceNamed(name string) *metav1.PartialObjectMetadata {
	ns := namespace()
	ns.Name = name
	return ns
}
