package uninstall

import (
	"context"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/cluster-network-operator/cno/api/crds"
	"github.com/cluster-network-operator/cno/internal/manifest"
	"github.com/cluster-network-operator/cno/internal/plan"
)

// object is one to delete.
type object struct {
	gvk             schema.GroupVersionKind
	namespace, name string
}

func (o object) String() string {
	if o.namespace == "" {
		return o.gvk.Kind + " " + o.name
	}
	return o.gvk.Kind + " " + o.namespace + "/" + o.name
}

// parts are what there is, by when it goes.
type parts struct {
	// doors refuse deletions. operator makes everything again. clients are workloads on the pod network, whose pods end
	// only while there is one. leavers leave something on nodes. rest is what was applied
	// and what installs the operator, kinds are its definitions, with all their objects, and namespaces go last.
	doors, operator, clients, leavers, custom, rest, kinds, namespaces []object
	// unrecorded is true if objects were applied, and no one knows which.
	unrecorded bool
	// adopted existed before the operator took it over: it stays, unless it is part of what installs the operator.
	adopted []object
	stays   []string
}

func (p parts) all() []object {
	return slices.Concat(p.doors, p.operator, p.clients, p.leavers, p.custom, p.rest, p.kinds, p.namespaces)
}

// installed is how the names of what installs the operator begin.
const installed = "cluster-network-operator"

// The names of what is not told by its label or its beginning.
const (
	deployment       = "network-operator"
	hostNetwork      = "openshift-host-network"
	hostReports      = "host-network-reports"
	connectivityKind = "podnetworkconnectivitychecks.controlplane.operator.openshift.io"
)

func core(kind string) schema.GroupVersionKind { return corev1.SchemeGroupVersion.WithKind(kind) }

func rbac(kind string) schema.GroupVersionKind {
	return schema.GroupVersionKind{Group: "rbac.authorization.k8s.io", Version: "v1", Kind: kind}
}

func apps(kind string) schema.GroupVersionKind {
	return schema.GroupVersionKind{Group: "apps", Version: "v1", Kind: kind}
}

func registration(kind string) schema.GroupVersionKind {
	return schema.GroupVersionKind{Group: "admissionregistration.k8s.io", Version: "v1", Kind: kind}
}

func definition() schema.GroupVersionKind {
	return schema.GroupVersionKind{Group: "apiextensions.k8s.io", Version: "v1", Kind: "CustomResourceDefinition"}
}

// find looks for everything of the operator's.
func (r *remover) find(ctx context.Context) (parts, error) {
	var p parts
	for _, look := range []func(context.Context, *parts) error{r.findDoors, r.findApplied, r.findRights, r.findKinds, r.findNamespaces} {
		if err := look(ctx, &p); err != nil {
			return p, err
		}
	}
	deleted := p.all()
	for _, o := range p.adopted {
		if !slices.Contains(deleted, o) {
			p.stays = append(p.stays, o.String()+": it existed before the operator took it over")
		}
	}
	return p, nil
}

func (r *remover) findDoors(ctx context.Context, p *parts) error {
	for _, kind := range []string{"ValidatingAdmissionPolicyBinding", "ValidatingAdmissionPolicy"} {
		found, err := r.list(ctx, registration(kind), "", func(o *unstructured.Unstructured) bool {
			return strings.HasPrefix(o.GetName(), installed) || o.GetName() == hostReports
		})
		if err != nil {
			return err
		}
		p.doors = append(p.doors, found...)
	}
	operator, err := r.list(ctx, apps("Deployment"), r.Namespace, func(o *unstructured.Unstructured) bool { return o.GetName() == deployment })
	p.operator = operator
	return err
}

// applied are the kinds whose objects may carry the operator's label.
func applied() []schema.GroupVersionKind {
	return []schema.GroupVersionKind{apps("DaemonSet"), apps("Deployment"), core("Service"), core("ConfigMap"), core("ServiceAccount"),
		networkingv1.SchemeGroupVersion.WithKind("NetworkPolicy"), rbac("Role"), rbac("RoleBinding"), rbac("ClusterRole"), rbac("ClusterRoleBinding"), core("Namespace")}
}

