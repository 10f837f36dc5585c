// Package egressfirewall reads the rules of EgressNetworkPolicies, including invalid ones that were stored before the API server validated them. It is pure.
package egressfirewall

import (
	"fmt"
	"net/netip"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation"

	sdnv1 "github.com/cluster-network-operator/cno/api/sdn/v1"
)

// MaxRules is the maximum number of rules in a policy.
const MaxRules = 1000

// Rule is one rule. Without Network and Name it matches nothing.
type Rule struct {
	Deny    bool
	Network netip.Prefix
	Name    string
}

// Read returns the rules of a policy in order, and a sentence for each error with its consequence. An invalid rule denies if that may have been the intent,
// and otherwise matches nothing.
func Read(p *sdnv1.EgressNetworkPolicy) (rules []Rule, faults []string) {
	fault := func(format string, args ...any) { faults = append(faults, fmt.Sprintf(format, args...)) }
	if n := len(p.Spec.Egress); n > MaxRules {
		fault("spec.egress: has %d rules and may have %d; all are applied, remove some before it is changed", n, MaxRules)
	}
	for i, rule := range p.Spec.Egress {
		r := Rule{Deny: rule.Type != sdnv1.EgressNetworkPolicyRuleAllow}
		at := fmt.Sprintf("spec.egress[%d]", i)
		if r.Deny && rule.Type != sdnv1.EgressNetworkPolicyRuleDeny {
			fault("%s.type: %q is neither Allow nor Deny; it counts as Deny", at, rule.Type)
		}
		switch to := rule.To; {
		case (to.CIDRSelector == "") == (to.DNSName == ""):
			fault("%s.to: needs one of cidrSelector and dnsName; the rule matches nothing", at)
		case to.DNSName != "":
			if len(validation.IsDNS1123Subdomain(strings.ToLower(strings.TrimSuffix(to.DNSName, ".")))) > 0 {
				fault("%s.to.dnsName: %q is not a DNS name; the rule matches nothing", at, to.DNSName)
			} else {
				r.Name = to.DNSName
			}
		default:
			network, err := readNetwork(to.CIDRSelector)
			if err != nil {
				fault("%s.to.cidrSelector: %v; the rule matches nothing", at, err)
			} else {
				r.Network = network
			}
		}
		rules = append(rules, r)
	}
	return rules, faults
}

// readNetwork parses the CIDR of a rule. Old objects have 0.0.0.0/32 for all addresses.
func readNetwork(text string) (netip.Prefix, error) {
	p, err := netip.ParsePrefix(text)
	if err != nil || !p.Addr().Is4() {
		return netip.Prefix{}, fmt.Errorf("%q is not an IPv4 network", text)
	}
	if p.Addr().IsUnspecified() && p.Bits() == 32 {
		p = netip.PrefixFrom(p.Addr(), 0)
	}
	return p.Masked(), nil
}
