package node

import (
	"context"
	"fmt"
	"net/netip"
	"regexp"
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/cluster-network-operator/cno/internal/agent"
	"github.com/cluster-network-operator/cno/providers/openshiftsdn/agentconfig"
	"github.com/cluster-network-operator/cno/providers/openshiftsdn/egressip"
	"github.com/cluster-network-operator/cno/providers/openshiftsdn/flows"
)

const (
	causeRestored = "a third party changes the table repeatedly; the agent restores it every few seconds"
	wayOutTable   = "run nft monitor in the sdn pod of the node: it prints the name of the process that changes the table; stop that program"
)

// desiredTable is a desired nftables table.
type desiredTable struct {
	nftTable
	// managed has the last written table; topic has the problems of writing it.
	managed *managedTable
	topic   agent.Topic
	// owners maps words in rules and elements (addresses, marks, and names of chains) to the objects that they belong to.
	owners map[string]string
}

// desiredTables returns all desired tables.
func (d *daemon) desiredTables(s snapshot, want desired) ([]desiredTable, error) {
	own, err := ownSubnet(s)
	if err != nil {
		return nil, err
	}
	pods, addresses := map[string]string{}, []netip.Addr{}
	for _, l := range s.Local {
		pods[l.Address.String()] = "pod " + l.ID.String()
		addresses = append(addresses, l.Address)
	}
	all := []desiredTable{{desiredRules(d.Config, own.subnet, addresses).table(), &d.rules, topicRules, pods}}
	if d.userspace {
		all = append(all, desiredTable{underlayRules(d.Config, own.address), &d.translation, topicUnderlay, map[string]string{own.address.String(): "the tunnels of node " + d.Node}})
	}
	if d.outside != nil {
		all = append(all, desiredTable{outsideRules(want.Input), &d.outside.table, topicOutside, outsideOwners(want.Input, pods)})
		var held []egressip.Claim
		for _, c := range want.Claims {
			if id, ok := s.Serving[c.Address]; ok && id == c.VNID {
				held = append(held, c)
			}
		}
		slices.SortFunc(held, func(a, b egressip.Claim) int { return a.Address.Compare(b.Address) })
		r, owners := egressRules{d.Config, own.subnet, held, nodeAddresses(s)}, egressOwners(held, s, d.Config.MasqueradeBit)
		all = append(all, desiredTable{r.packets(), &d.egress.packet, topicEgress, owners}, desiredTable{r.marks(), &d.egress.marks, topicEgress, owners})
	}
	if u := d.unidler; u != nil && u.objects.synced() {
		all = append(all, desiredTable{idleRules(u.idled()), &u.table, topicIdling, serviceOwners(list[*corev1.Service](u.objects.services))})
	}
	return all, nil
}

// outsideOwners maps chains to policies, and addresses to pods.
func outsideOwners(in flows.Input, pods map[string]string) map[string]string {
	owners := map[string]string{}
	for address, pod := range pods {
		owners[address] = pod
	}
	for _, f := range firewallChains(in) {
		owners[f.name] = f.owner
	}
	allowed := policyChains(in)
	for _, p := range in.Policies {
		if c, exists := allowed[p.ID]; exists {
			owners[c.name] = "NetworkPolicy " + p.ID.String()
		}
	}
	for _, pod := range in.Pods {
		of := isolating(in, pod.ID)
		if len(of) == 0 {
			continue
		}
		var names []string
		for _, p := range of {
			names = append(names, "NetworkPolicy "+p.String())
		}
		owners[policyPrefix+nameOf(podRules(of, allowed))] = strings.Join(names, ", ")
	}
	return owners
}

// egressOwners maps addresses, hardware addresses and marks to egress IPs, and addresses to nodes.
func egressOwners(held []egressip.Claim, s snapshot, masqueradeBit int) map[string]string {
	owners := map[string]string{}
	for _, h := range s.HostSubnets {
		owners[h.HostIP] = "node " + h.Name
	}
	for _, c := range held {
		owner := fmt.Sprintf("egress IP %s of namespace %s", c.Address, c.Namespace)
		for _, word := range []string{c.Address.String(), flows.EgressMAC(c.VNID).String(), flows.DropMAC(c.VNID).String(), hex(egressip.Mark(c.Address, masqueradeBit))} {
			owners[word] = owner
		}
	}
	return owners
}

// serviceOwners maps addresses and node ports to Services.
func serviceOwners(services []*corev1.Service) map[string]string {
	owners := map[string]string{}
	for _, s := range services {
		name := fmt.Sprintf("Service %s/%s", s.Namespace, s.Name)
		for _, a := range slices.Concat(s.Spec.ClusterIPs, s.Spec.ExternalIPs) {
			owners[a] = name
		}
		for _, p := range s.Spec.Ports {
			if p.NodePort != 0 {
				owners[strconv.Itoa(int(p.NodePort))] = name
			}
		}
	}
	return owners
}

