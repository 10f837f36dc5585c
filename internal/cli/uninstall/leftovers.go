package uninstall

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/cluster-network-operator/cno/internal/manifest"
	"github.com/cluster-network-operator/cno/internal/plan"
	"github.com/cluster-network-operator/cno/internal/provider"
)

// agent returns the provider.Agent of a DaemonSet that changes nodes; nil for any other object.
func (r *remover) agent(set object) *provider.Agent {
	i := slices.IndexFunc(r.operands.Agents, func(a provider.Agent) bool { return a.Namespace == set.namespace && a.Name == set.name })
	if i < 0 {
		return nil
	}
	return &r.operands.Agents[i]
}

// unclean describes what stays on nodes that could not be cleaned, with cause and remedy.
func (r *remover) unclean(set object, why string) string {
	text := fmt.Sprintf("on every node, what %s created: %s; restart the node to remove its routes, devices and rules", set, why)
	if a := r.agent(set); a != nil && len(a.Files) > 0 {
		text += ", and delete " + strings.Join(a.Files, " and ") + " there"
	}
	return text
}

// lost returns the DaemonSets that were deleted before their nodes were cleaned: those of the inventory that no longer exist, and
// those whose namespace is being deleted.
func (r *remover) lost(ctx context.Context, inventory plan.Inventory, found []object) ([]object, error) {
	candidates := map[string]object{}
	for _, e := range inventory {
		if e.Key.Kind == "DaemonSet" && !e.Adopted {
			candidates[e.Key.Namespace+"/"+e.Key.Name] = object{apps("DaemonSet"), e.Key.Namespace, e.Key.Name}
		}
	}
	for _, a := range r.operands.Agents {
		ending, err := r.ending(ctx, a.Namespace)
		if err != nil {
			return nil, err
		}
		if ending {
			candidates[a.Namespace+"/"+a.Name] = object{apps("DaemonSet"), a.Namespace, a.Name}
		}
	}
	var out []object
	for _, key := range slices.Sorted(maps.Keys(candidates)) {
		if r.agent(candidates[key]) != nil && !slices.Contains(found, candidates[key]) {
			out = append(out, candidates[key])
		}
	}
	return out, nil
}

// ending reports whether a namespace of the operator is being deleted.
func (r *remover) ending(ctx context.Context, name string) (bool, error) {
	resource, err := r.resource(object{gvk: core("Namespace"), name: name})
	if err != nil {
		return false, err
	}
	ns, err := resource.Get(ctx, name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("read namespace %s: %w", name, err)
	}
	return ns.GetDeletionTimestamp() != nil && ns.GetLabels()[manifest.LabelManagedBy] == manifest.ManagedBy, nil
}

// dataOnNodes lists the directories of Deployments on nodes, which are kept since their data may be needed again.
func (r *remover) dataOnNodes(ctx context.Context, all []object) error {
	users := map[string]bool{}
	for _, o := range all {
		if o.gvk != apps("Deployment") {
			continue
		}
		var d appsv1.Deployment
		err := r.Client.Get(ctx, client.ObjectKey{Namespace: o.namespace, Name: o.name}, &d)
		if apierrors.IsNotFound(err) {
			continue
		}
		if err != nil {
			return fmt.Errorf("read %s: %w", o, err)
		}
		for _, directory := range hostDirectories(d.Spec.Template.Spec) {
			users[directory] = true
		}
	}
	for _, directory := range slices.Sorted(maps.Keys(users)) {
		r.stays = append(r.stays, fmt.Sprintf("on the nodes that had it, the directory %s with the data of the network; delete it there once the network is not to be installed again", directory))
	}
	return nil
}

// onHost reports whether the pods of a workload use the host network.
func onHost(o *unstructured.Unstructured) bool {
	hostNetwork, _, _ := unstructured.NestedBool(o.Object, "spec", "template", "spec", "hostNetwork")
	return hostNetwork
}
