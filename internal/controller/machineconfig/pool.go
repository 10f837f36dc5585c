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

// world is everything that decide looks at.
type world struct {
	// Configs are the operator's MachineConfigs that are there and not being deleted.
	Configs []config
	Pools   []machineconfigv1.MachineConfigPool
	// Remembered are the names that were followed when the loop looked last, sorted.
	Remembered []string
}

// decision is what is to be said and remembered.
type decision struct {
	// Pools are those that have, are to get, or are to lose something of the operator's, by name.
	Pools []pool
	// Homeless are the names of MachineConfigs that no pool selects, sorted.
	Homeless []string
	// Remember are the names to follow from now on, sorted.
	Remember []string
}

// pool is how far a pool has come.
type pool struct {
	Name string
	// Degraded is true if the pool is; Why is what it says of that, if anything.
	Degraded bool
	Why      string
	Paused   bool
	// Lacks are MachineConfigs that the pool selects and has not finished, Keeps those that are deleted and that it still has.
	Lacks, Keeps []string
}

// decide compares what the operator has made with what pools have.
func decide(w world) decision {
	var d decision
	var present []string
	for _, c := range w.Configs {
		present = append(present, c.Name)
	}
	removed := slices.DeleteFunc(slices.Clone(w.Remembered), func(name string) bool { return slices.Contains(present, name) })
	selected, used := map[string]bool{}, map[string]bool{}
	for i := range w.Pools {
		state, concerned := look(&w.Pools[i], w.Configs, removed, selected)
		for _, name := range state.Keeps {
			used[name] = true
		}
		if concerned {
			d.Pools = append(d.Pools, state)
		}
	}
	slices.SortFunc(d.Pools, func(a, b pool) int { return strings.Compare(a.Name, b.Name) })
	for _, name := range present {
		if !selected[name] {
			d.Homeless = append(d.Homeless, name)
		}
	}
	slices.Sort(d.Homeless)
	d.Remember = present
	for _, name := range removed {
		if used[name] {
			d.Remember = append(d.Remember, name)
		}
	}
	slices.Sort(d.Remember)
	return d
}

// look compares one pool. It adds the names that the pool selects to selected. concerned is false if the pool has nothing
// to do with the operator.
func look(p *machineconfigv1.MachineConfigPool, configs []config, removed []string, selected map[string]bool) (state pool, concerned bool) {
	state = pool{Name: p.Name, Paused: p.Spec.Paused}
	has := func(c machineconfigv1.MachineConfigPoolStatusConfiguration, name string) bool {
		return slices.ContainsFunc(c.Source, func(o corev1.ObjectReference) bool { return o.Name == name })
	}
	for _, c := range configs {
		if !selects(p.Spec.MachineConfigSelector, c.Labels) {
			continue
		}
		concerned, selected[c.Name] = true, true
		if !has(p.Status.Configuration, c.Name) {
			state.Lacks = append(state.Lacks, c.Name)
		}
	}
	for _, name := range removed {
		// The target is looked at too: a pool that is on its way to one would have it again.
		if has(p.Status.Configuration, name) || has(p.Spec.Configuration, name) {
			concerned = true
			state.Keeps = append(state.Keeps, name)
		}
	}
	slices.Sort(state.Lacks)
	state.Degraded, state.Why = degraded(p)
	return state, concerned
}

// selects reports whether a pool's selector takes a MachineConfig. The machine-configuration operator lets a pool
// without a selector, or with one that cannot be read, take nothing.
func selects(selector *metav1.LabelSelector, of map[string]string) bool {
	s, err := metav1.LabelSelectorAsSelector(selector)
	return err == nil && !s.Empty() && s.Matches(labels.Set(of))
}

// degraded reports whether a pool is, and what it says of it: the first that says something of its conditions for rendering
// and for nodes, which the condition Degraded summarizes.
func degraded(p *machineconfigv1.MachineConfigPool) (is bool, why string) {
	details := map[machineconfigv1.MachineConfigPoolConditionType]string{}
	for _, c := range p.Status.Conditions {
		if c.Status == corev1.ConditionTrue {
			details[c.Type] = c.Message
			is = is || c.Type == machineconfigv1.MachineConfigPoolDegraded
		}
	}
	for _, kind := range []machineconfigv1.MachineConfigPoolConditionType{
		machineconfigv1.MachineConfigPoolDegraded, machineconfigv1.MachineConfigPoolRenderDegraded, machineconfigv1.MachineConfigPoolNodeDegraded,
	} {
		if details[kind] != "" {
			return is, details[kind]
		}
	}
	return is, ""
}
