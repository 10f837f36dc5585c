package master

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/uuid"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/leaderelection"
	"k8s.io/client-go/tools/leaderelection/resourcelock"

	"github.com/cluster-network-operator/cno/internal/agent"
)

// How long a lease lasts, how long its holder tries to renew it before it stops, and how often.
const (
	leaseDuration = 12 * time.Second
	renewDeadline = 8 * time.Second
	retryPeriod   = 2 * time.Second
)

// The rate of requests to the API server: a cluster that starts has thousands of pods to annotate.
const (
	requestsPerSecond = 200
	requestsBurst     = 400
)

// Run takes part in the election, and works while it has the lease, until the context ends; the error is then nil. Every other end is an
// error, and the process must end with it: an instance that loses the lease closes its southbound database to the nodes, and is started
// again to wait for the next term.
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
		return ignoreEnd(ctx, err)
	}
	return ignoreEnd(ctx, elect(ctx, c, client, board, func(ctx context.Context) error {
		t, err := newTerm(c, board, m, beat, client, s)
		if err != nil {
			return err
		}
		return t.run(ctx)
	}))
}

// ready reports whether the instance does its part: as the leader, once the database has all rows; otherwise at once.
func ready(board *agent.Board[status]) func() (bool, agent.Problems) {
	return func() (bool, agent.Problems) {
		view := board.View()
		return !view.Problems.Has(aboutRows, aboutNodes) && (view.Status.Written || !view.Status.Leader), view.Problems
	}
}

// ignoreEnd returns no error for an end that was asked for.
func ignoreEnd(ctx context.Context, err error) error {
	if cause := context.Cause(ctx); cause != nil && !errors.Is(cause, context.Canceled) {
		return cause
	}
	if ctx.Err() != nil {
		return nil
	}
	return err
}

// waitClosed closes the southbound database to nodes: an instance before may have ended without doing so. Its server may not have started.
func waitClosed(ctx context.Context, s *southbound, board *agent.Board[status]) error {
	for {
		err := s.close(ctx)
		board.Note(aboutNodes, err)
		if err == nil {
			return nil
		}
		agent.Pause(ctx, time.Second, nil)
		if ctx.Err() != nil {
			return ctx.Err()
		}
	}
}

// elect calls work while this instance has the lease. The lease is given back only after work has returned: no other instance works
// before that, unless the lease has expired.
func elect(ctx context.Context, c Config, client kubernetes.Interface, board *agent.Board[status], work func(context.Context) error) error {
	election, stop := context.WithCancel(context.WithoutCancel(ctx))
	defer stop()
	var mu sync.Mutex
	working := false
	result := make(chan error, 1)
	end := context.AfterFunc(ctx, func() {
		mu.Lock()
		defer mu.Unlock()
		if !working {
			stop()
		}
	})
	defer end()
	elector, err := leaderelection.NewLeaderElector(leaderelection.LeaderElectionConfig{
		Name: c.LeaseName, LeaseDuration: leaseDuration, RenewDeadline: renewDeadline, RetryPeriod: retryPeriod, ReleaseOnCancel: true,
		Lock: &resourcelock.LeaseLock{
			LeaseMeta: metav1.ObjectMeta{Namespace: c.LeaseNamespace, Name: c.LeaseName}, Client: client.CoordinationV1(),
			LockConfig: resourcelock.ResourceLockConfig{Identity: c.Node + "_" + string(uuid.NewUUID())},
		},
		Callbacks: leaderelection.LeaderCallbacks{
			OnStartedLeading: func(term context.Context) {
				mu.Lock()
				working = true
				mu.Unlock()
				c.Log.Info("this instance has the lease", "lease", c.LeaseNamespace+"/"+c.LeaseName)
				board.Update(func(s *status) bool { s.Leader = true; return true })
				term, cancel := context.WithCancel(term)
				defer cancel()
				defer context.AfterFunc(ctx, cancel)()
				err := work(term)
				board.Update(func(s *status) bool { s.Leader = false; return true })
				result <- err
				stop()
			},
			OnStoppedLeading: func() {},
		},
	})
	if err != nil {
		return fmt.Errorf("take part in the election: %w", err)
	}
	elector.Run(election)
	mu.Lock()
	defer mu.Unlock()
	if !working {
		return ctx.Err()
	}
	if err := <-result; err != nil {
		return err
	}
	return errors.New("the lease was lost")
}
