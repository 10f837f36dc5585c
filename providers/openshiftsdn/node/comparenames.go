package node

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/cluster-network-operator/cno/providers/openshiftsdn/agentconfig"
	"github.com/cluster-network-operator/cno/providers/openshiftsdn/egressfirewall"
)

const (
	// namesConcurrency is the number of concurrent lookups.
	namesConcurrency = 16
	// namesTimeout is the timeout of all lookups.
	namesTimeout = 8 * time.Second
	// lateAfter is the tolerated delay of a scheduled query.
	lateAfter = queryTimeout + time.Second
)

// nameDifferences queries the name servers for the names in egress firewalls of namespaces with pods on the node, and compares the answers with the addresses
// in their rules. notes has the names for which no server responds.
func (d *daemon) nameDifferences(ctx context.Context, s snapshot) (all []agentconfig.Difference, notes []string) {
	ctx, cancel := context.WithTimeout(ctx, namesTimeout)
	defer cancel()
	policies := namedPolicies(s)
	found, missing := make([][]agentconfig.Difference, len(policies)), make([]string, len(policies))
	var group errgroup.Group
	group.SetLimit(namesConcurrency)
	for i, name := range slices.Sorted(maps.Keys(policies)) {
		group.Go(func() error {
			got, err := d.names.ask(ctx, name)
			seen, next, known := d.names.known(name)
			switch {
			case err != nil && !errors.Is(err, errNoName):
				missing[i] = fmt.Sprintf("no name server responds for %s in %s: %v", name, policies[name], err)
			case known:
				found[i] = compareName(name, policies[name], got.addresses, seen, next, time.Now())
			}
			return nil
		})
	}
	_ = group.Wait() // each name has its own result
	for _, m := range missing {
		if m != "" {
			notes = append(notes, m)
		}
	}
	return slices.Concat(found...), notes
}

// namedPolicies returns the names in egress firewalls of namespaces with pods on the node, each with its policies.
func namedPolicies(s snapshot) map[string]string {
	of := map[string][]string{}
	for _, p := range s.Firewalls {
		if !s.attached(p.Namespace) {
			continue
		}
		rules, _ := egressfirewall.Read(p)
		for _, r := range rules {
			if r.Name != "" && !slices.Contains(of[r.Name], firewallName(p)) {
				of[r.Name] = append(of[r.Name], firewallName(p))
			}
		}
	}
	out := map[string]string{}
	for name, policies := range of {
		slices.Sort(policies)
		out[name] = strings.Join(policies, ", ")
	}
	return out
}

// compareName compares the addresses in the rules of a name with those of the current answer. Addresses that are no longer in the answers remain valid for
// keepName.
func compareName(name, policies string, answer []netip.Addr, seen map[netip.Addr]time.Time, next, now time.Time) []agentconfig.Difference {
	cause, wayOut := "the agent has not queried the name servers in time", wayOutAgent
	if now.Before(next.Add(lateAfter)) {
		cause = fmt.Sprintf("the TTL of the last answer ends at %s; the agent then queries again", next.UTC().Format(time.RFC3339))
		wayOut = "wait until then, and give the records of the name a shorter TTL if that is too long"
	}
	var all []agentconfig.Difference
	difference := func(what string) {
		all = append(all, agentconfig.Difference{What: fmt.Sprintf("%s: the name servers give %s %s", policies, name, what), Cause: cause, WayOut: wayOut, Critical: true})
	}
	for _, a := range slices.SortedFunc(slices.Values(answer), netip.Addr.Compare) {
		if _, found := seen[a]; !found {
			difference(fmt.Sprintf("the address %s, which its rules do not have", a))
		}
	}
	for _, a := range slices.SortedFunc(maps.Keys(seen), netip.Addr.Compare) {
		if !slices.Contains(answer, a) && now.Sub(seen[a]) > keepName+lateAfter {
			difference(fmt.Sprintf("the address %s no more, which its rules have", a))
		}
	}
	return all
}
