package openshiftsdn

import (
	"fmt"

	admissionv1 "k8s.io/api/admissionregistration/v1"

	operatorv1 "github.com/cluster-network-operator/cno/api/operator/v1"
	"github.com/cluster-network-operator/cno/api/rules"
	sdnv1 "github.com/cluster-network-operator/cno/api/sdn/v1"
	"github.com/cluster-network-operator/cno/internal/provider"
	"github.com/cluster-network-operator/cno/providers/openshiftsdn/agentconfig"
)

const (
	controllerUser  = "system:serviceaccount:" + agentconfig.Namespace + ":" + agentconfig.Controller
	byTheController = `request.userInfo.username == "` + controllerUser + `"`
)

// networks is a CEL expression for the CIDRs of pods and Services.
const networks = "(variables.pools + variables.services).join(', ')"

// inside returns a CEL expression that reports whether an address belongs to pods or Services.
func inside(address string) string {
	return fmt.Sprintf("isIP(%[1]s) && (variables.pools + variables.services).exists(n, cidr(n).containsIP(%[1]s))", address)
}

// writes matches requests that create or update objects of a resource.
func writes(group, resource string) admissionv1.NamedRuleWithOperations {
	return admissionv1.NamedRuleWithOperations{RuleWithOperations: admissionv1.RuleWithOperations{
		Operations: []admissionv1.OperationType{admissionv1.Create, admissionv1.Update},
		Rule:       admissionv1.Rule{APIGroups: []string{group}, APIVersions: []string{"*"}, Resources: []string{resource}},
	}}
}

// admissionPolicies returns the checks that CRD validation rules cannot express: they depend on the cluster's networks or on the requesting user.
func admissionPolicies() []provider.Guard {
	all := []provider.Guard{netNamespacePolicy(), hostSubnetPolicy(), hostBits(), endpoints(), endpointSlices()}
	for i := range all {
		all[i].Name, all[i].Network = "sdn-"+all[i].Name, operatorv1.NetworkTypeOpenShiftSDN
	}
	return all
}

// egressIPs rejects egress IP addresses that belong to pods or Services.
var egressIPs = provider.GuardCheck{
	Valid:   "!object.?egressIPs.orValue([]).exists(a, " + inside("a") + ")",
	Message: rules.EgressIPNetwork.MessageCEL("egressIPs: %s ", "object.egressIPs.filter(a, "+inside("a")+").join(', ')", networks),
}

// netNamespacePolicy allows only the controller to set VNIDs.
func netNamespacePolicy() provider.Guard {
	return provider.Guard{
		Name: "netnamespaces", Rules: []admissionv1.NamedRuleWithOperations{writes(sdnv1.GroupVersion.Group, "netnamespaces")},
		Checks: []provider.GuardCheck{{
			Valid: byTheController + " || oldObject != null && object.netid == oldObject.netid",
			Message: "oldObject == null ? " + rules.NetNamespaceCreated.MessageCEL("netid: ", "object.metadata.name") + " : " +
				rules.NetNamespaceVNID.MessageCEL("netid: %d ", "object.netid", "oldObject.netid", "'"+sdnv1.AnnotationChangeNetwork+"'"),
		}, egressIPs},
	}
}

// hostSubnetPolicy requires blocks inside the pools, and allows only the controller to set automatic egress IP addresses.
func hostSubnetPolicy() provider.Guard {
	const (
		subnet = "object.?subnet.orValue('')"
		assign = "'" + sdnv1.AnnotationAssignSubnet + "'"
	)
	return provider.Guard{
		Name: "hostsubnets", Rules: []admissionv1.NamedRuleWithOperations{writes(sdnv1.GroupVersion.Group, "hostsubnets")},
		Variables: []admissionv1.Variable{
			{Name: "before", Expression: "oldObject == null ? [] : oldObject.?egressIPs.orValue([])"},
			{Name: "after", Expression: "object.?egressIPs.orValue([])"},
			{Name: "automatic", Expression: "object.?egressCIDRs.orValue([]).size() > 0 && (oldObject != null && oldObject.?egressCIDRs.orValue([]).size() > 0 || variables.after.size() > 0)"},
		},
		Checks: []provider.GuardCheck{{
			Valid:   fmt.Sprintf("!isCIDR(%[1]s) || variables.pools.exists(p, cidr(p).containsCIDR(%[1]s))", subnet),
			Message: rules.HostSubnetPools.MessageCEL("subnet: %s ", "object.subnet", "variables.pools.join(', ')", assign),
		}, {
			Valid:   fmt.Sprintf("%s != '' || object.metadata.?annotations[?%q].orValue('') == 'true'", subnet, sdnv1.AnnotationAssignSubnet),
			Message: rules.HostSubnetMissing.MessageCEL("subnet: ", "variables.pools.join(', ')", assign),
		}, {
			Valid:   "!(" + inside("object.hostIP") + ")",
			Message: rules.HostSubnetHostIP.MessageCEL("hostIP: %s ", "object.hostIP", networks),
		}, {
			Valid:   byTheController + " || !variables.automatic || variables.before == variables.after",
			Message: rules.HostSubnetEgressIPs.MessageCEL("egressIPs: %s ", "variables.after.join(', ')"),
		}, egressIPs},
	}
}

