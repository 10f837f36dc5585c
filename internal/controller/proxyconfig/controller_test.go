package proxyconfig

import (
	"bytes"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"log/slog"
	"math/big"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	configv1 "github.com/openshift/api/config/v1"
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
	"github.com/cluster-network-operator/cno/internal/status"
	"github.com/cluster-network-operator/cno/internal/testing/eventually"
)

func TestMain(m *testing.M) {
	apitest.Main(m, apitest.Options{Audit: true, OpenShift: []string{
		"proxies.config.openshift.io", "networks.config.openshift.io", "infrastructures.config.openshift.io",
	}})
}

// now is when the certificates of these tests are made.
var now = time.Now()

// newCA returns a CA certificate that is valid until a time, in PEM form.
func newCA(tb testing.TB, name string, until time.Time, padding ...byte) string {
	tb.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		tb.Fatal(err)
	}
	c := &x509.Certificate{SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: name, Organization: []string{string(padding)}},
		NotBefore: now.AddDate(-2, 0, 0), NotAfter: until, IsCA: true, BasicConstraintsValid: true}
	raw, err := x509.CreateCertificate(rand.Reader, c, c, key.Public(), key)
	if err != nil {
		tb.Fatal(err)
	}
	made, err := x509.ParseCertificate(raw)
	if err != nil {
		tb.Fatal(err)
	}
	return pemOf(made)
}

// cluster is an API server with the running controller.
type cluster struct {
	*apitest.Server
	t      *testing.T
	board  *report.Board
	log    *buffer
	system string
	// systemFile is where the system's trust is.
	systemFile string
}

// buffer is a log that may be read while it is written.
type buffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (b *buffer) Write(p []byte) (int, error) { b.mu.Lock(); defer b.mu.Unlock(); return b.b.Write(p) }
func (b *buffer) String() string              { b.mu.Lock(); defer b.mu.Unlock(); return b.b.String() }

// newCluster starts the controller on the shared server, with short timeouts and without objects of other tests.
func newCluster(t *testing.T) *cluster {
	t.Helper()
	c := &cluster{Server: apitest.Shared(t), t: t, board: &report.Board{}, log: &buffer{}, system: newCA(t, "system", now.AddDate(1, 0, 0))}
	c.systemFile = filepath.Join(t.TempDir(), "system.pem")
	c.writeSystem(c.system)
	for _, name := range []string{UserNamespace, BundleNamespace} {
		err := c.Client.Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}})
		if client.IgnoreAlreadyExists(err) != nil {
			t.Fatal(err)
		}
	}
	bundle := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: BundleNamespace, Name: BundleName}}
	if err := c.Client.Delete(t.Context(), bundle); client.IgnoreNotFound(err) != nil {
		t.Fatal(err)
	}
	c.run()
	return c
}

func (c *cluster) writeSystem(content string) {
	c.t.Helper()
	if err := os.WriteFile(c.systemFile, []byte(content), 0o600); err != nil {
		c.t.Fatal(err)
	}
}

func (c *cluster) run() {
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
	metrics, err := NewMetrics(prometheus.NewRegistry())
	if err != nil {
		c.t.Fatal(err)
	}
	loop := &Controller{
		Client: mgr.GetClient(), Live: mgr.GetAPIReader(), Settings: Settings{TrustFiles: []string{filepath.Join(c.t.TempDir(), "none"), c.systemFile}},
		Board: c.board, Events: mgr.GetEventRecorder(Name), Metrics: metrics, Now: time.Now, Log: slog.New(slog.NewTextHandler(c.log, nil)),
	}
	if err := loop.setup(mgr); err != nil {
		c.t.Fatal(err)
	}
	loop.probes.timeout, loop.probes.pause = time.Second, 10*time.Millisecond
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- mgr.Start(ctx) }()
	c.t.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil {
			c.t.Error(err)
		}
		for _, r := range c.Requests(c.t) {
			if r.Response.Code == http.StatusForbidden && strings.HasPrefix(r.UserAgent, c.agent()) {
				c.t.Errorf("%s %s was refused because permissions are missing", r.Verb, r.URI)
			}
		}
	})
}

// agent is the controller's user agent in the audit log.
func (c *cluster) agent() string { return "loop-of-" + c.t.Name() }

func (c *cluster) network(cidr string) *configv1.Network {
	c.t.Helper()
	n := &configv1.Network{ObjectMeta: metav1.ObjectMeta{Name: clusterName}}
	c.Create(c.t, n)
	apitest.Change(c.t, c.Client, n, func() { // the kind has no subresource
		n.Status = configv1.NetworkStatus{ServiceNetwork: []string{"172.30.0.0/16"}, ClusterNetwork: []configv1.ClusterNetworkEntry{{CIDR: cidr, HostPrefix: 23}}}
	})
	return n
}