// findApplied uses the inventory and by the label; what was there before stays.
func (r *remover) findApplied(ctx context.Context, p *parts) error {
	var cm corev1.ConfigMap
	var inventory plan.Inventory
	err := r.Client.Get(ctx, client.ObjectKey{Namespace: r.Namespace, Name: plan.InventoryName}, &cm)
	recorded := err == nil
	if client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("read inventory: %w", err)
	}
	if recorded {
		if inventory, err = plan.DecodeInventory(cm.Data); err != nil {
			return err
		}
	}
	adopted := map[string]bool{}
	for _, e := range inventory {
		o := object{schema.GroupVersionKind{Group: e.Key.Group, Version: e.Version, Kind: e.Key.Kind}, e.Key.Namespace, e.Key.Name}
		if e.Adopted {
			adopted[o.String()] = true
			p.adopted = append(p.adopted, o)
		}
	}
	onPods := map[string]bool{}
	for _, gvk := range applied() {
		found, err := r.list(ctx, gvk, "", func(o *unstructured.Unstructured) bool {
			onPods[object{gvk, o.GetNamespace(), o.GetName()}.String()] = gvk.Group == "apps" && !onHost(o)
			return o.GetLabels()[manifest.LabelManagedBy] == manifest.ManagedBy
		})
		if err != nil {
			return err
		}
		for _, o := range found {
			switch {
			case adopted[o.String()]:
			case onPods[o.String()]:
				p.clients = append(p.clients, o)
			case gvk.Kind == "DaemonSet":
				p.leavers = append(p.leavers, o)
			case gvk.Kind == "Namespace":
				p.namespaces = append(p.namespaces, o)
			default:
				p.rest = append(p.rest, o)
			}
		}
	}
	lost, err := r.lost(ctx, inventory, p.leavers)
	if err != nil {
		return err
	}
	for _, o := range lost {
		p.stays = append(p.stays, r.unclean(o, "it was deleted before nodes were cleaned"))
	}
	p.unrecorded = !recorded && len(p.clients)+len(p.leavers)+len(p.rest) > 0
	return nil
}

// findRights adds what config/rbac and config/openshift have.
func (r *remover) findRights(ctx context.Context, p *parts) error {
	for _, kind := range []string{"ClusterRoleBinding", "ClusterRole", "RoleBinding", "Role"} {
		found, err := r.list(ctx, rbac(kind), "", func(o *unstructured.Unstructured) bool { return strings.HasPrefix(o.GetName(), installed) })
		if err != nil {
			return err
		}
		for _, o := range found {
			if !slices.Contains(p.rest, o) {
				p.rest = append(p.rest, o)
			}
		}
	}
	return nil
}

// findKinds adds the operator's definitions, and every object of these kinds. OpenShift's own kinds stay on OpenShift.
func (r *remover) findKinds(ctx context.Context, p *parts) error {
	own, err := crds.All()
	if err != nil {
		return err
	}
	_, err = r.Mapper.RESTMapping(schema.GroupKind{Group: "config.openshift.io", Kind: "ClusterOperator"})
	openshift := err == nil
	served, err := r.list(ctx, definition(), "", func(o *unstructured.Unstructured) bool {
		return o.GetName() == connectivityKind || slices.ContainsFunc(own, func(c *crd) bool { return c.Name == o.GetName() })
	})
	if err != nil {
		return err
	}
	for _, d := range served {
		if openshift && !strings.HasSuffix(d.name, ".networkoperator.openshift.io") {
			p.stays = append(p.stays, d.String()+": the kind is OpenShift's")
		} else {
			p.kinds = append(p.kinds, d)
		}
		i := slices.IndexFunc(own, func(c *crd) bool { return c.Name == d.name })
		if i < 0 {
			continue
		}
		gvk := schema.GroupVersionKind{Group: own[i].Spec.Group, Version: own[i].Spec.Versions[0].Name, Kind: own[i].Spec.Names.Kind}
		objects, err := r.list(ctx, gvk, "", func(*unstructured.Unstructured) bool { return true })
		if err != nil {
			return err
		}
		p.custom = append(p.custom, objects...)
	}
	return nil
}

func (r *remover) findNamespaces(ctx context.Context, p *parts) error {
	found, err := r.list(ctx, core("Namespace"), "", func(o *unstructured.Unstructured) bool {
		return slices.Contains(append(r.operands.Installed(), r.Namespace, hostNetwork), o.GetName())
	})
	for _, o := range found {
		if !slices.Contains(p.namespaces, o) {
			p.namespaces = append(p.namespaces, o)
		}
	}
	return err
}

// page is how many objects are asked for at once.
const page = 500

// list returns the objects of a kind that a function wants. A kind that is not served has none.
func (r *remover) list(ctx context.Context, gvk schema.GroupVersionKind, namespace string, want func(*unstructured.Unstructured) bool) ([]object, error) {
	mapping, err := r.Mapper.RESTMapping(gvk.GroupKind(), gvk.Version)
	if meta.IsNoMatchError(err) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var resource dynamic.ResourceInterface = r.API.Resource(mapping.Resource)
	if namespace != "" {
		resource = r.API.Resource(mapping.Resource).Namespace(namespace)
	}
	var out []object
	for next := ""; ; {
		l, err := resource.List(ctx, metav1.ListOptions{Limit: page, Continue: next})
		if apierrors.IsNotFound(err) {
			return nil, nil
		}
		if err != nil {
			return nil, fmt.Errorf("list %s: %w", mapping.Resource.Resource, err)
		}
		for i := range l.Items {
			if want(&l.Items[i]) && l.Items[i].GetDeletionTimestamp() == nil {
				out = append(out, object{gvk, l.Items[i].GetNamespace(), l.Items[i].GetName()})
			}
		}
		if next = l.GetContinue(); next == "" {
			return out, nil
		}
	}
}
