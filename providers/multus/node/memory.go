package node

import (
	"context"
	"log/slog"
	"time"

	"github.com/cluster-network-operator/cno/internal/agent"
	"github.com/cluster-network-operator/cno/internal/host/residency"
)

const (
	// releaseInterval is how often memory is released, and released the resident size from which on it is.
	releaseInterval = 30 * time.Second
	released        = 24 << 20
)

// keepSmall returns memory to the kernel until the context ends: every node runs these processes, most of whose memory are pages of the program that
// only the start needs.
func keepSmall(ctx context.Context, log *slog.Logger) {
	agent.Loop{
		Apply: func(context.Context) error {
			size, err := residency.Resident()
			if err == nil && size > released {
				err = residency.Release()
			}
			if err != nil {
				log.Debug("memory cannot be released", "error", err)
			}
			return nil
		},
		Interval: releaseInterval, Now: time.Now, Beat: &agent.Beat{},
	}.Run(ctx)
}