func (c *cluster) infrastructure() {
	c.t.Helper()
	i := &configv1.Infrastructure{ObjectMeta: metav1.ObjectMeta{Name: clusterName}, Spec: configv1.InfrastructureSpec{PlatformSpec: configv1.PlatformSpec{Type: configv1.NonePlatformType}}}
	c.Create(c.t, i)
	apitest.ChangeStatus(c.t, c.Client, i, func() {
		i.Status = configv1.InfrastructureStatus{APIServerInternalURL: "https://api-int.example.com:6443", ControlPlaneTopology: configv1.HighlyAvailableTopologyMode,
			InfrastructureTopology: configv1.HighlyAvailableTopologyMode, PlatformStatus: &configv1.PlatformStatus{Type: configv1.NonePlatformType}}
	})
}

func (c *cluster) proxy(spec configv1.ProxySpec) {
	c.t.Helper()
	c.Create(c.t, &configv1.Proxy{ObjectMeta: metav1.ObjectMeta{Name: clusterName}, Spec: spec})
}

func (c *cluster) edit(change func(*configv1.ProxySpec)) {
	c.t.Helper()
	p := c.get()
	apitest.Change(c.t, c.Client, p, func() { change(&p.Spec) })
}

func (c *cluster) get() *configv1.Proxy {
	c.t.Helper()
	var p configv1.Proxy
	if err := c.Client.Get(c.t.Context(), client.ObjectKey{Name: clusterName}, &p); err != nil {
		c.t.Fatal(err)
	}
	return &p
}

func (c *cluster) userCA(name, content string) *corev1.ConfigMap {
	c.t.Helper()
	cm := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: UserNamespace, Name: name}, Data: map[string]string{"ca-bundle.crt": content}}
	c.Create(c.t, cm)
	return cm
}

func (c *cluster) change(cm *corev1.ConfigMap, content string) {
	c.t.Helper()
	apitest.Change(c.t, c.Client, cm, func() { cm.Data = map[string]string{"ca-bundle.crt": content} })
}

// bundle is what is to be trusted, and who owns it.
func (c *cluster) bundle() (content, owner string) {
	var cm corev1.ConfigMap
	if err := c.Client.Get(context.Background(), client.ObjectKey{Namespace: BundleNamespace, Name: BundleName}, &cm); err != nil {
		return err.Error(), ""
	}
	return cm.Data["ca-bundle.crt"], cm.Annotations["openshift.io/owning-component"]
}

func (c *cluster) awaitBundle(want string) {
	c.t.Helper()
	eventually.Is(c.t, "the bundle has what it should", func() bool {
		got, owner := c.bundle()
		return got == want && owner == "Networking / cluster-network-operator"
	})
}

// awaitFinding waits for a finding whose message has some words.
func (c *cluster) awaitFinding(reason string, words ...string) {
	c.t.Helper()
	var last []status.Finding
	defer func() {
		if c.t.Failed() {
			c.t.Logf("findings: %+v", last)
		}
	}()
	eventually.Is(c.t, "finding "+reason+" with "+strings.Join(words, " and "), func() bool {
		last, _, _ = c.board.Snapshot()
		return slices.ContainsFunc(last, func(f status.Finding) bool {
			missing := slices.ContainsFunc(words, func(w string) bool { return !strings.Contains(f.Message, w) })
			return !missing && f.Reason == reason && f.Component == "ProxyConfig" && f.Effect == status.Degraded
		})
	})
}

func (c *cluster) awaitQuiet() {
	c.t.Helper()
	eventually.Is(c.t, "there is no finding", func() bool {
		findings, _, _ := c.board.Snapshot()
		return len(findings) == 0
	})
}

func (c *cluster) awaitStatus(want configv1.ProxyStatus) {
	c.t.Helper()
	defer func() {
		if c.t.Failed() {
			c.t.Logf("status is %+v", c.get().Status)
		}
	}()
	eventually.Is(c.t, "the status is as it should be", func() bool { return c.get().Status == want })
}

// events are the texts of the events on the Proxy that exists now.
func (c *cluster) events() (all []string) {
	c.t.Helper()
	uid := c.get().UID
	var list eventsv1.EventList
	if err := c.Client.List(c.t.Context(), &list); err != nil {
		c.t.Fatal(err)
	}
	for _, e := range list.Items {
		if e.Regarding.UID == uid && e.Regarding.Kind == "Proxy" {
			all = append(all, e.Type+" "+e.Reason+": "+e.Note)
		}
	}
	return all
}

func (c *cluster) awaitEvent(words string) {
	c.t.Helper()
	var last []string
	defer func() {
		if c.t.Failed() {
			c.t.Logf("events: %q", last)
		}
	}()
	eventually.Is(c.t, "an event with "+words, func() bool {
		last = c.events()
		return strings.Contains(strings.Join(last, "\n"), words)
	})
}

// account returns the operator's service account, with exactly the permissions of config/openshift/proxyconfig.yaml.
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
	permissions, err := manifest.DecodeAll(os.DirFS(filepath.Join(root, "config", "openshift")), "proxyconfig.yaml")
	if err != nil {
		c.t.Fatal(err)
	}
	for _, o := range permissions {
		make(o.(client.Object))
	}
	return c.ServiceAccount(c.t, operator, "cluster-network-operator")
}
