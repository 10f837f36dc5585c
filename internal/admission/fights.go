package admission

import (
	"fmt"
	"strings"

	admissionv1 "k8s.io/api/admissionregistration/v1"

	"github.com/cluster-network-operator/cno/api/rules"
	"github.com/cluster-network-operator/cno/internal/fight"
	"github.com/cluster-network-operator/cno/internal/provider"
)

// fights refuses events about fights on nodes from accounts other than those of agents. Such events make the network degraded, and all accounts
// that may write in the namespace default could create them. It fails closed, but only for these events.
func fights(reporters []provider.Account) admissionv1.ValidatingAdmissionPolicy {
	out := policy("fights", []admissionv1.NamedRuleWithOperations{
		on("", "events", []admissionv1.OperationType{admissionv1.Create, admissionv1.Update}),
	})
	fail := admissionv1.Fail
	out.Spec.FailurePolicy = &fail
	var users []string
	for _, r := range reporters {
		users = append(users, fmt.Sprintf("%q", r.User()))
	}
	out.Spec.MatchConditions = append(out.Spec.MatchConditions, admissionv1.MatchCondition{
		Name: "reports-a-fight", Expression: fmt.Sprintf("object.?reason.orValue('') == %q && object.?involvedObject.?kind.orValue('') == 'Node'", fight.Reason),
	})
	out.Spec.Validations = []admissionv1.Validation{{
		Expression: fmt.Sprintf("request.userInfo.username in [%s]", strings.Join(users, ", ")), Message: rules.FightsOfAgents.Message(fight.Reason),
	}}
	return out
}
