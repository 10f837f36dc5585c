package machineconfig

import (
	"slices"
	"strings"

	machineconfigv1 "github.com/openshift/api/machineconfiguration/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
)

// config is one of the operator's MachineConfigs.
type config struct {
	Name   string
	Labels map[string]string
}

// input is the input of decide.
type input struct {
	// Configs are the operator's existing MachineConfigs.
	Configs []config
	Pools   []machineconfigv1.MachineConfigPool
	// Recorded are the names in the record, sorted.
	Recorded []string
}

// decision is what to report and record.
type decision struct {
	// Pools are the pools that use or select MachineConfigs of the operator, by name.
	Pools []pool
	// Unselected are the names of MachineConfigs that no pool selects, sorted.
	Unselected []string
	// Record are the names to record, sorted.
	Record []string
}

// pool is the state of a pool.
type pool struct {
	Name string
	// Degraded is true if the pool is; Message is its message, if any.
	Degraded bool
	Message  string
	Paused   bool
	// Pending are MachineConfigs that the pool selects and has not finished, Removing deleted ones that it still uses.
	Pending, Removing []string
}

// decide compares the operator's MachineConfigs with those of the pools.
func decide(w input) decision {
	var d decision
	var present []string
	for _, c := range w.Configs {
		present = append(present, c.Name)
	}
	removed := slices.DeleteFunc(slices.Clone(w.Recorded), func(name string) bool { return slices.Contains(present, name) })
	selected, used := map[string]bool{}, map[string]bool{}
	for i := range w.Pools {
		state, relevant := comparePool(&w.Pools[i], w.Configs, removed, selected)
		for _, name := range state.Removing {
			used[name] = true
		}
		if relevant {
			d.Pools = append(d.Pools, state)
		}
	}
	slices.SortFunc(d.Pools, func(a, b pool) int { return strings.Compare(a.Name, b.Name) })
	for _, name := range present {
		if !selected[name] {
			d.Unselected = append(d.Unselected, name)
		}
	}
	slices.Sort(d.Unselected)
	d.Record = present
	for _, name := range removed {
		if used[name] {
			d.Record = append(d.Record, name)
		}
	}
	slices.Sort(d.Record)
	return d
}

// comparePool compares one pool, and adds the names that it selects to selected. relevant is false if the pool uses none of the operator's
// MachineConfigs.
func comparePool(p *machineconfigv1.MachineConfigPool, configs []config, removed []string, selected map[string]bool) (state pool, relevant bool) {
	state = pool{Name: p.Name, Paused: p.Spec.Paused}
	includes := func(c machineconfigv1.MachineConfigPoolStatusConfiguration, name string) bool {
		return slices.ContainsFunc(c.Source, func(o corev1.ObjectReference) bool { return o.Name == name })
	}
	for _, c := range configs {
		if !selects(p.Spec.MachineConfigSelector, c.Labels) {
			continue
		}
		relevant, selected[c.Name] = true, true
		if !includes(p.Status.Configuration, c.Name) {
			state.Pending = append(state.Pending, c.Name)
		}
	}
	for _, name := range removed {
		// The target counts, too, because the pool is about to use it.
		if includes(p.Status.Configuration, name) || includes(p.Spec.Configuration, name) {
			relevant = true
			state.Removing = append(state.Removing, name)
		}
	}
	slices.Sort(state.Pending)
	state.Degraded, state.Message = degraded(p)
	return state, relevant
}

// selects reports whether a pool's selector matches. As in the machine-config operator, an empty or invalid selector matches nothing.
func selects(selector *metav1.LabelSelector, of map[string]string) bool {
	s, err := metav1.LabelSelectorAsSelector(selector)
	return err == nil && !s.Empty() && s.Matches(labels.Set(of))
}

// degraded reports whether a pool is Degraded, with the first message of its conditions.
func degraded(p *machineconfigv1.MachineConfigPool) (isDegraded bool, message string) {
	details := map[machineconfigv1.MachineConfigPoolConditionType]string{}
	for _, c := range p.Status.Conditions {
		if c.Status == corev1.ConditionTrue {
			details[c.Type] = c.Message
			isDegraded = isDegraded || c.Type == machineconfigv1.MachineConfigPoolDegraded
		}
	}
	for _, kind := range []machineconfigv1.MachineConfigPoolConditionType{
		machineconfigv1.MachineConfigPoolDegraded, machineconfigv1.MachineConfigPoolRenderDegraded, machineconfigv1.MachineConfigPoolNodeDegraded,
	} {
		if details[kind] != "" {
			return isDegraded, details[kind]
		}
	}
	return isDegraded, ""
}
