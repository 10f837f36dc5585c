package operator

import (
	"context"
	"log/slog"
	"time"

	"k8s.io/client-go/rest"

	"github.com/cluster-network-operator/cno/internal/facts"
)

const (
	// addressProbe is the interval at which the leader probes the API server of the operands.
	addressProbe = 10 * time.Second
	// addressGone is the time after which that API server counts as unreachable: longer than the restart of an API server,
	// since every operand restarts if the address changes.
	addressGone = time.Minute
)

// addressWatch ends the operator when the API server of the operands has been unreachable for addressGone, so that the next
// start chooses another one: see Remembered. It runs while the operator holds the lease, whose renewal shows that the
// operator's own API server is reachable.
type addressWatch struct {
	at    facts.HostPort
	probe func(context.Context) error
	end   func()
	log   *slog.Logger
}

func newAddressWatch(config *rest.Config, at facts.HostPort, end func(), log *slog.Logger) *addressWatch {
	return &addressWatch{at: at, probe: func(ctx context.Context) error { return probeAPIServer(ctx, config, at) }, end: end, log: log}
}

// Start probes until the context ends, or the operator does.
func (w *addressWatch) Start(ctx context.Context) error {
	tick := time.NewTicker(addressProbe)
	defer tick.Stop()
	for answered := time.Now(); ; {
		err := w.probe(ctx)
		switch gone := time.Since(answered); {
		case ctx.Err() != nil:
			return nil
		case err == nil:
			answered = time.Now()
		case gone >= addressGone:
			w.log.Warn("the operator restarts to choose another API server for operands: the current one does not respond",
				"apiserver", w.at.Host, "port", w.at.Port, "since", answered.UTC(), "error", err)
			w.end()
			return nil
		default:
			w.log.Warn("the API server that operands use does not answer", "apiserver", w.at.Host, "port", w.at.Port, "error", err)
		}
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
	}
}