// hostBits warns about CIDRs in the notation of old manifests.
func hostBits() provider.Guard {
	// The effective CIDR of each rule: old manifests have 0.0.0.0/32 for all addresses.
	const meant = "(s == '0.0.0.0/32' ? '0.0.0.0/0' : string(cidr(s).masked()))"
	return provider.Guard{
		Name: "egressnetworkpolicies", Warn: true, Rules: []admissionv1.NamedRuleWithOperations{writes(sdnv1.GroupVersion.Group, "egressnetworkpolicies")},
		Variables: []admissionv1.Variable{{Name: "odd", Expression: "object.spec.egress.map(r, r.to.?cidrSelector.orValue('')).filter(s, isCIDR(s) && s != " + meant + ")"}},
		Checks: []provider.GuardCheck{{
			Valid:   "variables.odd.size() == 0",
			Message: rules.EgressNetworkPolicyBits.MessageCEL("spec.egress[].to.cidrSelector: ", "variables.odd.map(s, '%s is read as %s'.format([s, "+meant+"])).join(', ')"),
		}},
	}
}

// restricted matches requests of users other than Kubernetes' own controllers that lack the permission to write addresses of pods and Services. The permission
// is OpenShift's subresource "restricted", which cluster administrators and OpenShift's controllers have.
func restricted(group, resource string) []admissionv1.MatchCondition {
	return []admissionv1.MatchCondition{{
		Name:       "not-kubernetes-itself",
		Expression: `!request.userInfo.username.startsWith("system:serviceaccount:kube-system:") && !(request.userInfo.username in ["system:kube-controller-manager", "system:apiserver"])`,
	}, {Name: "restricted", Expression: fmt.Sprintf(
		"!authorizer.group(%q).resource(%q).subresource('restricted').namespace(request.namespace).check('create').allowed()", group, resource)}}
}

// endpointCheck rejects newly added addresses of pods and Services: a NodePort with an endpoint in another tenant would bypass the isolation of both tenants.
func endpointCheck(resource string) provider.GuardCheck {
	return provider.GuardCheck{
		Valid:   "variables.added.size() == 0",
		Message: rules.EndpointsRestricted.MessageCEL("%s ", "variables.added.join(', ')", networks, "'"+resource+"'"),
	}
}

func endpoints() provider.Guard {
	return addresses("", "endpoints", "(%[1]s == null ? [] : %[1]s.?subsets.orValue([]).map(s, (s.?addresses.orValue([]) + s.?notReadyAddresses.orValue([])).map(a, a.ip)))")
}

func endpointSlices() provider.Guard {
	return addresses("discovery.k8s.io", "endpointslices", "(%[1]s == null ? [] : %[1]s.?endpoints.orValue([]).map(e, e.addresses))")
}

// addresses refuses a write that adds addresses of the pod or Service networks to a resource. of is the CEL expression for the lists of
// addresses of an object, with the object as its argument.
func addresses(group, resource, of string) provider.Guard {
	return provider.Guard{
		Name: resource, Rules: []admissionv1.NamedRuleWithOperations{writes(group, resource)}, Conditions: restricted(group, resource),
		Variables: []admissionv1.Variable{
			{Name: "before", Expression: fmt.Sprintf(of, "oldObject")},
			{Name: "after", Expression: fmt.Sprintf(of, "object")},
			{Name: "added", Expression: "variables.after.map(s, s.filter(a, " + inside("a") + " && !variables.before.exists(b, a in b))).filter(s, s.size() > 0).map(s, s.join(', '))"},
		},
		Checks: []provider.GuardCheck{endpointCheck(resource)},
	}
}
