package admission

import (
	"fmt"

	admissionv1 "k8s.io/api/admissionregistration/v1"

	"github.com/cluster-network-operator/cno/api/rules"
)

// serviceCIDRs refuses ServiceCIDRs beyond spec.serviceNetwork if the network does not serve them. kube-proxy forwards
// Services of any address, but everything that is derived from spec.serviceNetwork would be incomplete: NO_PROXY, the status
// of the cluster's configuration, and the check that no Service has an address of a pod or a node. The object that the API
// server creates from its flag is allowed, and the operator compares it with spec.serviceNetwork.
func serviceCIDRs() admissionv1.ValidatingAdmissionPolicy {
	out := policy("servicecidrs", []admissionv1.NamedRuleWithOperations{
		on("networking.k8s.io", "servicecidrs", []admissionv1.OperationType{admissionv1.Create, admissionv1.Update}),
	})
	out.Spec.MatchConditions = append(out.Spec.MatchConditions,
		admissionv1.MatchCondition{Name: "not-that-of-the-api-server", Expression: `object.metadata.name != "kubernetes"`},
		admissionv1.MatchCondition{Name: "not-allowed", Expression: fmt.Sprintf("object.metadata.?annotations[?%q].orValue('') != 'true'", AllowUnsafe)},
		admissionv1.MatchCondition{Name: "spec-changes", Expression: "oldObject == null || object.?spec != oldObject.?spec"},
	)
	out.Spec.Variables = []admissionv1.Variable{
		{Name: "services", Expression: fmt.Sprintf("params.data[%q].split(',')", keyServices)},
		{Name: "outside", Expression: "object.?spec.?cidrs.orValue([]).filter(c, isCIDR(c) && !variables.services.exists(s, isCIDR(s) && cidr(s).containsCIDR(cidr(c))))"},
	}
	out.Spec.Validations = []admissionv1.Validation{{
		Expression: fmt.Sprintf("params.data[?%q].orValue('') != 'true' || size(variables.outside) == 0", keyFixedCIDRs),
		MessageExpression: rules.ServiceCIDROutside.MessageCEL("spec.cidrs: %s ",
			"variables.outside.join(', ')", param(keyServices), param(keyType), param(keyServices), quoted(AllowUnsafe)),
	}}
	return out
}
