package ovnkubernetes

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/cluster-network-operator/cno/providers/ovnkubernetes/topology"
)

// datapathTrace is the path of a packet through one logical switch or router.
type datapathTrace struct {
	name, inport, outport string
	flows                 []logicalFlow
	// output is the port through which the packet leaves; empty if it is dropped.
	output string
}

// logicalFlow is a flow that matched the packet.
type logicalFlow struct {
	stage    string
	match    string
	priority int
	uuid     string
	actions  []string
}

var (
	datapathLine = regexp.MustCompile(`^\s*(ingress|egress)\(dp="([^"]*)", inport="([^"]*)"(?:, outport="([^"]*)")?\)`)
	flowLine     = regexp.MustCompile(`^\s*\d+\. (\S+)(?: \([^)]*\))?: (.*), priority (\d+), uuid ([0-9a-f]+)$`)
	backendsText = regexp.MustCompile(`ct_lb(?:_mark)?\(backends=([^);]*)`)
	outputLine   = regexp.MustCompile(`/\* output to "([^"]*)", type "[^"]*" \*/`)
)

// parseTrace parses the output of ovn-trace --detailed: a heading for each pipeline of a datapath, a line for each flow, and its actions below it.
func parseTrace(text string) []datapathTrace {
	var out []datapathTrace
	for line := range strings.Lines(text) {
		line = strings.TrimRight(line, "\n")
		if m := datapathLine.FindStringSubmatch(line); m != nil {
			if n := len(out); m[1] == "ingress" || n == 0 || out[n-1].name != m[2] {
				out = append(out, datapathTrace{name: m[2], inport: m[3]})
			}
			out[len(out)-1].outport = m[4]
			continue
		}
		if len(out) == 0 {
			continue
		}
		d := &out[len(out)-1]
		switch m := flowLine.FindStringSubmatch(line); {
		case m != nil:
			priority, err := strconv.Atoi(m[3])
			if err != nil {
				continue // no priority has so many digits
			}
			d.flows = append(d.flows, logicalFlow{stage: m[1], match: m[2], priority: priority, uuid: m[4]})
		case outputLine.MatchString(line):
			d.output = outputLine.FindStringSubmatch(line)[1]
		case len(d.flows) > 0 && strings.HasPrefix(line, "    ") && !strings.Contains(line, "----"):
			last := &d.flows[len(d.flows)-1]
			last.actions = append(last.actions, strings.TrimSpace(line))
		}
	}
	return out
}

func (d datapathTrace) where() string {
	if d.name == topology.ClusterRouter {
		return "router " + d.name
	}
	return "switch " + d.name
}

// passage describes the ports through which the packet enters and leaves.
func (d datapathTrace) passage() string {
	switch {
	case d.output != "":
		return fmt.Sprintf("from port %s to port %s", d.inport, d.output)
	case d.outport != "":
		return fmt.Sprintf("from port %s, on the way to port %s, the packet is dropped", d.inport, d.outport)
	}
	return fmt.Sprintf("from port %s the packet is dropped", d.inport)
}

// reject reports whether the packet was rejected because a load balancer has no endpoint.
func (d datapathTrace) reject() bool {
	return slices.ContainsFunc(d.flows, func(l logicalFlow) bool {
		return strings.HasPrefix(l.stage, "ls_in_lb") && slices.ContainsFunc(l.actions, func(a string) bool { return strings.Contains(a, "reject") })
	})
}

// balancing returns the flow that translates the address of a Service, and its endpoints.
func (d datapathTrace) balancing() (logicalFlow, []string) {
	for _, l := range d.flows {
		for _, a := range l.actions {
			if m := backendsText.FindStringSubmatch(a); m != nil {
				return l, strings.Split(m[1], ",")
			}
		}
	}
	return logicalFlow{}, nil
}

// Priorities of flows of access rules: OVN adds rulePriority to those of the rules. Flows from trackedPriority on are for established connections.
const (
	rulePriority    = 1000
	trackedPriority = 65532
)

// isRule reports whether the flow belongs to an access rule.
func (l logicalFlow) isRule() bool {
	return l.priority > rulePriority && l.priority < trackedPriority && (l.stage == "ls_in_acl" || l.stage == "ls_in_acl_after_lb" || l.stage == "ls_out_acl")
}

// decides reports whether the flow is relevant for this packet, rather than for every packet.
func (l logicalFlow) decides() bool {
	switch {
	case l.isRule():
		return true
	case slices.Contains(l.actions, "drop;"), slices.ContainsFunc(l.actions, func(a string) bool {
		return strings.Contains(a, "ct_lb_mark(") || strings.Contains(a, "ct_lb(") || strings.Contains(a, "reject")
	}):
		return true
	case l.stage == "lr_in_ip_routing", l.stage == "ls_in_l2_lkup":
		return true
	}
	return l.stage == "lr_in_policy" && l.priority > 0
}

func (l logicalFlow) String() string {
	return fmt.Sprintf("%s: %s, priority %d: %s", l.stage, l.match, l.priority, strings.Join(l.actions, " "))
}
