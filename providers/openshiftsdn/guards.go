package openshiftsdn

import (
	"fmt"

	admissionv1 "k8s.io/api/admissionregistration/v1"

	operatorv1 "github.com/cluster-network-operator/cno/api/operator/v1"
	sdnv1 "github.com/cluster-network-operator/cno/api/sdn/v1"
	"github.com/cluster-network-operator/cno/internal/provider"
	"github.com/cluster-network-operator/cno/providers/openshiftsdn/agentconfig"
)

// The rules of admission policies.
const (
	ruleVNID        = "netnamespace-netid"
	ruleEgressIP    = "egress-ip-network"
	ruleSubnet      = "hostsubnet-pools"
	ruleNoSubnet    = "hostsubnet-subnet"
	ruleHostIP      = "hostsubnet-host-ip-network"
	ruleAutomatic   = "hostsubnet-egress-ips"
	ruleHostBits    = "egressnetworkpolicy-host-bits"
	ruleUnserved    = "egress-ip-unserved"
	ruleEndpoints   = "endpoints-restricted"
	controllerUser  = "system:serviceaccount:" + agentconfig.Namespace + ":" + agentconfig.Controller
	byTheController = `request.userInfo.username == "` + controllerUser + `"`
)

// inside is a CEL expression for whether an expression is an address of pods or Services.
func inside(address string) string {
	return fmt.Sprintf("isIP(%[1]s) && (variables.pools + variables.services).exists(n, cidr(n).containsIP(%[1]s))", address)
}

// writes is a request that creates or updates objects of a resource.
func writes(group, resource string) admissionv1.NamedRuleWithOperations {
	return admissionv1.NamedRuleWithOperations{RuleWithOperations: admissionv1.RuleWithOperations{
		Operations: []admissionv1.OperationType{admissionv1.Create, admissionv1.Update},
		Rule:       admissionv1.Rule{APIGroups: []string{group}, APIVersions: []string{"*"}, Resources: []string{resource}},
	}}
}

// guards are what the API server refuses beside the rules of the CRDs: what depends on the networks in use, or on who writes.
func guards() []provider.Guard {
	all := []provider.Guard{guardNetNamespaces(), guardHostSubnets(), egressIPsUnserved(), hostBits(), endpoints(), endpointSlices()}
	for i := range all {
		all[i].Name, all[i].Network = "sdn-"+all[i].Name, operatorv1.NetworkTypeOpenShiftSDN
	}
	return all
}

// egressIPs is the check that no egress IP address is one of pods or Services.
var egressIPs = provider.GuardCheck{
	Rule: ruleEgressIP, Valid: "!object.?egressIPs.orValue([]).exists(a, " + inside("a") + ")",
	Message: "'egressIPs: ' + object.egressIPs.filter(a, " + inside("a") + ").join(', ') + ' is inside the network of pods or Services (' + (variables.pools + variables.services).join(', ') + '); choose an address of the network of the nodes'",
}

// guardNetNamespaces keeps VNIDs to the controller.
func guardNetNamespaces() provider.Guard {
	return provider.Guard{
		Name: "netnamespaces", Rules: []admissionv1.NamedRuleWithOperations{writes(sdnv1.GroupVersion.Group, "netnamespaces")},
		Checks: []provider.GuardCheck{{
			Rule: ruleVNID, Valid: byTheController + " || oldObject != null && object.netid == oldObject.netid",
			Message: `oldObject == null ? 'netid: a NetNamespace is created for each Namespace by the controller, which chooses its VNID; create the Namespace ' + object.metadata.name` +
				fmt.Sprintf(` : 'netid: ' + string(object.netid) + ' is not ' + string(oldObject.netid) + ', and only the controller changes a VNID; use cno pod-network, or annotate the NetNamespace with %s'`, sdnv1.AnnotationChangeNetwork),
		}, egressIPs},
	}
}

// guardHostSubnets keeps blocks inside the pools, and automatic egress IP addresses to the controller.
func guardHostSubnets() provider.Guard {
	const subnet = "object.?subnet.orValue('')"
	return provider.Guard{
		Name: "hostsubnets", Rules: []admissionv1.NamedRuleWithOperations{writes(sdnv1.GroupVersion.Group, "hostsubnets")},
		Variables: []admissionv1.Variable{
			{Name: "before", Expression: "oldObject == null ? [] : oldObject.?egressIPs.orValue([])"},
			{Name: "after", Expression: "object.?egressIPs.orValue([])"},
			{Name: "automatic", Expression: "object.?egressCIDRs.orValue([]).size() > 0 && (oldObject != null && oldObject.?egressCIDRs.orValue([]).size() > 0 || variables.after.size() > 0)"},
		},
		Checks: []provider.GuardCheck{{
			Rule: ruleSubnet, Valid: fmt.Sprintf("!isCIDR(%[1]s) || variables.pools.exists(p, cidr(p).containsCIDR(%[1]s))", subnet),
			Message: "'subnet: ' + object.subnet + ' is outside the cluster network (' + variables.pools.join(', ') + '); choose a block inside it, or leave it out with the annotation " + sdnv1.AnnotationAssignSubnet + "=true'",
		}, {
			Rule: ruleNoSubnet, Valid: fmt.Sprintf("%s != '' || object.metadata.?annotations[?%q].orValue('') == 'true'", subnet, sdnv1.AnnotationAssignSubnet),
			Message: "'subnet: is missing; write a block of the cluster network (' + variables.pools.join(', ') + '), or add the annotation " + sdnv1.AnnotationAssignSubnet + "=true to get one'",
		}, {
			Rule: ruleHostIP, Valid: "!(" + inside("object.hostIP") + ")",
			Message: "'hostIP: ' + object.hostIP + ' is inside the network of pods or Services (' + (variables.pools + variables.services).join(', ') + '); write the address of the host in the network of the nodes'",
		}, {
			Rule: ruleAutomatic, Valid: byTheController + " || !variables.automatic || variables.before == variables.after",
			Message: "'egressIPs: ' + variables.after.join(', ') + ' beside egressCIDRs: the controller assigns addresses of egressCIDRs, and replaces others; leave egressIPs as they are, or remove egressCIDRs'",
		}, egressIPs},
	}
}

