package cabundleinjection

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"log/slog"
	"math/big"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/config"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/metrics/server"

	"github.com/cluster-network-operator/cno/internal/apitest"
	"github.com/cluster-network-operator/cno/internal/manifest"
	"github.com/cluster-network-operator/cno/internal/report"
	"github.com/cluster-network-operator/cno/internal/testing/eventually"
)

func TestMain(m *testing.M) { apitest.Main(m, apitest.Options{Audit: true}) }

// newCA returns a CA certificate in PEM form.
func newCA(tb testing.TB, name string) string {
	tb.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		tb.Fatal(err)
	}
	c := &x509.Certificate{SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: name}, NotAfter: time.Now().AddDate(1, 0, 0), IsCA: true, BasicConstraintsValid: true}
	raw, err := x509.CreateCertificate(rand.Reader, c, c, key.Public(), key)
	if err != nil {
		tb.Fatal(err)
	}
	return string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: raw}))
}

// cluster is an API server, on which the controller runs between start and stop.
type cluster struct {
	*apitest.Server
	t         testing.TB
	namespace string
	board     *report.Board
	registry  *prometheus.Registry
	now       func() time.Time
	stop      func()
}

func newCluster(t testing.TB) *cluster {
	t.Helper()
	c := &cluster{Server: apitest.Shared(t), t: t, board: &report.Board{}, registry: prometheus.NewRegistry(), now: time.Now, stop: func() {}}
	c.namespace = c.Namespace(t)
	err := c.Client.Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: bundleNamespace}})
	if client.IgnoreAlreadyExists(err) != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.stop() })
	return c
}

// start runs the controller.
func (c *cluster) start() {
	c.t.Helper()
	scheme, err := apitest.Scheme()
	if err != nil {
		c.t.Fatal(err)
	}
	yes := true
	api := c.account()
	api.UserAgent, api.QPS = c.agent(), -1
	mgr, err := manager.New(api, manager.Options{
		Scheme: scheme, Cache: cache.Options{ByObject: cacheOptions()}, Metrics: server.Options{BindAddress: "0"}, Controller: config.Controller{SkipNameValidation: &yes},
	})
	if err != nil {
		c.t.Fatal(err)
	}
	metrics, err := NewMetrics(c.registry)
	if err != nil {
		c.t.Fatal(err)
	}
	loop := &Controller{
		Client: mgr.GetClient(), Live: mgr.GetAPIReader(), Board: c.board, Events: mgr.GetEventRecorder(Name), Metrics: metrics,
		Now: func() time.Time { return c.now() }, Log: slog.New(slog.DiscardHandler),
	}
	if err := loop.setup(mgr); err != nil {
		c.t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- mgr.Start(ctx) }()
	c.stop = func() {
		c.stop = func() {}
		cancel()
		if err := <-ended; err != nil {
			c.t.Error(err)
		}
		for _, r := range c.Requests(c.t) {
			if r.Response.Code == http.StatusForbidden && strings.HasPrefix(r.UserAgent, c.agent()) {
				c.t.Errorf("%s %s was refused because of missing permissions", r.Verb, r.URI)
			}
		}
	}
}

// agent is the controller's user agent in the audit log.
func (c *cluster) agent() string { return "loop-of-" + c.t.Name() }

// writes returns the number of the controller's write requests for ConfigMaps.
func (c *cluster) writes() (n int) {
	c.t.Helper()
	for _, r := range c.Requests(c.t) {
		if r.Verb == "patch" && strings.Contains(r.URI, "/configmaps/") && strings.HasPrefix(r.UserAgent, c.agent()) {
			n++
		}
	}
	return n
}

// source sets the trusted certificates.
func (c *cluster) source(data map[string]string) {
	c.t.Helper()
	cm := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: bundleNamespace, Name: bundleName}, Data: data}
	err := c.Client.Update(c.t.Context(), cm)
	if client.IgnoreNotFound(err) == nil && err != nil {
		c.Create(c.t, cm)
	} else if err != nil {
		c.t.Fatal(err)
	}
}

