package multus

import (
	"fmt"

	admissionv1 "k8s.io/api/admissionregistration/v1"

	"github.com/cluster-network-operator/cno/api/rules"
	"github.com/cluster-network-operator/cno/internal/multinet/whereabouts"
	"github.com/cluster-network-operator/cno/internal/provider"
)

// recordPolicies returns the checks of the records of addresses: a daemon writes those of pods on its own node, which a role cannot express. Records of earlier
// versions and of whereabouts have no node. A record of an IPAMClaim follows the claim's pod to another node.
func recordPolicies() []provider.Guard {
	const (
		node = "request.userInfo.?extra[?'authentication.kubernetes.io/node-name'].orValue([]).join(',')"
		// own and free take a record: it names the node of the daemon; it names that or none.
		own  = "%[1]s.?node.orValue('') == variables.node"
		free = "%[1]s.?node.orValue('') in ['', variables.node]"
		// moved takes a record before and after the change.
		moved = "%[1]s.?claimUID.orValue('') != '' && %[2]s.?claimUID.orValue('') == %[1]s.claimUID"
	)
	daemon := admissionv1.MatchCondition{Name: "the-daemons", Expression: fmt.Sprintf("request.userInfo.username == %q", provider.Account{Namespace: Namespace, Name: daemonName}.User())}
	guard := func(name, resource string, variables []admissionv1.Variable, valid string) provider.Guard {
		return provider.Guard{
			Name: name, Setting: "spec.disableMultiNetwork", Value: "false",
			Rules: []admissionv1.NamedRuleWithOperations{{RuleWithOperations: admissionv1.RuleWithOperations{
				Operations: []admissionv1.OperationType{admissionv1.Create, admissionv1.Update, admissionv1.Delete},
				Rule:       admissionv1.Rule{APIGroups: []string{whereabouts.Group}, APIVersions: []string{"*"}, Resources: []string{resource}},
			}}},
			Conditions: []admissionv1.MatchCondition{daemon},
			Variables:  append([]admissionv1.Variable{{Name: "node", Expression: node}}, variables...),
			Checks:     []provider.GuardCheck{{Valid: "variables.node != '' && " + valid, Message: rules.AddressRecordsOwnNode.MessageCEL("spec: ", "'"+daemonName+"'")}},
		}
	}
	pools := guard("address-pools-of-nodes", "ippools", []admissionv1.Variable{
		{Name: "before", Expression: "oldObject == null ? {} : oldObject.spec.allocations"},
		{Name: "after", Expression: "object == null ? {} : object.spec.allocations"},
		{Name: "written", Expression: "variables.after.filter(k, !(k in variables.before) || variables.before[k] != variables.after[k])"},
		{Name: "replaced", Expression: "variables.before.filter(k, !(k in variables.after) || variables.before[k] != variables.after[k])"},
	}, fmt.Sprintf("object != null && (oldObject == null || object.spec.range == oldObject.spec.range) && variables.written.all(k, %s) && variables.replaced.all(k, %s || k in variables.after && %s)",
		fmt.Sprintf(own, "variables.after[k]"), fmt.Sprintf(free, "variables.before[k]"), fmt.Sprintf(moved, "variables.before[k]", "variables.after[k]")))
	reservations := guard("address-reservations-of-nodes", "overlappingrangeipreservations", nil,
		fmt.Sprintf("(object == null || %s) && (oldObject == null || %s || object != null && %s)",
			fmt.Sprintf(own, "object.spec"), fmt.Sprintf(free, "oldObject.spec"), fmt.Sprintf(moved, "oldObject.spec", "object.spec")))
	return []provider.Guard{pools, reservations}
}
