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

// annotationUnits is on MachineConfigs with the program, and is the digest of what they were written with.
const annotationUnits = "network.operator.openshift.io/units"

// program is the MachineConfig with host-network of one role, as it is.
type program struct {
	object *unstructured.Unstructured
	// idle says that a restart for it costs nothing: all pools that get it are paused, with other changes to come.
	idle bool
}

// readPrograms reads the MachineConfigs with the program that exist, by role, and the pools that get them.
func (c *Controller) readPrograms(ctx context.Context, w *world) error {
	w.Programs = map[string]program{}
	for key := range w.There {
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

// idle reports whether each pool that gets the MachineConfigs of a role is paused, and has changes to come.
func idle(role string, pools []unstructured.Unstructured) bool {
	concerned := 0
	for i := range pools {
		var selector metav1.LabelSelector
		raw, _, _ := unstructured.NestedMap(pools[i].Object, "spec", "machineConfigSelector")
		if runtime.DefaultUnstructuredConverter.FromUnstructured(raw, &selector) != nil {
			return false // nothing is known of this pool
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

// program returns the MachineConfig with host-network of a config, or nil if the config wants none. note is a sentence for the
// condition Rendered. A change that restarts nodes is made for the config's author only, or while it costs nothing.
func (c *Controller) program(w world, config roleConfig) (made *object, note string, err error) {
	if !w.MachineConfigs || config.Spec.Applier != networkv1.ApplierHostNetwork {
		return nil, "", nil
	}
	role := canonicalRole(config.Spec.Role)
	existing, exists := w.Programs[role]
	if c.Image == "" && !exists {
		return nil, "", fmt.Errorf("no image of host-network is known (HOST_NETWORK_IMAGE), so that the nodes of role %s keep the service of the machine-config operator", role)
	}
	if !exists {
		u, err := hostprogram.MachineConfig(role, c.Image, c.Units)
		return c.programObject(u, config.Name), "", err
	}
	kept, err := hostprogram.WithImage(role, c.Image, existing.object.Object)
	if err != nil || c.Image == "" {
		return c.programObject(kept, config.Name), "", err
	}
	fresh, err := hostprogram.MachineConfig(role, c.Image, c.Units)
	if err != nil {
		return nil, "", err
	}
	is, err := hostprogram.Restarting(kept.Object)
	if err != nil {
		return nil, "", err
	}
	latest, err := hostprogram.Restarting(fresh.Object)
	switch {
	case err != nil:
		return nil, "", err
	case is == latest, existing.idle, config.Annotations[networkv1.AcceptRestart] == latest,
		is != existing.object.GetAnnotations()[annotationUnits]: // another client has changed it; nothing is lost
		return c.programObject(fresh, config.Name), "", nil
	}
	return c.programObject(kept, config.Name), fmt.Sprintf("MachineConfig %s keeps the units of an earlier version of the operator, since new ones restart the nodes; "+
		"they are replaced while all pools of the role are paused with other changes, or with the annotation %s=%s", kept.GetName(), networkv1.AcceptRestart, latest), nil
}

// programsLeft returns the MachineConfigs with host-network of roles without a valid config: neither a mistake nor a deletion asks for
// a restart. Nodes that are created later pull the image of today.
func (c *Controller) programsLeft(w world, valid []string) (all []object, errs []string) {
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
	made := c.stamped(manifest.Object{Object: u}, config)
	return &made
}
