package pipeline

import (
	"github.com/cluster-network-operator/cno/api/rules"
	"github.com/cluster-network-operator/cno/internal/netaddr"
)

// RulePublicAddresses is the rule of advice about pools of public addresses, as Refusal.Rule names it.
const RulePublicAddresses = "public-addresses"

// advise reports pools of addresses that belong to hosts on the internet. Pools that are applied already are not mentioned again.
func (s *state) advise(p pools) Refusals {
	if a := s.in.Applied; a != nil && samePools(a, s.result.Spec) && sameServices(a, s.result.Spec) {
		return nil
	}
	var found Refusals
	for _, one := range p.all() {
		if one.err != nil || netaddr.Special(one.prefix) != "" || netaddr.Private(one.prefix) {
			continue
		}
		found = append(found, Refusal{Field: one.cidrPath.String(), New: one.text, Rule: RulePublicAddresses,
			Message: rules.PublicAddresses.Detail(one.text)})
	}
	return found
}
