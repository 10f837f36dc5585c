package networkmanager

import (
	"context"
	"errors"
	"fmt"
	"log/slog"

	"github.com/cluster-network-operator/cno/internal/dayone/hostapply/lacp"
)

// activation activates profiles in order.
type activation struct {
	activate func(ctx context.Context, uuid, device string) error
	// awaitLACP waits for the LACP negotiation of bonds.
	awaitLACP func(ctx context.Context, bonds []string) error
	log       *slog.Logger
	// bonds are the active bonds whose negotiation was not waited for.
	bonds []string
}

// all activates profiles in order. At least one port of a bond must be activated, since a bond tolerates the failure of the others. Interfaces that take over
// addresses are activated after the bonds below forward packets.
func (a *activation) all(ctx context.Context, profiles []profile) error {
	came, failed := map[string]bool{}, map[string][]error{}
	for _, p := range profiles {
		if !p.active {
			continue
		}
		if p.internal {
			if err := a.awaitLACP(ctx, a.bonds); err != nil {
				return err
			}
			a.bonds = nil
		}
		err := a.activate(ctx, p.uuid, p.device)
		switch {
		case err != nil && (p.bond == "" || ctx.Err() != nil):
			return err
		case err != nil:
			a.log.Warn("a port of a bond does not come up", "port", p.device, "bond", p.bond, "error", err)
			failed[p.bond] = append(failed[p.bond], err)
		case p.bond != "":
			came[p.bond] = true
		case p.kind == kindBond:
			a.bonds = append(a.bonds, p.device)
		}
	}
	var errs []error
	for bond, err := range failed {
		if !came[bond] {
			errs = append(errs, fmt.Errorf("no port of %s comes up: %w", bond, errors.Join(err...)))
		}
	}
	return errors.Join(errs...)
}

func (b *Backend) awaitLACP(ctx context.Context, bonds []string) error {
	return lacp.Await(ctx, b.Sys, bonds, pause, b.Log)
}
