package pipeline

import (
	"fmt"
	"slices"
	"strings"

	operatorv1 "github.com/cluster-network-operator/cno/api/operator/v1"
	"github.com/cluster-network-operator/cno/api/rules"
	"github.com/cluster-network-operator/cno/internal/provider"
)

// ineffective returns the fields of a specification that are set and have no effect, each with the reason. They are not
// refused: the cluster may have been migrated from an operator that implements them.
func (r Registry) ineffective(spec *operatorv1.NetworkSpec) Refusals {
	var found Refusals
	values, traits := lookupIn(spec), r.provider(spec.DefaultNetwork.Type).Traits()
	filled := fillShared(spec, traits)
	report := func(f provider.Field, why string) {
		v := values.value(f.Path)
		if why == "" || empty(v) || slices.ContainsFunc(found, func(above Refusal) bool { return strings.HasPrefix(f.Path, above.Field+".") }) {
			return
		}
		found = append(found, Refusal{Field: f.Path, New: v, Rule: RuleNoEffect, Message: rules.NoEffect.Detail(why)})
	}
	for _, f := range common("") {
		report(f, withoutEffect(f, traits))
	}
	for _, f := range r.provider(traits.Type).Fields() {
		report(f, withoutEffect(f, traits))
	}
	for _, c := range r.Components {
		for _, f := range c.Fields() {
			why := withoutEffect(f, traits)
			if why == "" && f.Needs == provider.NeedsComponent && !c.Enabled(filled) && !ownsKubeProxy(f, traits) {
				why = fmt.Sprintf("has no effect while %s is not deployed", c.Name())
			}
			report(f, why)
		}
	}
	active := r.workloads(func(owner any) bool {
		switch owner := owner.(type) {
		case provider.Provider:
			return owner.Traits().Type == traits.Type
		case provider.Component:
			return owner.Enabled(filled)
		}
		return false
	})
	for i, w := range spec.Workloads {
		if !slices.ContainsFunc(active, func(known provider.Workload) bool { return known.Name == w.Name }) {
			found = append(found, Refusal{Field: specPath.Child("workloads").Index(i).String(), Rule: RuleNoEffect,
				Message: rules.WorkloadNoEffect.Detail(shorten(w.Name))})
		}
	}
	return found
}

// ownsKubeProxy reports whether a field configures the kube-proxy that the network runs itself.
func ownsKubeProxy(f provider.Field, t provider.Traits) bool {
	return t.KubeProxy.Own && (f.Path == "spec.kubeProxyConfig" || strings.HasPrefix(f.Path, "spec.kubeProxyConfig."))
}

// withoutEffect returns the reason why a field has no effect with a network, as a predicate; "" if it has one.
func withoutEffect(f provider.Field, t provider.Traits) string {
	switch {
	case f.Unread != "":
		return "has no effect: " + f.Unread
	case f.Needs == provider.NeedsNetwork && !slices.Contains(t.Implements, f.Path):
		return fmt.Sprintf("has no effect with network type %s", t.Type)
	}
	return ""
}

// empty reports whether a value is missing or the zero value.
func empty(v any) bool {
	switch v := v.(type) {
	case nil:
		return true
	case bool:
		return !v
	case string:
		return v == ""
	case []any:
		return len(v) == 0
	case map[string]any:
		return len(v) == 0
	}
	return false
}
