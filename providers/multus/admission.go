package multus

import (
	"fmt"

	admissionv1 "k8s.io/api/admissionregistration/v1"

	operatorv1 "github.com/cluster-network-operator/cno/api/operator/v1"
	"github.com/cluster-network-operator/cno/api/rules"
	"github.com/cluster-network-operator/cno/internal/multinet/isolation"
	"github.com/cluster-network-operator/cno/internal/multinet/wire"
	"github.com/cluster-network-operator/cno/internal/provider"
)

const (
	// label matches the name of a namespace or of a definition, shortForm one network in the short form of the annotation.
	label     = `[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?`
	shortForm = `\s*(` + label + `/)?` + label + `(@[!-~]{1,15})?\s*`
)

// admissionPolicies returns the checks of pod annotations at admission. The daemon of the node performs the same checks and more, so that pods may be created
// if the policy cannot be evaluated. CEL cannot parse JSON: the long form of the annotations is checked only by the daemon.
func admissionPolicies() []provider.Guard {
	has := func(annotation string) string {
		return fmt.Sprintf("object.metadata.?annotations[?%q].orValue('') != ''", annotation)
	}
	value := func(annotation string) string {
		return fmt.Sprintf("object.metadata.?annotations[?%q].orValue('').trim()", annotation)
	}
	short := func(variable, pattern string) string {
		return fmt.Sprintf("variables.%[1]s == '' || variables.%[1]s.matches('^[\\\\[{\"]') || variables.%[1]s.matches(r'^%[2]s$')", variable, pattern)
	}
	return []provider.Guard{{
		Name: "networks-of-pods", Setting: "spec.disableMultiNetwork", Value: "false", Open: true,
		Rules: []admissionv1.NamedRuleWithOperations{{RuleWithOperations: admissionv1.RuleWithOperations{
			Operations: []admissionv1.OperationType{admissionv1.Create}, Rule: admissionv1.Rule{APIGroups: []string{""}, APIVersions: []string{"*"}, Resources: []string{"pods"}},
		}}},
		Conditions: []admissionv1.MatchCondition{{Name: "asks-for-networks", Expression: has(wire.AnnotationNetworks) + " || " + has(wire.AnnotationDefault)}},
		Data:       func(spec *operatorv1.NetworkSpec) map[string]string { return isolation.Of(spec.MultiNetwork).Data() },
		Variables: []admissionv1.Variable{
			{Name: "networks", Expression: value(wire.AnnotationNetworks)},
			{Name: "fallback", Expression: value(wire.AnnotationDefault)},
			{Name: "permitted", Expression: fmt.Sprintf("[request.namespace] + params.data[?%q].orValue('').split(',')", isolation.KeyGlobal)},
			{Name: "isolated", Expression: fmt.Sprintf("params.data[?%q].orValue('') == 'true' && !variables.networks.matches('^[\\\\[{\"]')", isolation.KeyEnabled)},
			{Name: "foreign", Expression: "variables.networks.split(',').map(n, n.trim()).filter(n, n.contains('/') && !(n.split('/')[0] in variables.permitted))"},
		},
		Checks: []provider.GuardCheck{
			{
				Valid:   "!object.spec.?hostNetwork.orValue(false) || variables.networks in ['', '[]'] && variables.fallback == ''",
				Message: rules.FurtherNetworksHostNetwork.MessageCEL("spec.hostNetwork: ", "'"+wire.AnnotationNetworks+"'", "'"+wire.AnnotationDefault+"'"),
			},
			{
				Valid:   short("networks", shortForm+"(,"+shortForm+")*"),
				Message: rules.FurtherNetworksAnnotation.MessageCEL("metadata.annotations["+wire.AnnotationNetworks+`]: "%s" `, "variables.networks"),
			},
			{
				Valid: "!variables.isolated || size(variables.foreign) == 0",
				Message: rules.FurtherNetworksIsolation.MessageCEL("metadata.annotations["+wire.AnnotationNetworks+"]: ",
					"variables.foreign[0].split('@')[0]", "request.namespace", "variables.permitted.filter(n, n != request.namespace).join(', ')"),
			},
			{
				Valid:   short("fallback", `(`+Namespace+`/)?`+label+`(@[!-~]{1,15})?`),
				Message: rules.DefaultNetworkAnnotation.MessageCEL("metadata.annotations["+wire.AnnotationDefault+`]: "%s" `, "variables.fallback", "'"+Namespace+"'"),
			},
		},
	}}
}
