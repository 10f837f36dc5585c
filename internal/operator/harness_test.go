package operator

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"os"
	"strconv"
	"sync"
	"testing"
	"time"

	osv1 "github.com/openshift/api/operator/v1"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	operatorv1 "github.com/cluster-network-operator/cno/api/operator/v1"
	"github.com/cluster-network-operator/cno/internal/apitest"
	"github.com/cluster-network-operator/cno/internal/facts"
	"github.com/cluster-network-operator/cno/internal/pipeline"
	"github.com/cluster-network-operator/cno/internal/testing/eventually"
	"github.com/cluster-network-operator/cno/internal/testing/goroutines"
)

func TestMain(m *testing.M) { apitest.Main(m, apitest.Options{}) }

const operatorNamespace = "openshift-network-operator"

// cluster is an API server with what the operator finds when it is installed.
type cluster struct {
	*apitest.Server
	t testing.TB
}

// longest is how long a test with a cluster may take before it shows what it waits for.
const longest = 5 * time.Minute

// newCluster starts a separate cluster for a test, which then runs in parallel with other tests: most of its time each waits for
// the API server or the operator.
func newCluster(t testing.TB, options apitest.Options) *cluster {
	t.Helper()
	if test, ok := t.(*testing.T); ok {
		test.Parallel()
	}
	return newClusterAlone(t, options)
}

// newClusterAlone is newCluster for tests of what all operators of a process share, its metrics: no other test runs in parallel.
func newClusterAlone(t testing.TB, options apitest.Options) *cluster {
	t.Helper()
	goroutines.DumpAfter(t, longest)
	options.Audit = true
	c := &cluster{Server: apitest.Start(t, options), t: t}
	c.create(&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: operatorNamespace}})
	return c
}

func (c *cluster) create(o client.Object) {
	c.t.Helper()
	if err := c.Client.Create(c.t.Context(), o); err != nil {
		c.t.Fatal(err)
	}
}

// run runs an operator until stop is called, which waits for its end.
type run struct {
	stop func()
	http *counter
}

type setting func(*Options)

func withRegistry(r pipeline.Registry) setting { return func(o *Options) { o.Registry = r } }
func withVersion(v string) setting             { return func(o *Options) { o.Facts.ReleaseVersion = v } }
func withConfig(c *rest.Config) setting        { return func(o *Options) { o.Config = c } }

func (c *cluster) start(settings ...setting) *run {
	c.t.Helper()
	return c.startWith(&counter{}, settings...)
}

// startWith runs an operator whose requests go through a counter.
func (c *cluster) startWith(counted *counter, settings ...setting) *run {
	c.t.Helper()
	options := c.options(settings...)
	options.Config = rest.CopyConfig(options.Config)
	options.Config.Wrap(counted.wrap)
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- Run(ctx, options) }()
	var once sync.Once
	r := &run{http: counted, stop: func() {
		once.Do(func() {
			cancel()
			if err := <-ended; err != nil {
				c.t.Errorf("operator ended: %v", err)
			}
		})
	}}
	c.t.Cleanup(r.stop)
	return r
}

// options are those of an operator in the cluster.
func (c *cluster) options(settings ...setting) Options {
	level := new(slog.LevelVar)
	options := Options{
		Config: c.Config, Namespace: operatorNamespace, Registry: fakeRegistry(false), WithoutLease: true, Level: level,
		Facts: facts.Cluster{Platform: "None", ReleaseVersion: "v1", Images: facts.Images{operatorImage: "operator:v1"}},
		Log:   slog.New(slog.NewTextHandler(logWriter(), &slog.HandlerOptions{Level: level})),
	}
	for _, set := range settings {
		set(&options)
	}
	return options
}

// logWriter writes the operator's log to the log of the test.
func logWriter() *os.File {
	if testing.Verbose() {
		return os.Stderr
	}
	null, err := os.OpenFile(os.DevNull, os.O_WRONLY, 0)
	if err != nil {
		return os.Stderr
	}
	return null
}

// errCut is what a request gets after the operator was "killed".
var errCut = errors.New("the operator is dead")

// counter counts requests, and can cut the operator off from a certain write on.
type counter struct {
	mu       sync.Mutex
	requests []string
	writes   int
	cutAt    int // 0 is never
	before   bool
}

func (c *counter) wrap(next http.RoundTripper) http.RoundTripper {
	return roundTripper(func(r *http.Request) (*http.Response, error) {
		c.mu.Lock()
		c.requests = append(c.requests, r.Method+" "+r.URL.RequestURI())
		write := r.Method != http.MethodGet
		if write {
			c.writes++
		}
		dead := c.cutAt > 0 && (c.writes > c.cutAt || c.writes == c.cutAt && write && c.before)
		last := c.cutAt > 0 && c.writes == c.cutAt && write && !c.before
		c.mu.Unlock()
		if dead {
			return nil, errCut
		}
		response, err := next.RoundTrip(r)
		if last && err == nil {
			response.Body.Close()
			return nil, errCut
		}
		return response, err
	})
}

func (c *counter) snapshot() []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return append([]string(nil), c.requests...)
}

