package netpolicy

import (
	"fmt"
	"strings"
)

// The names of directions.
const (
	Ingress = "ingress"
	Egress  = "egress"
)

// RuleName names a rule of a policy for diagnosis, flows and logs: "NetworkPolicy shop/only-web, ingress rule 2". The index starts at 0,
// as in spec.ingress[2].
func RuleName(policy ID, direction string, index int) string {
	return fmt.Sprintf("NetworkPolicy %s, %s rule %d", policy, direction, index)
}

// Denied returns the clause that no rule of the policies that isolate a pod allows a connection.
func Denied(policies []ID, direction string) string {
	names := make([]string, len(policies))
	for i, id := range policies {
		names[i] = id.String()
	}
	return fmt.Sprintf("no %s rule of NetworkPolicy %s allows it", direction, strings.Join(names, ", "))
}

// Explain returns the cause of a decision as a clause: the rule that allows, or the policies that isolate.
func (d DirectionDecision) Explain(direction string) string {
	switch {
	case len(d.Policies) == 0:
		return fmt.Sprintf("no NetworkPolicy isolates the pod for %s", direction)
	case d.By != ID{}:
		return RuleName(d.By, direction, d.Rule) + ", allows it"
	}
	return Denied(d.Policies, direction)
}

// Allows reports whether the direction lets the connection pass.
func (d DirectionDecision) Allows() bool { return d.allows() }

// Near returns a sentence for each rule of the policies that isolate a pod of which only the peers or only the ports match a
// connection.
func (r Result) Near(c Connection, direction string) []string {
	var out []string
	pod, peer, noun := c.To.Pod, c.From, "source"
	if direction == Egress {
		pod, peer, noun = c.From.Pod, c.To, "destination"
	}
	for _, p := range r.Policies {
		rules := p.Ingress
		if direction == Egress {
			rules = p.Egress
		}
		if rules == nil || !p.selects(pod) {
			continue
		}
		for _, rule := range rules.Rules {
			port := Rule{Ports: rule.Ports}.matches(peer, c)
			switch {
			case rule.Peers.Includes(peer) && !port:
				out = append(out, fmt.Sprintf("%s: has the %s, and not %s port %d", RuleName(p.ID, direction, rule.Index), noun, c.Protocol, c.Port))
			case port && !rule.Peers.Includes(peer):
				out = append(out, fmt.Sprintf("%s: has %s port %d, and not the %s", RuleName(p.ID, direction, rule.Index), c.Protocol, c.Port, noun))
			}
		}
	}
	return out
}
