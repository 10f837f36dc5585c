package signer

import (
	"context"
	"fmt"
	"log/slog"
	"sync"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"github.com/prometheus/client_golang/prometheus"
	certificatesv1 "k8s.io/api/certificates/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	certificatesclient "k8s.io/client-go/kubernetes/typed/certificates/v1"
	"k8s.io/client-go/tools/events"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/config"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/metrics/server"

	"github.com/cluster-network-operator/cno/internal/apitest"
	"github.com/cluster-network-operator/cno/internal/certs"
	"github.com/cluster-network-operator/cno/internal/status"
	"github.com/cluster-network-operator/cno/internal/testing/eventually"
)

func TestMain(m *testing.M) { apitest.Main(m, apitest.Options{Audit: true}) }

// cluster is an API server with the CA's namespace and users who may request certificates.
type cluster struct {
	*apitest.Server
	tb       testing.TB
	requests *certificatesclient.CertificatesV1Client

	mu       sync.Mutex
	findings []status.Finding
}

func newCluster(tb testing.TB) *cluster {
	tb.Helper()
	s := apitest.Shared(tb)
	requests, err := certificatesclient.NewForConfig(s.Config)
	if err != nil {
		tb.Fatal(err)
	}
	w := &cluster{Server: s, tb: tb, requests: requests}
	ctx := context.Background()
	for _, o := range []client.Object{
		&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: caNamespace}},
		&rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: "request-certificates"}, Rules: []rbacv1.PolicyRule{
			{APIGroups: []string{"certificates.k8s.io"}, Resources: []string{"certificatesigningrequests"}, Verbs: []string{"create", "get"}}}},
		&rbacv1.ClusterRoleBinding{ObjectMeta: metav1.ObjectMeta{Name: "request-certificates"},
			RoleRef:  rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "request-certificates"},
			Subjects: []rbacv1.Subject{{Kind: "Group", APIGroup: rbacv1.GroupName, Name: "system:authenticated"}}},
	} {
		if err := s.Client.Create(ctx, o); client.IgnoreAlreadyExists(err) != nil {
			tb.Fatal(err)
		}
	}
	tb.Cleanup(func() {
		secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: caNamespace, Name: caSecret}}
		if err := s.Client.Delete(ctx, secret); client.IgnoreNotFound(err) != nil {
			tb.Error(err)
		}
		identities := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: caNamespace, Name: holdersName}}
		if err := s.Client.Delete(ctx, identities); client.IgnoreNotFound(err) != nil {
			tb.Error(err)
		}
		for _, o := range []client.Object{&corev1.Node{}, &certificatesv1.CertificateSigningRequest{}} {
			if err := s.Client.DeleteAllOf(ctx, o); err != nil {
				tb.Error(err)
			}
		}
	})
	return w
}

// setCA writes the Secret of the CA.
func (w *cluster) setCA(pair certs.Pair) {
	w.tb.Helper()
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: caNamespace, Name: caSecret},
		Data: map[string][]byte{"tls.crt": pair.Certificate, "tls.key": pair.Key}}
	err := w.Client.Create(context.Background(), secret)
	if err != nil {
		err = w.Client.Update(context.Background(), secret)
	}
	if err != nil {
		w.tb.Fatal(err)
	}
}

func newCA(tb testing.TB) *certs.CA {
	tb.Helper()
	ca, err := certs.NewCA("openshift-ovn-kubernetes_signer-ca", time.Now(), 365*24*time.Hour)
	if err != nil {
		tb.Fatal(err)
	}
	return ca
}

// node makes a node with an address.
func (w *cluster) node(name, address string) {
	w.tb.Helper()
	node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name}}
	if err := w.Client.Create(context.Background(), node); err != nil {
		w.tb.Fatal(err)
	}
	if address == "" {
		return
	}
	apitest.ChangeStatus(w.tb, w.Client, node, func() {
		node.Status.Addresses = []corev1.NodeAddress{{Type: corev1.NodeInternalIP, Address: address}, {Type: corev1.NodeHostName, Address: name}}
	})
}

