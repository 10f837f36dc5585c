package master

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

// Rate limits for requests to the API server: in a starting cluster thousands of pods need annotations.
const (
	requestsPerSecond = 200
	requestsBurst     = 400
)

// Run takes part in the leader election, and works while it holds the Lease. It returns nil when the context ends. On any other error the process must exit:
// an instance that loses the Lease closes its southbound database to the nodes, and its next process waits for the next term.
func Run(ctx context.Context, c Config) error {
	c, err := c.complete()
	if err != nil {
		return err
	}
	config := rest.CopyConfig(c.Kube)
	if config.QPS == 0 {
		config.QPS, config.Burst = requestsPerSecond, requestsBurst
	}
	client, err := kubernetes.NewForConfig(config)
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
			health := agent.Health{Ready: ready(board), Beat: beat, Now: time.Now, Metrics: c.Metrics}
			if err := health.Serve(ctx, c.HealthAddress); err != nil {
				cancel(err)
			}
		})
	}
	s := newSouthbound(c)
	if err := waitClosed(ctx, s, board); err != nil {
		return leader.Ended(ctx, err)
	}
	election := leader.Election{
		Client: client, Namespace: c.LeaseNamespace, Name: c.LeaseName, Node: c.Node, Log: c.Log,
		Leads: func(leads bool) { board.Update(func(s *status) bool { s.Leader = leads; return true }) },
	}
	return leader.Ended(ctx, election.Run(ctx, func(ctx context.Context) error {
		t, err := newTerm(c, board, m, beat, client, s)
		if err != nil {
			return err
		}
		return t.run(ctx)
	}))
}

// ready reports whether the instance works without problems. A leader is ready once the database has all rows; other instances are ready at once.
func ready(board *agent.Board[status]) func() (bool, agent.Problems) {
	return func() (bool, agent.Problems) {
		view := board.View()
		return !view.Problems.Has(topicRows, topicNodes) && (view.Status.Written || !view.Status.Leader), view.Problems
	}
}

// waitClosed closes the southbound database to nodes, since an earlier instance may have failed to. It waits for the database server to start.
func waitClosed(ctx context.Context, s *southbound, board *agent.Board[status]) error {
	for {
		err := s.close(ctx)
		board.Note(topicNodes, err)
		if err == nil {
			return nil
		}
		agent.Pause(ctx, time.Second, nil)
		if ctx.Err() != nil {
			return ctx.Err()
		}
	}
}
