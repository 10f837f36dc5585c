package hostnetworkconfig

import (
	"context"
	"fmt"
	"slices"
	"strings"

	mcfgv1 "github.com/openshift/api/machineconfiguration/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	networkv1 "github.com/cluster-network-operator/cno/api/network/v1"
	"github.com/cluster-network-operator/cno/internal/dayone/hostprogram"
	"github.com/cluster-network-operator/cno/internal/dayone/machineconfig"
	"github.com/cluster-network-operator/cno/internal/manifest"
)

// annotationUnits is the digest of the units in a MachineConfig with host-network.
const annotationUnits = "network.operator.openshift.io/units"

// program is the MachineConfig with host-network of one role, as it is.
type program struct {
	object *unstructured.Unstructured
	// idle is true if all pools of the role are paused with other pending changes, so that a restart costs nothing.
	idle bool
}

// readPrograms reads the existing MachineConfigs with host-network, by role, and their pools.
func (c *Controller) readPrograms(ctx context.Context, w *input) error {
	w.Programs = map[string]program{}
	for key := range w.Live {
		role, ok := hostprogram.RoleOf(key.name)
		if key.kind.Kind != "MachineConfig" || !ok {
			continue
		}
		u := &unstructured.Unstructured{}
		u.SetGroupVersionKind(key.kind)
		if err := c.Live.Get(ctx, client.ObjectKey{Name: key.name}, u); client.IgnoreNotFound(err) != nil {
			return fmt.Errorf("read MachineConfig %s: %w", key.name, err)
		} else if err == nil {
			w.Programs[role] = program{object: u}
		}
	}
	if len(w.Programs) == 0 {
		return nil
	}
	pools := &unstructured.UnstructuredList{}
	pools.SetGroupVersionKind(mcfgv1.GroupVersion.WithKind("MachineConfigPool"))
	if err := c.Live.List(ctx, pools); err != nil {
		return fmt.Errorf("list machine config pools: %w", err)
	}
	for role, p := range w.Programs {
		p.idle = idle(role, pools.Items)
		w.Programs[role] = p
	}
	return nil
}

// idle reports whether all pools that use the MachineConfigs of a role are paused and have pending changes.
func idle(role string, pools []unstructured.Unstructured) bool {
	concerned := 0
	for i := range pools {
		var selector metav1.LabelSelector
		raw, _, _ := unstructured.NestedMap(pools[i].Object, "spec", "machineConfigSelector")
		if runtime.DefaultUnstructuredConverter.FromUnstructured(raw, &selector) != nil {
			return false // the pool is unreadable
		}
		selects, err := metav1.LabelSelectorAsSelector(&selector)
		if err != nil {
			return false
		}
		if !selects.Matches(labels.Set{machineconfig.RoleLabel: role}) {
			continue
		}
		concerned++
		paused, _, _ := unstructured.NestedBool(pools[i].Object, "spec", "paused")
		next, _, _ := unstructured.NestedString(pools[i].Object, "spec", "configuration", "name")
		now, _, _ := unstructured.NestedString(pools[i].Object, "status", "configuration", "name")
		if !paused || next == now {
			return false
		}
	}
	return concerned > 0
}

// program returns the MachineConfig with host-network for a config; nil if it is not requested. note is a message for the condition
// Rendered. A change that restarts nodes is made only if the author accepts it, or if it costs nothing.
func (c *Controller) program(w input, config roleConfig) (made *object, note string, err error) {
	if !w.MachineConfigs || config.Spec.Applier != networkv1.ApplierHostNetwork {
		return nil, "", nil
	}
	role := canonicalRole(config.Spec.Role)
	existing, exists := w.Programs[role]
	if c.Image == "" && !exists {
		return nil, "", fmt.Errorf("the image of host-network is unknown (HOST_NETWORK_IMAGE); the nodes of role %s keep the service of the machine-config operator", role)
	}
	if !exists {
		u, err := hostprogram.MachineConfig(role, c.Image, c.Units)
		return c.programObject(u, config.Name), "", err
	}
	kept, err := hostprogram.WithImage(role, c.Image, existing.object.Object)
	if err != nil || c.Image == "" {
		return c.programObject(kept, config.Name), "", err
	}
	latest, err := hostprogram.MachineConfig(role, c.Image, c.Units)
	if err != nil {
		return nil, "", err
	}
	units, err := hostprogram.Restarting(kept.Object)
	if err != nil {
		return nil, "", err
	}
	latestUnits, err := hostprogram.Restarting(latest.Object)
	switch {
	case err != nil:
		return nil, "", err
	case units == latestUnits, existing.idle, config.Annotations[networkv1.AcceptRestart] == latestUnits,
		units != existing.object.GetAnnotations()[annotationUnits]: // another client has changed it, which restarts the nodes anyway
		return c.programObject(latest, config.Name), "", nil
	}
	return c.programObject(kept, config.Name), fmt.Sprintf("MachineConfig %s keeps the units of an earlier version of the operator, because new ones restart the nodes; "+
		"they are replaced while all pools of the role are paused with other changes, or with the annotation %s=%s", kept.GetName(), networkv1.AcceptRestart, latestUnits), nil
}

// orphanedPrograms returns the MachineConfigs with host-network of roles without a valid config, since neither an error nor a deletion may
// restart nodes. Their image is updated for new nodes.
func (c *Controller) orphanedPrograms(w input, valid []string) (all []object, errs []string) {
	for role, p := range w.Programs {
		if slices.Contains(valid, role) {
			continue
		}
		u, err := hostprogram.WithImage(role, c.Image, p.object.Object)
		if err != nil {
			errs = append(errs, err.Error())
			continue
		}
		kept := c.programObject(u, p.object.GetLabels()[labelConfig])
		kept.SetAnnotations(map[string]string{annotationUnits: p.object.GetAnnotations()[annotationUnits]})
		all = append(all, *kept)
	}
	slices.SortFunc(all, func(a, b object) int { return strings.Compare(a.GetName(), b.GetName()) })
	return all, errs
}

func (c *Controller) programObject(u *unstructured.Unstructured, config string) *object {
	if u == nil {
		return nil
	}
	if units, err := hostprogram.Restarting(u.Object); err == nil {
		u.SetAnnotations(map[string]string{annotationUnits: units})
	}
	made := c.withLabels(manifest.Object{Object: u}, config)
	return &made
}
