package serviceproxy

import (
	"strings"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/cluster-network-operator/cno/api/rules"
	"github.com/cluster-network-operator/cno/internal/suggest"
)

// The values of Refusal.Rule of this package.
const (
	RuleNotAllowed   = "kube-proxy-not-allowed"
	RuleDuration     = "kube-proxy-sync-period"
	RuleBindAddress  = "kube-proxy-bind-address"
	RuleUnknownFlag  = "kube-proxy-unknown-flag"
	RuleOverride     = "kube-proxy-override"
	RuleValue        = "kube-proxy-value"
	RuleValueCount   = "kube-proxy-value-count"
	RuleSetTwice     = "kube-proxy-set-twice"
	RuleTogether     = "kube-proxy-together"
	RuleClusterPools = "kube-proxy-cluster-pools"
	RuleClusterCIDR  = "kube-proxy-cluster-cidr"
	RuleMode         = "kube-proxy-mode"
)

// argument is a flag of kube-proxy that sets fields of its configuration.
type argument struct {
	// list is true if the flag may be given more than once, and with several values separated by commas.
	list bool
	// set parses one value and sets it. The values of a list are added one by one.
	set func(c *Config, value string) error
}

// apply translates arguments and returns all errors in them. It sorts the names, so that the errors are deterministic.
func apply(c *Config, arguments map[string][]string, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	known := translated()
	for _, name := range sorted(arguments) {
		at, values := path.Key(name), arguments[name]
		if reason := refused(name, values); reason != "" {
			errs = append(errs, rules.KubeProxyOverride.Forbidden(at, reason))
			continue
		}
		if tolerated(name, values) {
			continue
		}
		arg, ok := known[name]
		if !ok {
			errs = append(errs, rules.KubeProxyUnknownFlag.Forbidden(at, kubeProxyVersion, remedy(name)))
			continue
		}
		errs = append(errs, arg.apply(c, values, at)...)
	}
	return errs
}

func (a argument) apply(c *Config, values []string, at *field.Path) field.ErrorList {
	switch {
	case len(values) == 0:
		return field.ErrorList{rules.KubeProxyNoValue.Required(at)}
	case len(values) > 1 && !a.list:
		return field.ErrorList{rules.KubeProxyManyValues.Invalid(at, values)}
	}
	var errs field.ErrorList
	for i, value := range values {
		parts := []string{value}
		if a.list {
			parts = strings.Split(value, ",")
		}
		for _, part := range parts {
			if err := a.set(c, part); err != nil {
				errs = append(errs, rules.KubeProxyValue.Invalid(at.Index(i), part, err.Error()))
			}
		}
	}
	return errs
}

// remedy returns the remedy for a flag that kube-proxy does not have.
func remedy(name string) string {
	if close, ok := closest(name); ok {
		return "did you mean " + close + "?"
	}
	return "remove it"
}

// closest returns the flag for a misspelled name: the only one with this prefix, ignoring dashes, or one that differs in a
// few letters.
func closest(name string) (string, bool) {
	flags := sorted(translated())
	bare := func(s string) string { return strings.NewReplacer("-", "", "_", "").Replace(strings.ToLower(s)) }
	best := ""
	for _, f := range flags {
		switch {
		case bare(f) == bare(name):
			return f, true
		case len(bare(name)) >= 4 && strings.HasPrefix(bare(f), bare(name)) && (best == "" || len(f) < len(best)):
			best = f
		}
	}
	if best != "" {
		return best, true
	}
	return suggest.Closest(strings.TrimLeft(name, "-"), flags, 3)
}
