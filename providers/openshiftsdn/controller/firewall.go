package controller

import (
	"cmp"
	"fmt"
	"slices"

	sdnv1 "github.com/cluster-network-operator/cno/api/sdn/v1"
	"github.com/cluster-network-operator/cno/internal/phrase"
	"github.com/cluster-network-operator/cno/providers/openshiftsdn/agentconfig"
	"github.com/cluster-network-operator/cno/providers/openshiftsdn/egressfirewall"
)

// reasonFirewall: an EgressNetworkPolicy is not applied.
const reasonFirewall = "EgressNetworkPolicyNotApplied"

// reasonFirewallInvalid: a rule of an EgressNetworkPolicy is invalid.
const reasonFirewallInvalid = "EgressNetworkPolicyInvalid"

// reasonUnsupported: the mode of the network does not support a setting of an object.
const reasonUnsupported = "NotSupportedInMode"

// firewallProblems returns the problems of EgressNetworkPolicies that are not applied as written.
func firewallProblems(mode agentconfig.Mode, policies []*sdnv1.EgressNetworkPolicy, namespaces []*sdnv1.NetNamespace) []problem {
	vnids, sharing, perNamespace := map[string]uint32{}, map[uint32]int{}, map[string]int{}
	for _, n := range namespaces {
		vnids[n.Name] = n.NetID
		sharing[n.NetID]++
	}
	for _, p := range policies {
		perNamespace[p.Namespace]++
	}
	var out []problem
	for _, p := range policies {
		add := func(reason, format string, args ...any) {
			out = append(out, problem{Object: p, Reason: reason, Message: fmt.Sprintf(format, args...)})
		}
		if _, faults := egressfirewall.Read(p); len(faults) > 0 {
			add(reasonFirewallInvalid, "%s", phrase.Clauses(faults, maxNamed))
		}
		vnid, known := vnids[p.Namespace]
		switch {
		case mode == agentconfig.Subnet:
			add(reasonUnsupported, "mode Subnet has no egress firewall: it is not applied")
		case perNamespace[p.Namespace] > 1:
			add(reasonFirewall, "namespace %s has %d EgressNetworkPolicies: all that its pods send outside of the cluster is dropped; delete all but one", p.Namespace, perNamespace[p.Namespace])
		case known && vnid == sdnv1.VNIDGlobal:
			add(reasonFirewall, "namespace %s is global (VNID 0): it is not applied; isolate the namespace, or delete this object", p.Namespace)
		case known && mode == agentconfig.Multitenant && sharing[vnid] > 1:
			add(reasonFirewall, "namespace %s shares VNID %d with others: all that their pods send outside of the cluster is dropped; isolate the namespace, or delete this object", p.Namespace, vnid)
		}
	}
	return out
}

// modeProblems returns the settings of objects that mode Subnet does not support.
func modeProblems(subnets []*sdnv1.HostSubnet, namespaces []*sdnv1.NetNamespace) []problem {
	var out []problem
	for _, s := range subnets {
		if len(s.EgressIPs)+len(s.EgressCIDRs) > 0 {
			out = append(out, problem{Object: s, Reason: reasonUnsupported, Message: "mode Subnet has no egress IPs: egressIPs and egressCIDRs are ignored"})
		}
	}
	for _, n := range namespaces {
		if len(n.EgressIPs) > 0 {
			out = append(out, problem{Object: n, Reason: reasonUnsupported, Message: "mode Subnet has no egress IPs: egressIPs are ignored"})
		}
		if n.Annotations[sdnv1.AnnotationMulticast] == "true" {
			out = append(out, problem{Object: n, Reason: reasonUnsupported, Message: "mode Subnet has no multicast: the annotation " + sdnv1.AnnotationMulticast + " is ignored"})
		}
	}
	slices.SortStableFunc(out, func(a, b problem) int { return cmp.Compare(a.Message, b.Message) })
	return out
}
