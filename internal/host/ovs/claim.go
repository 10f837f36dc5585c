package ovs

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/cluster-network-operator/cno/internal/host/ovsdb"
)

// Claim is a set of external IDs that at most one interface may have, such as the logical port that a controller binds to it.
type Claim map[string]string

// ReplacePorts is EnsurePort, and removes all other ports of the bridge whose interface has one of the claims. It removes and adds in one transaction, so that
// nothing sees the claim without an interface, or with two.
func (c Configuration) ReplacePorts(ctx context.Context, bridge string, p Port, claims ...Claim) error {
	for {
		held, err := c.holders(ctx, claims)
		if err != nil {
			return err
		}
		operations := held.guards(claims)
		removed := ovsdb.Set{}
		for _, name := range held.others(p.Name) {
			ids, err := c.portIDs(ctx, name)
			if err != nil {
				return err
			}
			removed = append(removed, ids...)
		}
		if len(removed) > 0 {
			operations = append(operations, ovsdb.Mutate("Bridge", "ports", "delete", removed, ovsdb.Equal("name", bridge)))
		}
		if err = c.ensurePort(ctx, bridge, p, operations); !claimsChanged(err) {
			return err
		}
	}
}

// EnsureClaimedPort is EnsurePort unless another interface has one of the claims; it then changes nothing and returns false.
func (c Configuration) EnsureClaimedPort(ctx context.Context, bridge string, p Port, claims ...Claim) (bool, error) {
	for {
		held, err := c.holders(ctx, claims)
		if err != nil || len(held.others(p.Name)) > 0 {
			return false, err
		}
		if err = c.ensurePort(ctx, bridge, p, held.guards(claims)); !claimsChanged(err) {
			return err == nil, err
		}
	}
}

// holders are the names of the interfaces that have each of some claims.
type holders [][]string

func (c Configuration) holders(ctx context.Context, claims []Claim) (holders, error) {
	var reads []ovsdb.Operation
	for _, claim := range claims {
		reads = append(reads, ovsdb.Select("Interface", []string{"name"}, claim.condition()))
	}
	results, err := c.Client.Transact(ctx, database, reads...)
	if err != nil {
		return nil, fmt.Errorf("read the interfaces with the external IDs of a port: %w", err)
	}
	out := make(holders, len(claims))
	for i := range claims {
		for _, row := range results[i].Rows {
			out[i] = append(out[i], row.Text("name"))
		}
	}
	return out, nil
}

// others returns all but one of the interfaces, each once: an interface may have several claims.
func (h holders) others(name string) []string {
	all := slices.Concat(h...)
	slices.Sort(all)
	return slices.DeleteFunc(slices.Compact(all), func(other string) bool { return other == name })
}

// guards return operations that fail the transaction if other interfaces have the claims by then.
func (h holders) guards(claims []Claim) []ovsdb.Operation {
	var out []ovsdb.Operation
	for i, claim := range claims {
		var rows []map[string]any
		for _, name := range h[i] {
			rows = append(rows, map[string]any{"name": name})
		}
		out = append(out, ovsdb.Wait("Interface", 0, []string{"name"}, "==", rows, claim.condition()))
	}
	return out
}

func (c Claim) condition() ovsdb.Condition {
	return ovsdb.Includes("external_ids", ovsdb.Map(c))
}

// claimsChanged reports whether a guard has failed a transaction.
func claimsChanged(err error) bool {
	var refused *ovsdb.OperationError
	return errors.As(err, &refused) && refused.Operation == "wait" && refused.Table == "Interface"
}