// request creates a request as its user, who is written in it. The API server may refuse it.
func (w *cluster) request(csr *certificatesv1.CertificateSigningRequest) (*certificatesv1.CertificateSigningRequest, error) {
	sent := &certificatesv1.CertificateSigningRequest{ObjectMeta: metav1.ObjectMeta{GenerateName: "ipsec-csr-"}, Spec: csr.Spec}
	post := w.requests.RESTClient().Post().Resource("certificatesigningrequests").Body(sent).SetHeader("Impersonate-User", csr.Spec.Username)
	if len(csr.Spec.Groups) > 0 {
		post = post.SetHeader("Impersonate-Group", csr.Spec.Groups...)
	}
	stored := &certificatesv1.CertificateSigningRequest{}
	return stored, post.Do(context.Background()).Into(stored)
}

func (w *cluster) mustRequest(csr *certificatesv1.CertificateSigningRequest) *certificatesv1.CertificateSigningRequest {
	w.tb.Helper()
	stored, err := w.request(csr)
	if err != nil {
		w.tb.Fatal(err)
	}
	return stored
}

func (w *cluster) get(name string) *certificatesv1.CertificateSigningRequest {
	w.tb.Helper()
	var csr certificatesv1.CertificateSigningRequest
	if err := w.Client.Get(context.Background(), client.ObjectKey{Name: name}, &csr); err != nil {
		w.tb.Fatal(err)
	}
	return &csr
}

func (w *cluster) report(f ...status.Finding) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.findings = f
}

func (w *cluster) reported() []status.Finding {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.findings
}

func (w *cluster) controller(cached client.Client) *Controller {
	w.tb.Helper()
	metrics, err := NewMetrics(prometheus.NewRegistry())
	if err != nil {
		w.tb.Fatal(err)
	}
	return &Controller{Client: cached, Live: cached, Namespace: caNamespace, Policy: Nodes(), Report: w.report, Events: events.NewFakeRecorder(100), Metrics: metrics,
		Now: time.Now, Log: slog.New(slog.DiscardHandler)}
}

// start runs the loop until the test ends, with caches as the operator has them.
func (w *cluster) start() *Controller {
	w.tb.Helper()
	yes := true
	mgr, err := manager.New(w.Config, manager.Options{Scheme: w.Client.Scheme(), Cache: cache.Options{ByObject: cacheOptions()}, Logger: logr.Discard(),
		Metrics: server.Options{BindAddress: "0"}, Controller: config.Controller{SkipNameValidation: &yes}})
	if err != nil {
		w.tb.Fatal(err)
	}
	c := w.controller(mgr.GetClient())
	c.Live, c.Events = w.Client, mgr.GetEventRecorder(Name)
	if err := c.setup(mgr); err != nil {
		w.tb.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- mgr.Start(ctx) }()
	w.tb.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil {
			w.tb.Error(err)
		}
	})
	return c
}

// await polls until a condition holds.
func (w *cluster) await(limit time.Duration, promise string, holds func() bool) {
	w.tb.Helper()
	eventually.HoldsWithin(w.tb, limit, promise, func() (string, bool) { return "not so", holds() })
}

// of makes a request a node's.
func of(csr *certificatesv1.CertificateSigningRequest, node string) *certificatesv1.CertificateSigningRequest {
	csr.Spec.Username = userPrefix + node
	return csr
}

// condition returns one that a request has; the zero value if it has not.
func condition(csr *certificatesv1.CertificateSigningRequest, kind certificatesv1.RequestConditionType) certificatesv1.CertificateSigningRequestCondition {
	for _, c := range csr.Status.Conditions {
		if c.Type == kind {
			return c
		}
	}
	return certificatesv1.CertificateSigningRequestCondition{}
}

func nodeName(i int) string { return fmt.Sprintf("node-%d", i) }