// settled waits until there has been no request for a second.
func (c *counter) settled(t *testing.T) {
	t.Helper()
	last, since := len(c.snapshot()), time.Now()
	eventually.Holds(t, "there is no request for a second", func() (string, bool) {
		if n := len(c.snapshot()); n != last {
			last, since = n, time.Now()
		}
		return fmt.Sprintf("%d requests", last), time.Since(since) > time.Second
	})
}

func (c *counter) writeCount() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.writes
}

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// eventually waits until a condition holds.
func (c *cluster) eventually(what string, ok func() bool) {
	c.t.Helper()
	eventually.IsOrShow(c.t, eventually.Limit, what, ok, func() string { return fmt.Sprintf("network: %+v", c.network().Status.Conditions) })
}

// consistently checks that a condition holds for a while.
func (c *cluster) consistently(what string, for_ time.Duration, ok func() bool) {
	c.t.Helper()
	eventually.Stays(c.t, for_, what, func() (string, bool) { return "not so", ok() })
}

func (c *cluster) network() *operatorv1.Network {
	var n operatorv1.Network
	_ = c.Client.Get(context.Background(), client.ObjectKey{Name: "cluster"}, &n)
	return &n
}

// condition returns a condition of the network, zero if it does not have it.
func (c *cluster) condition(name string) osv1.OperatorCondition {
	for _, have := range c.network().Status.Conditions {
		if have.Type == name {
			return have
		}
	}
	return osv1.OperatorCondition{}
}

func (c *cluster) is(name string, status osv1.ConditionStatus, reason string) func() bool {
	return func() bool {
		have := c.condition(name)
		return have.Status == status && (reason == "" || have.Reason == reason)
	}
}

func newNetwork(change ...func(*operatorv1.NetworkSpec)) *operatorv1.Network {
	n := &operatorv1.Network{ObjectMeta: metav1.ObjectMeta{Name: "cluster"}, Spec: operatorv1.NetworkSpec{
		ClusterNetwork: []operatorv1.ClusterNetworkEntry{{CIDR: "10.128.0.0/14", HostPrefix: 23}},
		ServiceNetwork: []string{"10.96.0.0/16"},
		DefaultNetwork: operatorv1.DefaultNetworkDefinition{Type: operatorv1.NetworkTypeFlannel},
	}}
	for _, f := range change {
		f(&n.Spec)
	}
	return n
}

// edit changes the settings of the network.
func (c *cluster) edit(change func(*operatorv1.FlannelConfig)) {
	c.t.Helper()
	c.editSpec(func(s *operatorv1.NetworkSpec) {
		if s.DefaultNetwork.FlannelConfig == nil {
			s.DefaultNetwork.FlannelConfig = &operatorv1.FlannelConfig{}
		}
		change(s.DefaultNetwork.FlannelConfig)
	})
}

// editSpec changes the specification of the network.
func (c *cluster) editSpec(change func(*operatorv1.NetworkSpec)) {
	c.t.Helper()
	n := c.network()
	apitest.Change(c.t, c.Client, n, func() { change(&n.Spec) })
}

// rolledOut makes the DaemonSet of the fake look as if its pods ran.
func (c *cluster) rolledOut(nodes int32) {
	c.t.Helper()
	c.eventually("the DaemonSet exists", func() bool {
		var d appsv1.DaemonSet
		if c.Client.Get(c.t.Context(), client.ObjectKey{Namespace: fakeNamespace, Name: fakeAgent}, &d) != nil {
			return false
		}
		d.Status = appsv1.DaemonSetStatus{ObservedGeneration: d.Generation, DesiredNumberScheduled: nodes, CurrentNumberScheduled: nodes,
			UpdatedNumberScheduled: nodes, NumberAvailable: nodes, NumberReady: nodes}
		return c.Client.Status().Update(c.t.Context(), &d) == nil
	})
}

// configMap returns the data of a ConfigMap, nil if there is none.
func (c *cluster) configMap(namespace, name string) map[string]string {
	var cm corev1.ConfigMap
	if c.Client.Get(context.Background(), client.ObjectKey{Namespace: namespace, Name: name}, &cm) != nil {
		return nil
	}
	if cm.Data == nil {
		return map[string]string{}
	}
	return cm.Data
}

// recorded reports whether the record has an applied configuration.
func (c *cluster) recorded() bool {
	return c.configMap(operatorNamespace, "applied-cluster")["state"] == "applied"
}

// has reports whether all ConfigMaps of the fake have a value.
func (c *cluster) has(key, value string) func() bool {
	return func() bool {
		for _, name := range []string{"config-0", "config-1", "config-2", "config-3"} {
			if c.configMap(fakeNamespace, name)[key] != value {
				return false
			}
		}
		return true
	}
}

func itoa(n int) string { return strconv.Itoa(n) }

// rulesOf returns the rules of a role of either kind.
func rulesOf(o any) []rbacv1.PolicyRule {
	switch o := o.(type) {
	case *rbacv1.ClusterRole:
		return o.Rules
	case *rbacv1.Role:
		return o.Rules
	}
	return nil
}
