package admission

import (
	"fmt"

	admissionv1 "k8s.io/api/admissionregistration/v1"

	"github.com/cluster-network-operator/cno/internal/provider"
)

// guard returns the policy of a network's guard. It allows everything while no network, or another one, is in use.
func guard(g provider.Guard) admissionv1.ValidatingAdmissionPolicy {
	out := policy(g.Name, g.Rules)
	if !g.Warn && !g.Open {
		fail := admissionv1.Fail
		out.Spec.FailurePolicy = &fail
	}
	out.Spec.MatchConditions = append(out.Spec.MatchConditions, g.Conditions...)
	networks := func(key string) string {
		return fmt.Sprintf("params.data[?%q].orValue('').split(',').filter(c, isCIDR(c))", key)
	}
	key, value := keyType, string(g.Network)
	if g.Network == "" {
		key, value = g.Setting, g.Value
	}
	out.Spec.Variables = append([]admissionv1.Variable{
		{Name: "inUse", Expression: fmt.Sprintf("params.data[?%q].orValue('') == %q", key, value)},
		{Name: "pools", Expression: networks(keyCIDRs)},
		{Name: "services", Expression: networks(keyServices)},
	}, g.Variables...)
	for _, c := range g.Checks {
		out.Spec.Validations = append(out.Spec.Validations, admissionv1.Validation{
			Expression: fmt.Sprintf("!variables.inUse || (%s)", c.Valid), MessageExpression: c.Message,
		})
	}
	return out
}
