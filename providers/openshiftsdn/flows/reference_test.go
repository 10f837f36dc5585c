package flows_test

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/cluster-network-operator/cno/internal/testing/golden"
	sdn "github.com/cluster-network-operator/cno/providers/openshiftsdn/flows"
)

// TestReference: the document is that of the code.
func TestReference(t *testing.T) {
	golden.Compare(t, "../../../docs/providers/openshift-sdn-flows.md", []byte(reference()))
}

// TestReferenceHasAllFlows: each flow has a table and a priority of the document, and each of these is that of some flow.
func TestReferenceHasAllFlows(t *testing.T) {
	place := regexp.MustCompile(`table=(\d+),priority=(\d+)`)
	used := map[string]bool{}
	for _, mode := range modes {
		for line := range strings.Lines(desired(t, full(mode)).Flows.String()) {
			used[place.FindString(line)] = true
		}
	}
	documented := map[string]bool{}
	for _, r := range sdn.Rules {
		documented[fmt.Sprintf("table=%d,priority=%d", r.Table, r.Priority)] = true
	}
	for p := range documented {
		if !used[p] {
			t.Errorf("%s is documented, and no flow has it", p)
		}
	}
	for p := range used {
		if !documented[p] && !strings.HasPrefix(p, "table=100,priority=1999") { // further rules of firewalls
			t.Errorf("a flow has %s, which is not documented", p)
		}
	}
}

// reference returns the documentation of tables, registers and rules, as Markdown.
func reference() string {
	var b strings.Builder
	b.WriteString(`# Flows of OpenShiftSDN

What bridge ` + "`br0`" + ` of a node does with a packet. Port 1 (` + "`vxlan0`" + `) leads to the other nodes, port 2 (` + "`tun0`" + `) to the node's kernel; all others are those of pods.
A packet begins in table 0. In each table the flow with the highest priority that matches decides. ` + "`ovs-ofctl dump-flows`" + ` shows packet counters for each; a
flow without actions drops. This page is generated from the package ` + "`providers/openshiftsdn/flows`" + `.

## Registers

| register | content |
|---|---|
`)
	for _, r := range sdn.Registers {
		fmt.Fprintf(&b, "| reg%d | %s |\n", r.Number, r.Text)
	}
	b.WriteString("\n## Tables\n")
	for _, t := range sdn.Tables {
		fmt.Fprintf(&b, "\n### Table %d\n\n%s\n\n| priority | flows |\n|---|---|\n", t.Number, t.Text)
		rules := slices.DeleteFunc(slices.Clone(sdn.Rules), func(r *sdn.Rule) bool { return r.Table != t.Number })
		slices.SortStableFunc(rules, func(x, y *sdn.Rule) int { return -cmp.Compare(x.Priority, y.Priority) })
		for _, r := range rules {
			fmt.Fprintf(&b, "| %d | %s |\n", r.Priority, r.Text)
		}
	}
	return b.String()
}
