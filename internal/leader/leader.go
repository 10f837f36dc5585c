// Package leader runs a function in one instance of a binary at a time: the one that holds a Lease.
package leader

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/uuid"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/leaderelection"
	"k8s.io/client-go/tools/leaderelection/resourcelock"
)

// The duration of a lease, the time for which its holder tries to renew it before it stops, and the retry interval.
const (
	leaseDuration = 14 * time.Second
	renewDeadline = 8 * time.Second
	retryPeriod   = 2 * time.Second
)

// WriteLimit is the timeout of writes of the leader that are not canceled with its term: with retryPeriod and renewDeadline, after which the term ends at the
// latest, it is shorter than leaseDuration, so that an instance that lost the lease has ended its writes when another one begins.
const WriteLimit = 3 * time.Second

// Election has the parameters of Run. All fields are required.
type Election struct {
	Client kubernetes.Interface
	// Namespace and Name are those of the Lease, Node is the name of the node on which this instance runs.
	Namespace, Name, Node string
	// Leads is called with true when this instance has acquired the lease, and with false when its work has ended.
	Leads func(bool)
	Log   *slog.Logger
}

// Run calls work while this instance holds the lease. It releases the lease only after work has returned: no other instance works
// before that, unless the lease has expired. It returns when the context ends, with its error or that of work, and when the lease is lost: the
// process should then end, and wait for its next term after a restart.
func (e Election) Run(ctx context.Context, work func(context.Context) error) error {
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
		Name: e.Name, LeaseDuration: leaseDuration, RenewDeadline: renewDeadline, RetryPeriod: retryPeriod, ReleaseOnCancel: true,
		Lock: &resourcelock.LeaseLock{
			LeaseMeta: metav1.ObjectMeta{Namespace: e.Namespace, Name: e.Name}, Client: e.Client.CoordinationV1(),
			LockConfig: resourcelock.ResourceLockConfig{Identity: e.Node + "_" + string(uuid.NewUUID())},
		},
		Callbacks: leaderelection.LeaderCallbacks{
			OnStartedLeading: func(term context.Context) {
				mu.Lock()
				working = true
				mu.Unlock()
				e.Log.Info("this instance has the lease", "lease", e.Namespace+"/"+e.Name)
				e.Leads(true)
				term, cancel := context.WithCancel(term)
				defer cancel()
				defer context.AfterFunc(ctx, cancel)()
				err := work(term)
				e.Leads(false)
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

// Ended returns nil if the context has ended, and err otherwise.
func Ended(ctx context.Context, err error) error {
	if cause := context.Cause(ctx); cause != nil && !errors.Is(cause, context.Canceled) {
		return cause
	}
	if ctx.Err() != nil {
		return nil
	}
	return err
}
