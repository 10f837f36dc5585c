// Package networkcomponent keeps a NetworkComponent for each component of the network.
//
// Input: the conditions of Network/cluster, and the versions of components in the ConfigMap operator-status. Output: NetworkComponents, which are restored after
// modifications.
//
// Nothing reads these objects to decide anything. Without Network/cluster there are none.
package networkcomponent

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	networkoperatorv1 "github.com/cluster-network-operator/cno/api/networkoperator/v1"
	operatorv1 "github.com/cluster-network-operator/cno/api/operator/v1"
	"github.com/cluster-network-operator/cno/internal/loop"
	"github.com/cluster-network-operator/cno/internal/status"
)

// Name is the name of the controller in logs.
const Name = "networkcomponent"

// fieldManager owns the fields of NetworkComponents.
const fieldManager = client.FieldOwner("cluster-network-operator/networkcomponent")

// Controller keeps NetworkComponents. All fields must be set.
type Controller struct {
	// Client reads from the manager's cache, and writes.
	Client client.Client
	// Namespace is the operator's namespace.
	Namespace string
}

// kind is the kind of the objects.
func kind() schema.GroupVersionKind {
	return networkoperatorv1.GroupVersion.WithKind("NetworkComponent")
}

// Specs returns the specification of the controller.
func (c *Controller) Specs() []loop.Spec {
	return []loop.Spec{{Name: Name, Needs: []schema.GroupKind{operatorv1.GroupVersion.WithKind("Network").GroupKind(), kind().GroupKind()}, Setup: c.setup}}
}

func (c *Controller) setup(mgr manager.Manager) error {
	once := loop.Once()
	versions := predicate.NewPredicateFuncs(func(o client.Object) bool {
		return o.GetNamespace() == c.Namespace && o.GetName() == status.ConfigMapName
	})
	return loop.Add(mgr, Name, c.Reconcile, loop.Options{},
		loop.On(mgr, &operatorv1.Network{}, once),
		loop.On(mgr, &networkoperatorv1.NetworkComponent{}, once),
		loop.On(mgr, &corev1.ConfigMap{}, once, versions),
	)
}

// Reconcile creates, updates and deletes NetworkComponents.
func (c *Controller) Reconcile(ctx context.Context, _ reconcile.Request) (reconcile.Result, error) {
	var network operatorv1.Network
	if err := c.Client.Get(ctx, client.ObjectKey{Name: operatorv1.NetworkName}, &network); client.IgnoreNotFound(err) != nil {
		return reconcile.Result{}, fmt.Errorf("read network: %w", err)
	}
	versions, err := c.versions(ctx)
	if err != nil {
		return reconcile.Result{}, err
	}
	var list networkoperatorv1.NetworkComponentList
	if err := c.Client.List(ctx, &list); err != nil {
		return reconcile.Result{}, fmt.Errorf("list network components: %w", err)
	}
	live := map[string]*networkoperatorv1.NetworkComponent{}
	for i := range list.Items {
		live[list.Items[i].Name] = &list.Items[i]
	}
	for _, desired := range statuses(network.Status.Conditions, versions) {
		name := strings.ToLower(desired.Component)
		existing := live[name]
		delete(live, name)
		if existing != nil && equality.Semantic.DeepEqual(existing.Status, desired) {
			continue
		}
		if err := c.write(ctx, name, existing, desired); err != nil {
			return reconcile.Result{}, fmt.Errorf("write network component %s: %w", name, err)
		}
	}
	for name, former := range live {
		if err := c.Client.Delete(ctx, former); client.IgnoreNotFound(err) != nil {
			return reconcile.Result{}, fmt.Errorf("delete network component %s: %w", name, err)
		}
	}
	return reconcile.Result{}, nil
}

// versions reads the versions of components that run everywhere.
func (c *Controller) versions(ctx context.Context) (map[string]string, error) {
	var cm corev1.ConfigMap
	if err := c.Client.Get(ctx, client.ObjectKey{Namespace: c.Namespace, Name: status.ConfigMapName}, &cm); err != nil {
		if client.IgnoreNotFound(err) == nil {
			return nil, nil
		}
		return nil, fmt.Errorf("read versions of components: %w", err)
	}
	var versions map[string]string
	if text := cm.Data[status.KeyVersions]; text != "" {
		if err := json.Unmarshal([]byte(text), &versions); err != nil {
			return nil, fmt.Errorf("read versions of components: %w", err)
		}
	}
	return versions, nil
}

// write writes the status of a NetworkComponent, after it has created the object if existing is nil. It replaces the status, since an apply would keep fields that
// another client has added.
func (c *Controller) write(ctx context.Context, name string, existing *networkoperatorv1.NetworkComponent, desired networkoperatorv1.NetworkComponentStatus) error {
	object := existing.DeepCopy()
	if object == nil {
		object = &networkoperatorv1.NetworkComponent{ObjectMeta: metav1.ObjectMeta{Name: name}}
		if err := c.Client.Create(ctx, object, fieldManager); err != nil {
			return err
		}
	}
	object.Status = desired
	// A deletion of the object starts another reconcile.
	return client.IgnoreNotFound(c.Client.Status().Update(ctx, object, fieldManager))
}
