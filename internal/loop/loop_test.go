package loop_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/config"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"

	"github.com/cluster-network-operator/cno/internal/loop"
)

// run runs a manager in a bubble of synctest until the test ends. Nothing in it uses the API server.
func run(t *testing.T, test func(t *testing.T, mgr manager.Manager)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		mgr, err := manager.New(&rest.Config{Host: "https://192.0.2.1"}, manager.Options{
			Metrics:    metricsserver.Options{BindAddress: "0"},
			Controller: config.Controller{SkipNameValidation: new(true)}, // names are unique in a process, and tests may be repeated
		})
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() { ended <- mgr.Start(ctx) }()
		test(t, mgr)
		cancel()
		if err := <-ended; err != nil {
			t.Errorf("the manager ended: %v", err)
		}
	})
}

// requests is a source with one event for each name.
func requests(names ...string) source.Source {
	return source.Func(func(_ context.Context, queue workqueue.TypedRateLimitingInterface[reconcile.Request]) error {
		for _, name := range names {
			queue.Add(reconcile.Request{NamespacedName: types.NamespacedName{Name: name}})
		}
		return nil
	})
}

func TestForwardCallsAllFunctionsOnAnEvent(t *testing.T) {
	run(t, func(t *testing.T, mgr manager.Manager) {
		var got []string
		fire := []func(){func() { got = append(got, "first") }, nil, func() { got = append(got, "second") }}
		if err := loop.Forward(mgr, "forward", fire, requests("a")); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		if diff := cmp.Diff([]string{"first", "second"}, got); diff != "" {
			t.Error(diff)
		}
	})
}

func TestOptions(t *testing.T) {
	for _, tt := range []struct {
		reason  string
		options loop.Options
		want    int
	}{
		{"one reconcile at a time by default", loop.Options{}, 1},
		{"as many as there are workers", loop.Options{Workers: 2}, 2},
	} {
		t.Run(tt.reason, func(t *testing.T) {
			run(t, func(t *testing.T, mgr manager.Manager) {
				running, release := make(chan struct{}, 3), make(chan struct{})
				err := loop.Add(mgr, "workers", func(context.Context, reconcile.Request) (reconcile.Result, error) {
					running <- struct{}{}
					<-release
					return reconcile.Result{}, nil
				}, tt.options, requests("a", "b", "c"))
				if err != nil {
					t.Fatal(err)
				}
				synctest.Wait()
				if len(running) != tt.want {
					t.Errorf("%d reconciles run at the same time, want %d", len(running), tt.want)
				}
				close(release)
			})
		})
	}
}

func TestFailedReconcilesAreRepeatedWithBackOff(t *testing.T) {
	run(t, func(t *testing.T, mgr manager.Manager) {
		var at []time.Duration
		start := time.Now()
		err := loop.Add(mgr, "backoff", func(context.Context, reconcile.Request) (reconcile.Result, error) {
			at = append(at, time.Since(start).Round(time.Second))
			return reconcile.Result{}, errors.New("not yet")
		}, loop.Options{FirstRetry: time.Minute, LastRetry: 3 * time.Minute}, requests("a"))
		if err != nil {
			t.Fatal(err)
		}
		time.Sleep(10 * time.Minute)
		synctest.Wait()
		if diff := cmp.Diff([]time.Duration{0, time.Minute, 3 * time.Minute, 6 * time.Minute, 9 * time.Minute}, at); diff != "" {
			t.Error(diff)
		}
	})
}

func TestTheErrorOfAWatchNamesItsController(t *testing.T) {
	run(t, func(t *testing.T, mgr manager.Manager) {
		none := func(context.Context, reconcile.Request) (reconcile.Result, error) { return reconcile.Result{}, nil }
		l, err := loop.New(mgr, "network", none, loop.Options{}, requests("a"))
		if err != nil {
			t.Fatal(err)
		}
		synctest.Wait() // a source that is added before the start is started with the controller, and fails there
		unavailable := errors.New("the API is not available")
		err = l.Watch(requests("b"), source.Func(func(context.Context, workqueue.TypedRateLimitingInterface[reconcile.Request]) error {
			return unavailable
		}))
		if !errors.Is(err, unavailable) || err.Error() != "watch for network controller: the API is not available" {
			t.Errorf("the error is %v", err)
		}
	})
}
