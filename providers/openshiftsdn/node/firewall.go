package node

import (
	"cmp"
	"fmt"
	"net/netip"
	"slices"

	sdnv1 "github.com/cluster-network-operator/cno/api/sdn/v1"
	"github.com/cluster-network-operator/cno/internal/objectevents"
	"github.com/cluster-network-operator/cno/providers/openshiftsdn/egressfirewall"
	"github.com/cluster-network-operator/cno/providers/openshiftsdn/flows"
)

// firewalls adds the EgressNetworkPolicies by VNID. Conflicting ones drop all egress traffic of their VNID.
func (d *desired) firewalls(s snapshot) {
	sharing := map[uint32][]string{}
	for _, n := range s.NetNamespaces {
		if id, used := d.Input.VNIDs[n.Name]; used {
			sharing[id] = append(sharing[id], n.Name)
		}
	}
	policies := map[uint32][]*sdnv1.EgressNetworkPolicy{}
	for _, p := range s.Firewalls {
		if id, used := d.Input.VNIDs[p.Namespace]; used {
			policies[id] = append(policies[id], p)
		}
	}
	for id, of := range policies {
		slices.SortFunc(of, func(a, b *sdnv1.EgressNetworkPolicy) int {
			return cmp.Or(cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name))
		})
		f := flows.Firewall{VNID: id, Name: firewallName(of[0])}
		switch {
		case id == flows.Global: // the flows report it
		case len(sharing[id]) > 1:
			f.Closed = fmt.Sprintf("%d namespaces share VNID %d, and an egress firewall needs one of its own", len(sharing[id]), id)
			d.problem("%s: everything that leaves the cluster is dropped: %s", f.Name, f.Closed)
		case len(of) > 1:
			f.Closed = fmt.Sprintf("the namespace has %d EgressNetworkPolicies and may have one", len(of))
			d.problem("%s: everything that leaves the cluster is dropped: %s", f.Name, f.Closed)
		default:
			f.Rules = d.firewallRules(s, of[0])
		}
		d.Input.Firewalls = append(d.Input.Firewalls, f)
	}
	slices.Sort(d.Names)
	d.Names = slices.Compact(d.Names)
}

func firewallName(p *sdnv1.EgressNetworkPolicy) string {
	return fmt.Sprintf("EgressNetworkPolicy %s/%s", p.Namespace, p.Name)
}

// reasonUnresolved: a DNS name in an EgressNetworkPolicy has no address.
const reasonUnresolved = "EgressNetworkPolicyNameUnresolved"

// attached reports whether the node has pods of a namespace.
func (s snapshot) attached(namespace string) bool {
	return slices.ContainsFunc(s.Local, func(l local) bool { return l.Namespace == namespace })
}

// firewallRules returns the rules of a policy, with the addresses of their names.
func (d *desired) firewallRules(s snapshot, p *sdnv1.EgressNetworkPolicy) []flows.FirewallRule {
	rules, faults := egressfirewall.Read(p)
	for _, f := range faults {
		d.problem("%s: %s", firewallName(p), f)
	}
	var out []flows.FirewallRule
	for i, rule := range rules {
		r := flows.FirewallRule{Deny: rule.Deny}
		switch {
		case rule.Network.IsValid():
			r.Destinations = []netip.Prefix{rule.Network}
		case rule.Name != "":
			d.Names = append(d.Names, rule.Name)
			if s.Missing != nil && s.Missing(rule.Name) && s.attached(p.Namespace) {
				d.Unresolved = append(d.Unresolved, objectevents.Problem{Object: p, Reason: reasonUnresolved, Message: fmt.Sprintf(
					"spec.egress[%d].to.dnsName: the name servers of node %s give no IPv4 address for %s; the rule matches nothing there until they do", i, s.Node, rule.Name)})
			}
			if s.Resolve != nil {
				for _, a := range s.Resolve(rule.Name) {
					r.Destinations = append(r.Destinations, netip.PrefixFrom(a, a.BitLen()))
				}
			}
		}
		out = append(out, r)
	}
	return out
}