// egressIPsUnserved warns of what nodes do not do yet: the controller assigns the addresses, and no node sends with them.
func egressIPsUnserved() provider.Guard {
	return provider.Guard{
		Name: "egressips", Warn: true, Rules: []admissionv1.NamedRuleWithOperations{writes(sdnv1.GroupVersion.Group, "netnamespaces")},
		Checks: []provider.GuardCheck{{
			Rule: ruleUnserved, Valid: "object.?egressIPs.orValue([]).size() == 0",
			Message: "'egressIPs: ' + object.egressIPs.join(', ') + ': no node sends with egress IP addresses yet, so that pods of ' + object.metadata.name + ' reach nothing outside the cluster while egressIPs is set; remove it'",
		}},
	}
}

// hostBits warns of networks that are written as in old manifests.
func hostBits() provider.Guard {
	// Of each rule the network that is meant: 0.0.0.0/32 was everything.
	const meant = "(s == '0.0.0.0/32' ? '0.0.0.0/0' : string(cidr(s).masked()))"
	return provider.Guard{
		Name: "egressnetworkpolicies", Warn: true, Rules: []admissionv1.NamedRuleWithOperations{writes(sdnv1.GroupVersion.Group, "egressnetworkpolicies")},
		Variables: []admissionv1.Variable{{Name: "odd", Expression: "object.spec.egress.map(r, r.to.?cidrSelector.orValue('')).filter(s, isCIDR(s) && s != " + meant + ")"}},
		Checks: []provider.GuardCheck{{
			Rule: ruleHostBits, Valid: "variables.odd.size() == 0",
			Message: "'spec.egress[].to.cidrSelector: ' + variables.odd.map(s, s + ' is read as ' + " + meant + ").join(', ') + '; write it so'",
		}},
	}
}

// restricted is the condition that the writer is not Kubernetes itself, and may not write addresses of pods and Services by hand. OpenShift's
// permission for it is one that administrators of the cluster have, and OpenShift's controllers; of Kubernetes' own only some have it.
func restricted(group, resource string) []admissionv1.MatchCondition {
	return []admissionv1.MatchCondition{{
		Name:       "not-kubernetes-itself",
		Expression: `!request.userInfo.username.startsWith("system:serviceaccount:kube-system:") && !(request.userInfo.username in ["system:kube-controller-manager", "system:apiserver"])`,
	}, {Name: "restricted", Expression: fmt.Sprintf(
		"!authorizer.group(%q).resource(%q).subresource('restricted').namespace(request.namespace).check('create').allowed()", group, resource)}}
}

// endpointCheck refuses addresses that were not there before: with an endpoint of another tenant's pod, a NodePort would lead to it, past the
// isolation of both.
func endpointCheck(resource string) provider.GuardCheck {
	return provider.GuardCheck{
		Rule: ruleEndpoints, Valid: "variables.added.size() == 0",
		Message: fmt.Sprintf("variables.added.join(', ') + ' is inside the network of pods or Services (' + (variables.pools + variables.services).join(', ') + "+
			"'), and only those write such endpoints who may create %s/restricted; use a selector in the Service'", resource),
	}
}

func endpoints() provider.Guard {
	const of = "(%[1]s == null ? [] : %[1]s.?subsets.orValue([]).map(s, (s.?addresses.orValue([]) + s.?notReadyAddresses.orValue([])).map(a, a.ip)))"
	return provider.Guard{
		Name: "endpoints", Rules: []admissionv1.NamedRuleWithOperations{writes("", "endpoints")}, Conditions: restricted("", "endpoints"),
		Variables: []admissionv1.Variable{
			{Name: "before", Expression: fmt.Sprintf(of, "oldObject")},
			{Name: "after", Expression: fmt.Sprintf(of, "object")},
			{Name: "added", Expression: "variables.after.map(s, s.filter(a, " + inside("a") + " && !variables.before.exists(b, a in b))).filter(s, s.size() > 0).map(s, s.join(', '))"},
		},
		Checks: []provider.GuardCheck{endpointCheck("endpoints")},
	}
}

func endpointSlices() provider.Guard {
	const of = "(%[1]s == null ? [] : %[1]s.?endpoints.orValue([]).map(e, e.addresses))"
	return provider.Guard{
		Name: "endpointslices", Rules: []admissionv1.NamedRuleWithOperations{writes("discovery.k8s.io", "endpointslices")}, Conditions: restricted("discovery.k8s.io", "endpointslices"),
		Variables: []admissionv1.Variable{
			{Name: "before", Expression: fmt.Sprintf(of, "oldObject")},
			{Name: "after", Expression: fmt.Sprintf(of, "object")},
			{Name: "added", Expression: "variables.after.map(s, s.filter(a, " + inside("a") + " && !variables.before.exists(b, a in b))).filter(s, s.size() > 0).map(s, s.join(', '))"},
		},
		Checks: []provider.GuardCheck{endpointCheck("endpointslices")},
	}
}
