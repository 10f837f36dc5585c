package checkendpoints

import (
	"context"
	"log/slog"
	"net/http"
	"sync/atomic"
	"testing"
	"time"

	operatorcontrolplanev1alpha1 "github.com/openshift/api/operatorcontrolplane/v1alpha1"
	"github.com/prometheus/client_golang/prometheus"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/cluster-network-operator/cno/internal/apitest"
	"github.com/cluster-network-operator/cno/internal/connectivity"
)

const kind = "podnetworkconnectivitychecks.controlplane.operator.openshift.io"

func TestMain(m *testing.M) { apitest.Main(m, apitest.Options{OpenShift: []string{kind}}) }

// quick is a pace for tests.
func quick() Pace {
	return Pace{Interval: 10 * time.Millisecond, Retry: 5 * time.Millisecond, Timeout: 5 * time.Second, Again: 20 * time.Millisecond, Writes: 1000}
}

// source is a checker that runs until the test ends.
type source struct {
	*Checker
	registry *prometheus.Registry
	// writes counts requests that are no reads, reads the others.
	writes, reads atomic.Int64
}

func start(t *testing.T, config *rest.Config, namespace, pod string, pace Pace) *source {
	t.Helper()
	s := &source{registry: prometheus.NewRegistry()}
	config = rest.CopyConfig(config)
	config.Wrap(func(next http.RoundTripper) http.RoundTripper {
		return roundTripper(func(r *http.Request) (*http.Response, error) {
			if r.Method == http.MethodGet {
				s.reads.Add(1)
			} else {
				s.writes.Add(1)
			}
			return next.RoundTrip(r)
		})
	})
	c, err := NewClient(config)
	if err != nil {
		t.Fatal(err)
	}
	s.Checker = New(Options{Client: c, Namespace: namespace, Pod: pod, Metrics: NewMetrics(s.registry), Pace: pace, Now: time.Now, Log: slog.New(slog.DiscardHandler)})
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan struct{})
	go func() { s.Run(ctx); close(ended) }()
	t.Cleanup(func() { cancel(); <-ended })
	return s
}

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// newCheck is a check of a pod.
func newCheck(namespace, name, pod, endpoint string) *check {
	return &check{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name, Labels: map[string]string{connectivity.SourceLabel: pod}},
		Spec:       operatorcontrolplanev1alpha1.PodNetworkConnectivityCheckSpec{SourcePod: pod, TargetEndpoint: endpoint},
	}
}

// reachable returns the condition of a check, zero if it has none.
func reachable(t *testing.T, server *apitest.Server, namespace, name string) operatorcontrolplanev1alpha1.PodNetworkConnectivityCheckCondition {
	t.Helper()
	var c check
	if err := server.Client.Get(t.Context(), client.ObjectKey{Namespace: namespace, Name: name}, &c); err != nil {
		t.Fatal(err)
	}
	for _, condition := range c.Status.Conditions {
		return condition
	}
	return operatorcontrolplanev1alpha1.PodNetworkConnectivityCheckCondition{}
}