// tableDifferences compares the kernel's tables with the desired ones, and reports unexpected tables with the network's names.
func (d *daemon) tableDifferences(ctx context.Context, s snapshot, want desired) ([]agentconfig.Difference, error) {
	tables, err := d.desiredTables(s, want)
	if err != nil {
		return nil, err
	}
	var all []agentconfig.Difference
	named := map[string]bool{}
	problems := d.board.View().Problems
	for _, t := range tables {
		named[t.title()] = true
		live, err := listTable(ctx, t.family, t.name)
		if err != nil {
			return nil, err
		}
		all = append(all, t.differences(live, problems.Sentence(t.topic))...)
	}
	out, err := runNFT(ctx, "list", "tables")
	if err != nil {
		return nil, err
	}
	if d.unidler != nil {
		named[idleRules(nil).title()] = true // Services may not have been read yet
	}
	for line := range strings.Lines(out) {
		title := strings.TrimSpace(line)
		fields := strings.Fields(title)
		if len(fields) != 3 || named[title] || fields[2] != table && !strings.HasPrefix(fields[2], table+"-") {
			continue
		}
		all = append(all, agentconfig.Difference{
			What: title + " exists, and the network has no such table", Cause: "it is left from another configuration, or a third party has created it",
			WayOut: "remove it in the sdn pod of the node: nft delete " + title,
		})
	}
	return all, nil
}

// differences compares the live table, as printed by nft, with the last written one.
func (t desiredTable) differences(live, problem string) []agentconfig.Difference {
	cause := problem
	if cause == "" {
		cause = causeRestored
	}
	difference := func(what, cause, wayOut string) agentconfig.Difference {
		return agentconfig.Difference{What: t.title() + what, Cause: cause, WayOut: wayOut, Critical: true}
	}
	written, recorded := t.managed.last()
	switch {
	case live == "":
		return []agentconfig.Difference{difference(" does not exist", cause, wayOutTable)}
	case written != t.text():
		if problem == "" {
			cause = "the agent has not written the rules that follow from the last changes"
		}
		return []agentconfig.Difference{difference(" does not have the rules that objects ask for", cause, wayOutAgent)}
	}
	want, got := tableBlocks(recorded), tableBlocks(live)
	var all []agentconfig.Difference
	for _, name := range sortedKeys(want, got) {
		if _, exists := got[name]; !exists {
			all = append(all, difference(fmt.Sprintf(", %s is missing%s", name, t.ownersOf(name, "")), cause, wayOutTable))
			continue
		}
		if _, expected := want[name]; !expected {
			all = append(all, difference(fmt.Sprintf(", %s is not the agent's", name), cause, wayOutTable))
			continue
		}
		all = append(all, t.blockDifferences(name, want[name].all(), got[name].all(), cause)...)
	}
	return all
}

// lineGroup groups differing lines of a table.
type lineGroup struct {
	owners string
	extra  bool
}

// blockDifferences returns one difference for the missing and one for the additional lines of each object in a chain, set or map.
func (t desiredTable) blockDifferences(name string, want, got []string, cause string) []agentconfig.Difference {
	lacks, extra := without(want, got), without(got, want)
	if len(lacks)+len(extra) == 0 {
		if slices.Equal(want, got) || !strings.HasPrefix(name, "chain ") {
			return nil // elements have no order
		}
		return []agentconfig.Difference{{What: fmt.Sprintf("%s, %s has its rules in another order", t.title(), name), Cause: cause, WayOut: wayOutTable, Critical: true}}
	}
	counts, examples := map[lineGroup]int{}, map[lineGroup]string{}
	var order []lineGroup
	for _, lines := range []struct {
		text  []string
		extra bool
	}{{lacks, false}, {extra, true}} {
		for _, line := range lines.text {
			at := lineGroup{t.ownersOf(name, line), lines.extra}
			if counts[at]++; counts[at] == 1 {
				order, examples[at] = append(order, at), line
			}
		}
	}
	noun := "rule"
	if !strings.HasPrefix(name, "chain ") {
		noun = "element"
	}
	var all []agentconfig.Difference
	for _, at := range order {
		count := fmt.Sprintf("%d %ss", counts[at], noun)
		if counts[at] == 1 {
			count = "1 " + noun
		}
		what := fmt.Sprintf("%s, %s lacks %s%s", t.title(), name, count, at.owners)
		if at.extra {
			what = fmt.Sprintf("%s, %s has %s that the agent has not written%s", t.title(), name, count, at.owners)
		}
		all = append(all, agentconfig.Difference{What: what, Cause: cause + ": " + examples[at], WayOut: wayOutTable, Critical: true})
	}
	return all
}

var words = regexp.MustCompile(`[^\s,{}@]+`)

// ownersOf returns the objects that a line belongs to, after a colon; empty if it belongs to no single object.
func (t desiredTable) ownersOf(block, line string) string {
	var found []string
	for _, word := range words.FindAllString(block+" "+line, -1) {
		if owner := t.owners[word]; owner != "" && !slices.Contains(found, owner) {
			found = append(found, owner)
		}
	}
	if len(found) == 0 {
		return ""
	}
	return ": " + strings.Join(found, ", ")
}

// without returns the lines of one that other lacks or has less often.
func without(one, other []string) []string {
	left := map[string]int{}
	for _, line := range other {
		left[line]++
	}
	var out []string
	for _, line := range one {
		if left[line]--; left[line] < 0 {
			out = append(out, line)
		}
	}
	return out
}

// sortedKeys returns the keys of both maps, sorted.
func sortedKeys(one, other map[string]tableBlock) []string {
	var out []string
	for _, m := range []map[string]tableBlock{one, other} {
		for key := range m {
			out = append(out, key)
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}
