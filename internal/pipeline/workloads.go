package pipeline

import (
	"maps"
	"regexp"
	"slices"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	operatorv1 "github.com/cluster-network-operator/cno/api/operator/v1"
	"github.com/cluster-network-operator/cno/api/rules"
	"github.com/cluster-network-operator/cno/internal/provider"
)

// labelApp is the label of pods by which users name a workload.
const labelApp = "app"

// Workloads returns the workloads of every network and component, sorted by name.
func (r Registry) Workloads() []provider.Workload { return r.workloads(func(any) bool { return true }) }

// workloads returns those of some providers and components.
func (r Registry) workloads(of func(owner any) bool) []provider.Workload {
	var all []provider.Workload
	for _, o := range r.owners() {
		if owner, ok := o.(provider.WorkloadOwner); ok && of(o) {
			all = append(all, owner.Workloads()...)
		}
	}
	slices.SortFunc(all, func(a, b provider.Workload) int { return strings.Compare(a.Name, b.Name) })
	return all
}

// validateWorkloads checks spec.workloads. The API server alone checks affinity, when the workload is applied.
func (r Registry) validateWorkloads(spec *operatorv1.NetworkSpec) field.ErrorList {
	var errs field.ErrorList
	all, first := r.Workloads(), map[string]int{}
	var names []string
	for _, w := range all {
		names = append(names, w.Name)
	}
	for i, w := range spec.Workloads {
		at := specPath.Child("workloads").Index(i)
		if j, taken := first[w.Name]; taken {
			errs = append(errs, rules.WorkloadTwice.Invalid(at.Child("name"), w.Name, j))
		} else {
			first[w.Name] = i
		}
		k := slices.Index(names, w.Name)
		if k < 0 {
			errs = append(errs, rules.WorkloadUnknown.Invalid(at.Child("name"), w.Name, strings.Join(names, ", ")))
			continue
		}
		errs = append(errs, validatePlacement(w, all[k], at)...)
		errs = append(errs, validateResources(w.Resources, at.Child("resources"))...)
		errs = append(errs, validateTolerations(w.Tolerations, at.Child("tolerations"))...)
		errs = append(errs, validateEnv(w.Env, all[k], at.Child("env"))...)
		errs = append(errs, validateUpdate(w, all[k], at.Child("updateStrategy"))...)
		if w.PriorityClassName != "" && len(validation.IsDNS1123Subdomain(w.PriorityClassName)) > 0 {
			errs = append(errs, rules.WorkloadPriorityClass.Invalid(at.Child("priorityClassName"), w.PriorityClassName))
		}
	}
	return errs
}

// validatePlacement refuses node selectors and affinity for workloads that have to run on certain nodes, and invalid labels.
func validatePlacement(w operatorv1.Workload, known provider.Workload, at *field.Path) field.ErrorList {
	var errs field.ErrorList
	fixed := func(name string) {
		errs = append(errs, rules.WorkloadPlacement.Forbidden(at.Child(name), w.Name))
	}
	if known.Placed && len(w.NodeSelector) > 0 {
		fixed("nodeSelector")
	}
	if known.Placed && w.Affinity != nil {
		fixed("affinity")
	}
	for _, key := range slices.Sorted(maps.Keys(w.NodeSelector)) {
		if len(validation.IsQualifiedName(key)) > 0 || len(validation.IsValidLabelValue(w.NodeSelector[key])) > 0 {
			errs = append(errs, rules.WorkloadLabel.Invalid(at.Child("nodeSelector"), key+"="+w.NodeSelector[key]))
		}
	}
	return errs
}

// validateResources refuses quantities below zero, and requests above their limits.
func validateResources(r *operatorv1.WorkloadResources, at *field.Path) field.ErrorList {
	if r == nil {
		return nil
	}
	var errs field.ErrorList
	for _, list := range []struct {
		name   string
		values corev1.ResourceList
	}{{"requests", r.Requests}, {"limits", r.Limits}} {
		for _, name := range slices.Sorted(maps.Keys(list.values)) {
			path, value := at.Child(list.name).Key(string(name)), list.values[name]
			if len(validation.IsQualifiedName(string(name))) > 0 {
				errs = append(errs, rules.WorkloadResource.Invalid(path, string(name)))
			}
			if value.Sign() < 0 {
				errs = append(errs, rules.WorkloadBelowZero.Invalid(path, value.String()))
			}
			if limit, limited := r.Limits[name]; limited && list.name == "requests" && value.Cmp(limit) > 0 {
				errs = append(errs, rules.WorkloadAboveLimit.Invalid(path, value.String(), limit.String()))
			}
		}
	}
	return errs
}

// validateTolerations refuses tolerations that the API server would refuse in a pod.
func validateTolerations(all []corev1.Toleration, at *field.Path) field.ErrorList {
	var errs field.ErrorList
	invalid := func(path *field.Path, value any, rule rules.Sentence) { errs = append(errs, rule.Invalid(path, value)) }
	for i, t := range all {
		at := at.Index(i)
		if t.Key != "" && len(validation.IsQualifiedName(t.Key)) > 0 {
			invalid(at.Child("key"), t.Key, rules.TolerationKey)
		}
		switch t.Operator {
		case "", corev1.TolerationOpEqual:
			if t.Key == "" {
				invalid(at.Child("operator"), t.Operator, rules.TolerationNeedsKey)
			}
			if len(validation.IsValidLabelValue(t.Value)) > 0 {
				invalid(at.Child("value"), t.Value, rules.TolerationValue)
			}
		case corev1.TolerationOpExists:
			if t.Value != "" {
				invalid(at.Child("value"), t.Value, rules.TolerationExists)
			}
		default:
			invalid(at.Child("operator"), t.Operator, rules.TolerationOperator)
		}
		switch t.Effect {
		case "", corev1.TaintEffectNoSchedule, corev1.TaintEffectPreferNoSchedule, corev1.TaintEffectNoExecute:
		default:
			invalid(at.Child("effect"), t.Effect, rules.TolerationEffect)
		}
		if t.TolerationSeconds != nil && t.Effect != corev1.TaintEffectNoExecute {
			invalid(at.Child("tolerationSeconds"), *t.TolerationSeconds, rules.TolerationSeconds)
		}
	}
	return errs
}

