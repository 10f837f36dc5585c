package flows

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// Reference returns the documentation of tables, registers and rules, as Markdown.
func Reference() string {
	var b strings.Builder
	b.WriteString(`# Flows of OpenShiftSDN

What bridge ` + "`br0`" + ` of a node does with a packet. Port 1 (` + "`vxlan0`" + `) leads to the other nodes, port 2 (` + "`tun0`" + `) to the node's kernel; all others are those of pods.
A packet begins in table 0. In each table the flow with the highest priority that matches decides. ` + "`ovs-ofctl dump-flows`" + ` shows packet counters for each; a
flow without actions drops. This page is generated from the package ` + "`providers/openshiftsdn/flows`" + `.

## Registers

| register | content |
|---|---|
`)
	for _, r := range Registers {
		fmt.Fprintf(&b, "| reg%d | %s |\n", r.Number, r.Text)
	}
	b.WriteString("\n## Tables\n")
	for _, t := range Tables {
		fmt.Fprintf(&b, "\n### Table %d\n\n%s\n\n| priority | flows |\n|---|---|\n", t.Number, t.Text)
		rules := slices.DeleteFunc(slices.Clone(Rules), func(r *Rule) bool { return r.Table != t.Number })
		slices.SortStableFunc(rules, func(x, y *Rule) int { return -cmp.Compare(x.Priority, y.Priority) })
		for _, r := range rules {
			fmt.Fprintf(&b, "| %d | %s |\n", r.Priority, r.Text)
		}
	}
	return b.String()
}
