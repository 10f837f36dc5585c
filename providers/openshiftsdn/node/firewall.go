package node

import (
	"cmp"
	"fmt"
	"net/netip"
	"slices"

	sdnv1 "github.com/cluster-network-operator/cno/api/sdn/v1"
	"github.com/cluster-network-operator/cno/providers/openshiftsdn/flows"
)

// firewalls are the EgressNetworkPolicies by VNID. Those that contradict others drop everything of their VNID.
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

// firewallRules reads the rules. One that cannot be understood denies if that is what it may have meant, and matches nothing otherwise.
func (d *desired) firewallRules(s snapshot, p *sdnv1.EgressNetworkPolicy) []flows.FirewallRule {
	var out []flows.FirewallRule
	for i, rule := range p.Spec.Egress {
		r := flows.FirewallRule{Deny: rule.Type != sdnv1.EgressNetworkPolicyRuleAllow}
		at := fmt.Sprintf("%s: spec.egress[%d]", firewallName(p), i)
		if r.Deny && rule.Type != sdnv1.EgressNetworkPolicyRuleDeny {
			d.problem("%s.type: %q is neither Allow nor Deny; it counts as Deny", at, rule.Type)
		}
		switch to := rule.To; {
		case (to.CIDRSelector == "") == (to.DNSName == ""):
			d.problem("%s.to: needs one of cidrSelector and dnsName; the rule matches nothing", at)
		case to.DNSName != "":
			d.Names = append(d.Names, to.DNSName)
			if s.Resolve != nil {
				for _, a := range s.Resolve(to.DNSName) {
					r.Destinations = append(r.Destinations, netip.PrefixFrom(a, a.BitLen()))
				}
			}
		default:
			if cidr, err := firewallNetwork(to.CIDRSelector); err != nil {
				d.problem("%s.to.cidrSelector: %v; the rule matches nothing", at, err)
			} else {
				r.Destinations = []netip.Prefix{cidr}
			}
		}
		out = append(out, r)
	}
	return out
}

// firewallNetwork reads the network of a rule. Old objects have 0.0.0.0/32 for everything.
func firewallNetwork(text string) (netip.Prefix, error) {
	p, err := netip.ParsePrefix(text)
	if err != nil || !p.Addr().Is4() {
		return p, fmt.Errorf("%q is not an IPv4 network", text)
	}
	if p.Addr().IsUnspecified() && p.Bits() == 32 {
		p = netip.PrefixFrom(p.Addr(), 0)
	}
	return p.Masked(), nil
}
