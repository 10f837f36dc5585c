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
	"github.com/cluster-network-operator/cno/internal/dayone/nodereport"
	"github.com/cluster-network-operator/cno/internal/manifest"
	"github.com/cluster-network-operator/cno/internal/phrase"
	"github.com/cluster-network-operator/cno/internal/plan"
	"github.com/cluster-network-operator/cno/internal/status"
)

// object is an object to delete.
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

// parts are the objects to delete, in the order of deletion.
type parts struct {
	// policies are admission policies that refuse deletions. operator would recreate everything. clients are workloads on the
	// pod network, which their pods need to terminate. agents change nodes. rest are other applied objects and those that
	// install the operator, kinds its CRDs with all their objects; namespaces are last.
	policies, operator, clients, agents, custom, rest, kinds, namespaces []object
	// unrecorded is true if objects were applied and the inventory is missing.
	unrecorded bool
	// adopted objects existed before the operator took them over: they stay, unless they are part of the operator's installation.
	adopted []object
	// blocking are sentences about pods that must be deleted first.
	blocking []string
	stays    []string
}

func (p parts) all() []object {
	return slices.Concat(p.policies, p.operator, p.clients, p.agents, p.custom, p.rest, p.kinds, p.namespaces)
}

// installed is the prefix of the names of objects that install the operator.
const installed = "cluster-network-operator"

// The names of objects that have neither label nor prefix.
const (
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

// find finds all objects of the operator.
func (r *remover) find(ctx context.Context) (parts, error) {
	var p parts
	for _, find := range []func(context.Context, *parts) error{r.findPolicies, r.findApplied, r.findPermissions, r.findKinds, r.findOperandCRDs, r.findNamespaces, r.findAttached} {
		if err := find(ctx, &p); err != nil {
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

func (r *remover) findPolicies(ctx context.Context, p *parts) error {
	for _, kind := range []string{"ValidatingAdmissionPolicyBinding", "ValidatingAdmissionPolicy"} {
		found, err := r.list(ctx, registration(kind), "", func(o *unstructured.Unstructured) bool {
			return strings.HasPrefix(o.GetName(), installed) || o.GetName() == hostReports
		})
		if err != nil {
			return err
		}
		p.policies = append(p.policies, found...)
	}
	operator, err := r.list(ctx, apps("Deployment"), r.Namespace, func(o *unstructured.Unstructured) bool { return o.GetName() == status.OperatorDeployment })
	p.operator = operator
	return err
}

// applied returns the kinds whose objects may have the operator's label.
func applied() []schema.GroupVersionKind {
	return []schema.GroupVersionKind{apps("DaemonSet"), apps("Deployment"), core("Service"), core("ConfigMap"), core("ServiceAccount"),
		networkingv1.SchemeGroupVersion.WithKind("NetworkPolicy"), rbac("Role"), rbac("RoleBinding"), rbac("ClusterRole"), rbac("ClusterRoleBinding"), core("Namespace")}
}

// findApplied finds objects by the inventory and the label; objects that existed before the operator stay.
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
				p.agents = append(p.agents, o)
			case gvk.Kind == "Namespace":
				p.namespaces = append(p.namespaces, o)
			default:
				p.rest = append(p.rest, o)
			}
		}
	}
	lost, err := r.lost(ctx, inventory, p.agents)
	if err != nil {
		return err
	}
	for _, o := range lost {
		p.stays = append(p.stays, r.unclean(o, "it was deleted before nodes were cleaned"))
	}
	p.unrecorded = !recorded && len(p.clients)+len(p.agents)+len(p.rest) > 0
	return nil
}

// findPermissions adds the objects of config/rbac and config/openshift.
func (r *remover) findPermissions(ctx context.Context, p *parts) error {
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

// findKinds adds the operator's CRDs and all their objects. OpenShift's own CRDs stay on OpenShift.
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
		return slices.Contains(append(r.operands.Installed(), r.Namespace, nodereport.Namespace), o.GetName())
	})
	for _, o := range found {
		if !slices.Contains(p.namespaces, o) {
			p.namespaces = append(p.namespaces, o)
		}
	}
	return err
}

// maxNames is the maximum number of names in a sentence.
const maxNames = 10

// findAttached finds pods with networks that only an existing agent can detach.
func (r *remover) findAttached(ctx context.Context, p *parts) error {
	var pods []corev1.Pod
	for _, agent := range p.agents {
		a := r.agent(agent)
		if a == nil || a.Detaches == nil {
			continue
		}
		if pods == nil {
			var err error
			if pods, err = r.pods(ctx); err != nil {
				return err
			}
		}
		var names []string
		for i := range pods {
			if a.Detaches(&pods[i]) {
				names = append(names, pods[i].Namespace+"/"+pods[i].Name)
			}
		}
		if len(names) > 0 {
			p.blocking = append(p.blocking, fmt.Sprintf("pods have networks that only %s can detach; delete these pods, and wait until they no longer exist: %s", agent, phrase.Names(names, maxNames)))
		}
	}
	return nil
}

// pods returns all pods.
func (r *remover) pods(ctx context.Context) ([]corev1.Pod, error) {
	out := []corev1.Pod{}
	for next := ""; ; {
		var list corev1.PodList
		if err := r.Client.List(ctx, &list, client.Limit(page), client.Continue(next)); err != nil {
			return nil, fmt.Errorf("list pods: %w", err)
		}
		out = append(out, list.Items...)
		if next = list.Continue; next == "" {
			return out, nil
		}
	}
}

// page is the number of objects per list request.
const page = 500

// list returns the objects of a kind for which want returns true. A kind whose API is unavailable has none.
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
