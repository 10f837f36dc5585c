package operator

import (
	"context"
	"errors"
	"github.com/cluster-network-operator/cno/internal/testing/fakeprovider"
	"math/rand/v2"
	"net/http"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	operatorv1 "github.com/cluster-network-operator/cno/api/operator/v1"
	"github.com/cluster-network-operator/cno/internal/apitest"
	"github.com/cluster-network-operator/cno/internal/pipeline"
	"github.com/cluster-network-operator/cno/internal/provider"
	"github.com/cluster-network-operator/cno/internal/testing/goroutines"
)

// stops is how many operators TestOperatorStopsAtAnyPointOfItsStart stops.
const stops = 300

// TestOperatorStopsAtAnyPointOfItsStart stops operators after a random number of requests, which is while their controllers
// are added and started, and checks that each ends, in order, and does not keep the lease.
func TestOperatorStopsAtAnyPointOfItsStart(t *testing.T) {
	c := newCluster(t, apitest.Options{})
	c.create(newNetwork())
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	random := rand.New(rand.NewPCG(seed, 0))
	most := c.requestsOfAStart()
	for i := range stops {
		withLease := i%3 == 0
		after, pause := 1+random.IntN(most), time.Duration(random.IntN(3000))*time.Microsecond
		if err := c.stopAfter(after, pause, withLease); err != nil {
			if err := goroutines.Dump(os.Stderr); err != nil {
				t.Error(err)
			}
			t.Fatalf("operator %d, stopped after %d requests: %v", i, after, err)
		}
		if holder := c.lease().HolderIdentity; withLease && holder != nil && *holder != "" {
			t.Fatalf("operator %d, stopped after %d requests, still has the lease", i, after)
		}
	}
}

// requestsOfAStart counts the requests of a start in a cluster that has converged.
func (c *cluster) requestsOfAStart() int {
	c.t.Helper()
	first := c.start()
	c.rolledOut(1)
	c.eventually("the network is recorded", c.recorded)
	first.stop()
	second := c.start()
	c.eventually("the controllers run", func() bool { return second.http.idle() && len(second.http.snapshot()) > 10 })
	second.stop()
	return len(second.http.snapshot())
}

// errNeverEnds is the error for an operator that does not end at all.
var errNeverEnds = errors.New("it does not end")

// stopAfter stops an operator after a number of requests and a pause, and returns with what it ended.
func (c *cluster) stopAfter(requests int, pause time.Duration, withLease bool) error {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	options := c.options(func(o *Options) { o.WithoutLease, o.Identity = !withLease, "network-operator-0" })
	options.Config = rest.CopyConfig(options.Config)
	// An attempt to acquire the lease is repeated after two seconds; an operator that makes too few requests is stopped too.
	reached := make(chan struct{})
	options.Config.Wrap(after(requests, func() { close(reached) }))
	ended := make(chan error, 1)
	go func() { ended <- Run(ctx, options) }()
	select {
	case <-reached:
	case <-time.After(3 * time.Second):
	case err := <-ended:
		return err
	}
	<-time.After(pause)
	cancel()
	select {
	case err := <-ended:
		return err
	case <-time.After(2 * time.Minute):
		return errNeverEnds
	}
}

// after calls a function when a number of requests have been made.
func after(requests int, reached func()) func(http.RoundTripper) http.RoundTripper {
	var mu sync.Mutex
	return func(next http.RoundTripper) http.RoundTripper {
		return roundTripper(func(r *http.Request) (*http.Response, error) {
			mu.Lock()
			if requests--; requests == 0 {
				reached()
			}
			mu.Unlock()
			return next.RoundTrip(r)
		})
	}
}

// hangingNetwork is a provider whose work does not end when its context does.
type hangingNetwork struct {
	fakeprovider.Network
	started, end chan struct{}
}

func (h hangingNetwork) Observe(ctx context.Context, r client.Reader, spec *operatorv1.NetworkSpec) (provider.Renderer, error) {
	select {
	case h.started <- struct{}{}:
	case <-h.end:
	}
	<-h.end
	return h.Network.Observe(ctx, r, spec)
}

// TestLeaseIsReleasedAlthoughAControllerHangs: a loop that does not end keeps neither the process nor the lease.
func TestLeaseIsReleasedAlthoughAControllerHangs(t *testing.T) {
	c := newCluster(t, apitest.Options{})
	c.create(newNetwork())
	hanging := hangingNetwork{Network: fakeNetwork(false), started: make(chan struct{}), end: make(chan struct{})}
	options := c.options(withRegistry(pipeline.Registry{Providers: []provider.Provider{hanging}}), func(o *Options) {
		o.WithoutLease, o.Identity, o.loopsStop = false, "network-operator-0", 100*time.Millisecond
	})
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	ended := make(chan error, 1)
	go func() { ended <- Run(ctx, options) }()
	select {
	case <-hanging.started:
	case err := <-ended:
		t.Fatalf("operator ended: %v", err)
	case <-time.After(time.Minute):
		t.Fatal("the provider is not called")
	}
	cancel()
	select {
	case err := <-ended:
		if err == nil || !strings.Contains(err.Error(), "grace period") {
			t.Errorf("operator ended with %v", err)
		}
	case <-time.After(time.Minute):
		if err := goroutines.Dump(os.Stderr); err != nil {
			t.Error(err)
		}
		t.Fatal("the operator does not end")
	}
	if holder := c.lease().HolderIdentity; holder != nil && *holder != "" {
		t.Errorf("%s still has the lease", *holder)
	}
	close(hanging.end)
	c.consistently("nothing is written without the lease", time.Second, func() bool {
		return c.configMap(fakeNamespace, "config-0") == nil
	})
}

func TestRunReturnsAlthoughAGoroutineHangs(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	release := make(chan struct{})
	defer close(release)
	err := endWithin(ctx, func(context.Context) error { <-release; return nil }, time.Millisecond)
	if err == nil || !strings.Contains(err.Error(), "did not stop within") {
		t.Errorf("error %v", err)
	}
	if err := endWithin(ctx, func(context.Context) error { return nil }, time.Minute); err != nil {
		t.Errorf("one that ends: %v", err)
	}
}

func TestOperatorStopsWithinTheGracePeriodOfItsPod(t *testing.T) {
	raw, err := os.ReadFile("../../config/operator/deployment.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var d appsv1.Deployment
	if err := yaml.Unmarshal(raw, &d); err != nil {
		t.Fatal(err)
	}
	if grace := time.Duration(*d.Spec.Template.Spec.TerminationGracePeriodSeconds) * time.Second; stopLimit >= grace {
		t.Errorf("the pod is killed after %s; the operator may take %s to stop", grace, stopLimit)
	}
}