func (c *cluster) trust(pem string) { c.t.Helper(); c.source(map[string]string{"ca-bundle.crt": pem}) }

// request creates a ConfigMap that requests certificates.
func (c *cluster) request(name string, change ...func(*corev1.ConfigMap)) *corev1.ConfigMap {
	c.t.Helper()
	cm := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: c.namespace, Name: name, Labels: map[string]string{InjectLabel: "true"}}}
	for _, f := range change {
		f(cm)
	}
	c.Create(c.t, cm)
	return cm
}

func (c *cluster) get(name string) *corev1.ConfigMap {
	var cm corev1.ConfigMap
	if err := c.Client.Get(context.Background(), client.ObjectKey{Namespace: c.namespace, Name: name}, &cm); err != nil {
		c.t.Fatal(err)
	}
	return &cm
}

// edit changes a ConfigMap as another client.
func (c *cluster) edit(name string, change func(*corev1.ConfigMap)) {
	c.t.Helper()
	cm := c.get(name)
	apitest.Change(c.t, c.Client, cm, func() { change(cm) }, client.FieldOwner("kubectl-edit"))
}

func (c *cluster) awaitInjected(name, pem string) {
	c.t.Helper()
	eventually.Is(c.t, name+" has the certificates", func() bool { return c.get(name).Data["ca-bundle.crt"] == pem })
}

// awaitEvent waits for an event on a ConfigMap.
func (c *cluster) awaitEvent(name, words string) {
	c.t.Helper()
	var last []string
	defer func() {
		if c.t.Failed() {
			c.t.Logf("events: %q", last)
		}
	}()
	eventually.Is(c.t, "an event on "+name+" with "+words, func() bool {
		last = c.events(name)
		return strings.Contains(strings.Join(last, "\n"), words)
	})
}

func (c *cluster) events(name string) (all []string) {
	var list eventsv1.EventList
	if err := c.Client.List(context.Background(), &list, client.InNamespace(c.namespace)); err != nil {
		c.t.Fatal(err)
	}
	for _, e := range list.Items {
		if e.Regarding.Kind == "ConfigMap" && e.Regarding.Name == name {
			all = append(all, e.Type+" "+e.Reason+": "+e.Note)
		}
	}
	return all
}

// wantNoWrites waits, and checks that the controller has written nothing and reported no finding.
func (c *cluster) wantNoWrites(why string) {
	c.t.Helper()
	before := c.writes()
	time.Sleep(500 * time.Millisecond)
	if after := c.writes(); after != before {
		c.t.Errorf("%s: %d writes in half a second", why, after-before)
	}
	if findings, _, _ := c.board.Snapshot(); len(findings) > 0 {
		c.t.Errorf("%s: got findings %v", why, findings)
	}
}

// metric returns the value of one metric.
func (c *cluster) metric(name, label string) float64 {
	c.t.Helper()
	families, err := c.registry.Gather()
	if err != nil {
		c.t.Fatal(err)
	}
	for _, f := range families {
		for _, m := range f.Metric {
			if f.GetName() == name && m.Label[0].GetValue() == label {
				return m.GetGauge().GetValue() + m.GetCounter().GetValue()
			}
		}
	}
	return 0
}

// account returns the operator's service account, with exactly the permissions of config/openshift/cabundleinjection.yaml.
func (c *cluster) account() *rest.Config {
	c.t.Helper()
	const operator = "openshift-network-operator"
	make := func(o client.Object) {
		if err := c.Client.Create(c.t.Context(), o); client.IgnoreAlreadyExists(err) != nil {
			c.t.Fatal(err)
		}
	}
	make(&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: operator}})
	root, err := apitest.RepositoryRoot()
	if err != nil {
		c.t.Fatal(err)
	}
	rights, err := manifest.DecodeAll(os.DirFS(filepath.Join(root, "config", "openshift")), "cabundleinjection.yaml")
	if err != nil {
		c.t.Fatal(err)
	}
	for _, o := range rights {
		make(o.(client.Object))
	}
	return c.ServiceAccount(c.t, operator, "cluster-network-operator")
}
