package hostapply

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/cluster-network-operator/cno/internal/dayone/livestate"
	"github.com/cluster-network-operator/cno/internal/dayone/nmstate"
)

// Prober probes targets.
type Prober interface {
	// Probe returns nil if the target answers before the context ends.
	Probe(ctx context.Context, target Target) error
}

// Target is a target of a probe.
type Target struct {
	Kind TargetKind `json:"kind"`
	// Address is an IP address for Gateway and DNS, host:port for TCP.
	Address string `json:"address"`
	// Interface is the interface of a Gateway.
	Interface string `json:"interface,omitempty"`
}

// TargetKind is the kind of a probe.
type TargetKind string

// The kinds of targets.
const (
	Gateway TargetKind = "gateway" // it answers ARP or neighbour discovery
	TCP     TargetKind = "tcp"     // it accepts connections
	DNS     TargetKind = "dns"     // it answers a query in any way
)

// String returns a description for messages.
func (t Target) String() string {
	if t.Interface != "" {
		return fmt.Sprintf("%s %s on %s", t.Kind, t.Address, t.Interface)
	}
	return fmt.Sprintf("%s %s", t.Kind, t.Address)
}

// verify waits until the network matches the document, and its gateways and the targets that answered before answer. After Limits.Verify, it returns the last
// differences.
func (e *Engine) verify(ctx context.Context, doc *nmstate.Document, before []Target) ([]livestate.Difference, error) {
	e.step("verify")
	for end := e.Now().Add(e.Limits.Verify); ; {
		differences, err := e.check(ctx, doc, before)
		if err == nil {
			return nil, nil
		}
		if !e.Now().Before(end) {
			return differences, err
		}
		if waited := e.Wait(ctx, e.Limits.Poll); waited != nil {
			return differences, fmt.Errorf("%w (and %w)", err, waited)
		}
	}
}

func (e *Engine) check(ctx context.Context, doc *nmstate.Document, before []Target) ([]livestate.Difference, error) {
	live, err := e.Backend.Live(ctx)
	if err != nil {
		return nil, fmt.Errorf("read the host's network: %w", err)
	}
	if differences := livestate.Compare(doc, live); len(differences) > 0 {
		lines := make([]string, len(differences))
		for i, d := range differences {
			lines[i] = d.String()
		}
		return differences, fmt.Errorf("verify: %s", strings.Join(lines, livestate.Separator))
	}
	return nil, e.probe(ctx, append(gateways(doc, live), before...))
}

// gateways returns the gateways of the default routes on interfaces of the document.
func gateways(doc *nmstate.Document, live livestate.State) []Target {
	named := map[string]bool{}
	for _, i := range doc.Interfaces {
		named[i.Name] = i.Up()
	}
	var targets []Target
	for _, r := range live.Routes {
		if named[r.Interface] && r.Default() && r.Via.IsValid() && r.Table == livestate.MainTable {
			targets = append(targets, Target{Kind: Gateway, Address: r.Via.WithZone("").String(), Interface: r.Interface})
		}
	}
	return targets
}

func (e *Engine) probe(ctx context.Context, targets []Target) error {
	var failures []error
	for _, target := range targets {
		if err := e.probeTarget(ctx, target); err != nil {
			failures = append(failures, fmt.Errorf("%s does not answer: %w", target, err))
		}
	}
	return errors.Join(failures...)
}

func (e *Engine) probeTarget(ctx context.Context, target Target) error {
	ctx, cancel := context.WithTimeout(ctx, e.Limits.Probe)
	defer cancel()
	return e.Prober.Probe(ctx, target)
}

// waitReachable waits until all targets answer.
func (e *Engine) waitReachable(ctx context.Context, targets []Target) error {
	for end := e.Now().Add(e.Limits.Restore); ; {
		err := e.probe(ctx, targets)
		if err == nil || !e.Now().Before(end) {
			return err
		}
		if waited := e.Wait(ctx, e.Limits.Poll); waited != nil {
			return waited
		}
	}
}

// Sleep is the Engine.Wait of a real host: it returns after d, or when the context ends.
func Sleep(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-timer.C:
		return nil
	}
}