// validateEnv refuses invalid names of variables, and those that the operator sets.
func validateEnv(all []operatorv1.WorkloadVariable, known provider.Workload, at *field.Path) field.ErrorList {
	var errs field.ErrorList
	first := map[string]int{}
	for i, v := range all {
		path := at.Index(i).Child("name")
		j, taken := first[v.Name]
		switch {
		case taken:
			errs = append(errs, rules.WorkloadEnvTwice.Invalid(path, v.Name, j))
		case len(validation.IsEnvVarName(v.Name)) > 0:
			errs = append(errs, rules.WorkloadEnvName.Invalid(path, v.Name))
		case slices.Contains(known.Env, v.Name):
			errs = append(errs, rules.WorkloadEnvOwn.Invalid(path, v.Name))
		}
		if !taken {
			first[v.Name] = i
		}
	}
	return errs
}

// percent matches the valid percentages of maxUnavailable.
var percent = regexp.MustCompile(`^([1-9][0-9]?|100)%$`)

// validateUpdate checks the updateStrategy of a workload.
func validateUpdate(w operatorv1.Workload, known provider.Workload, at *field.Path) field.ErrorList {
	if w.UpdateStrategy == nil {
		return nil
	}
	if !known.Rolling {
		return field.ErrorList{rules.WorkloadDeployment.Forbidden(at, w.Name)}
	}
	most := w.UpdateStrategy.MaxUnavailable
	if most.Type == intstr.Int && most.IntVal >= 1 || most.Type == intstr.String && percent.MatchString(most.StrVal) {
		return nil
	}
	return field.ErrorList{rules.WorkloadUnavailable.Invalid(at.Child("maxUnavailable"), most.String())}
}

// OverrideWorkload applies the user's overrides to a workload in place. Other objects are not changed.
func OverrideWorkload(o *unstructured.Unstructured, all []operatorv1.Workload) error {
	app, _, _ := unstructured.NestedString(o.Object, "spec", "template", "metadata", "labels", labelApp)
	i := slices.IndexFunc(all, func(w operatorv1.Workload) bool { return w.Name == app })
	if app == "" || i < 0 {
		return nil
	}
	switch w := all[i]; o.GetKind() {
	case "DaemonSet":
		return changed(o, func(d *appsv1.DaemonSet) {
			overridePods(&d.Spec.Template.Spec, w)
			if w.UpdateStrategy != nil {
				d.Spec.UpdateStrategy = appsv1.DaemonSetUpdateStrategy{Type: appsv1.RollingUpdateDaemonSetStrategyType, RollingUpdate: &appsv1.RollingUpdateDaemonSet{MaxUnavailable: &w.UpdateStrategy.MaxUnavailable}}
			}
		})
	case "Deployment":
		return changed(o, func(d *appsv1.Deployment) { overridePods(&d.Spec.Template.Spec, w) })
	}
	return nil
}

// changed changes the specification of an object as a typed one. Fields that the type does not have are dropped: the
// operator renders from the same types.
func changed[T any](o *unstructured.Unstructured, change func(*T)) error {
	typed := new(T)
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(o.Object, typed); err != nil {
		return err
	}
	change(typed)
	plain, err := runtime.DefaultUnstructuredConverter.ToUnstructured(typed)
	if err != nil {
		return err
	}
	for _, path := range [][]string{{"spec", "template", "spec"}, {"spec", "updateStrategy"}} {
		value, found, err := unstructured.NestedFieldNoCopy(plain, path...)
		if err != nil {
			return err
		}
		if found && value != nil {
			if err := unstructured.SetNestedField(o.Object, value, path...); err != nil {
				return err
			}
		}
	}
	return nil
}

// overridePods applies the overrides to a pod template. Its main container is the first.
func overridePods(pod *corev1.PodSpec, w operatorv1.Workload) {
	pod.Tolerations = append(pod.Tolerations, w.Tolerations...)
	if len(w.NodeSelector) > 0 {
		if pod.NodeSelector == nil {
			pod.NodeSelector = map[string]string{}
		}
		maps.Copy(pod.NodeSelector, w.NodeSelector)
	}
	if w.Affinity != nil {
		pod.Affinity = w.Affinity.DeepCopy()
	}
	if w.PriorityClassName != "" {
		pod.PriorityClassName = w.PriorityClassName
	}
	if len(pod.Containers) == 0 {
		return
	}
	main := &pod.Containers[0]
	for _, v := range w.Env {
		main.Env = append(main.Env, corev1.EnvVar{Name: v.Name, Value: v.Value})
	}
	if w.Resources == nil {
		return
	}
	for name, limit := range w.Resources.Limits {
		if main.Resources.Limits == nil {
			main.Resources.Limits = corev1.ResourceList{}
		}
		main.Resources.Limits[name] = limit
		// The API server refuses a request above its limit: one that the operator renders is lowered to it.
		if request, asked := main.Resources.Requests[name]; asked && request.Cmp(limit) > 0 {
			main.Resources.Requests[name] = limit
		}
	}
	for name, request := range w.Resources.Requests {
		if main.Resources.Requests == nil {
			main.Resources.Requests = corev1.ResourceList{}
		}
		main.Resources.Requests[name] = request
	}
}
