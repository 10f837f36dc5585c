package controller

import (
	"context"
	"fmt"
	"sync"
	"time"

	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/cluster-network-operator/cno/internal/agent"
	"github.com/cluster-network-operator/cno/internal/leader"
)

// Rate limits for requests to the API server. Package vnid depends on requestsPerSecond.
const (
	requestsPerSecond = 200
	requestsBurst     = 400
)

// status is the board's status in addition to problems.
type status struct {
	// Leader is true while this instance holds the Lease.
	Leader bool
}

// Run takes part in the leader election, and works while it holds the Lease. It returns nil when the context ends. On any other error the process must exit.
func Run(ctx context.Context, c Config) error {
	c, err := c.complete()
	if err != nil {
		return err
	}
	c.Kube = rest.CopyConfig(c.Kube)
	if c.Kube.QPS == 0 {
		c.Kube.QPS, c.Kube.Burst = requestsPerSecond, requestsBurst
	}
	client, err := kubernetes.NewForConfig(c.Kube)
	if err != nil {
		return fmt.Errorf("create a client of the API server: %w", err)
	}
	beat := &agent.Beat{}
	board := agent.NewBoard(status{}, c.Log)
	m := newMetrics(c.Metrics, board)
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var all sync.WaitGroup
	defer func() { cancel(nil); all.Wait() }()
	if c.HealthAddress != "" {
		all.Go(func() {
			health := agent.Health{Ready: readiness(board), Beat: beat, Now: time.Now, Metrics: c.Metrics}
			if err := health.Serve(ctx, c.HealthAddress); err != nil {
				cancel(err)
			}
		})
	}
	election := leader.Election{
		Client: client, Namespace: c.LeaseNamespace, Name: c.LeaseName, Node: c.Node, Log: c.Log,
		Leads: func(leads bool) {
			board.Update(func(s *status) bool { changed := s.Leader != leads; s.Leader = leads; return changed })
		},
	}
	return leader.Ended(ctx, election.Run(ctx, func(ctx context.Context) error {
		t, err := newTerm(c, client, board, m, beat)
		if err != nil {
			return err
		}
		return t.run(ctx)
	}))
}

// readiness reports whether the instance works without problems. An instance without the Lease is ready.
func readiness(board *agent.Board[status]) func() (bool, agent.Problems) {
	return func() (bool, agent.Problems) {
		view := board.View()
		return view.Problems.Len() == 0, view.Problems
	}
}
