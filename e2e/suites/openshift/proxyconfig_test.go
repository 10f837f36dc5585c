package openshift

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"math/big"
	"strings"
	"testing"
	"time"

	configv1 "github.com/openshift/api/config/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/cluster-network-operator/cno/e2e/kit"
)

const (
	userNamespace   = "openshift-config"
	bundleNamespace = "openshift-config-managed"
	bundleName      = "trusted-ca-bundle"
	bundleKey       = "ca-bundle.crt"
)

// newCA creates the certificate of a CA, in PEM form.
func newCA(t *testing.T, name string) string {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	c := &x509.Certificate{SerialNumber: big.NewInt(time.Now().UnixNano()), Subject: pkix.Name{CommonName: name}, NotBefore: time.Now().Add(-time.Hour),
		NotAfter: time.Now().Add(24 * time.Hour), IsCA: true, BasicConstraintsValid: true}
	raw, err := x509.CreateCertificate(rand.Reader, c, c, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	return string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: raw}))
}

// setProxy sets the specification of the Proxy; when the test ends, no proxy is active.
func setProxy(t *testing.T, spec configv1.ProxySpec) {
	t.Helper()
	write := func(ctx context.Context, spec configv1.ProxySpec) error {
		p := &configv1.Proxy{ObjectMeta: metav1.ObjectMeta{Name: "cluster"}}
		return lab.Change(ctx, p, func() { p.Spec = spec })
	}
	kit.Eventually(t, time.Minute, "the Proxy is written", func(ctx context.Context) error { return write(ctx, spec) })
	t.Cleanup(func() {
		if err := write(context.Background(), configv1.ProxySpec{}); err != nil {
			t.Error(err)
		}
	})
}

// describeCluster writes the address of the API server and the networks, as the installer and other operators do.
func describeCluster(t *testing.T) {
	t.Helper()
	infra := &configv1.Infrastructure{}
	if err := lab.Client.Get(t.Context(), client.ObjectKey{Name: "cluster"}, infra); err != nil {
		t.Fatal(err)
	}
	before := infra.DeepCopy()
	infra.Status.APIServerInternalURL = "https://api-int.lab.example.com:6443"
	if err := lab.Client.Status().Patch(t.Context(), infra, client.MergeFrom(before)); err != nil {
		t.Fatal(err)
	}
	network := &configv1.Network{}
	if err := lab.Client.Get(t.Context(), client.ObjectKey{Name: "cluster"}, network); err != nil {
		t.Fatal(err)
	}
	if len(network.Status.ServiceNetwork) > 0 && len(network.Status.ClusterNetwork) > 0 {
		return
	}
	old := network.DeepCopy()
	network.Status.ServiceNetwork, network.Status.ClusterNetwork = network.Spec.ServiceNetwork, network.Spec.ClusterNetwork
	if err := lab.Client.Patch(t.Context(), network, client.MergeFrom(old)); err != nil {
		t.Fatal(err)
	}
}

func proxyStatus(ctx context.Context) (configv1.ProxyStatus, error) {
	p := &configv1.Proxy{}
	err := lab.Client.Get(ctx, client.ObjectKey{Name: "cluster"}, p)
	return p.Status, err
}

// proxyEvent returns nil if there is an event on the Proxy with some words.
func proxyEvent(words string) func(context.Context) error {
	return func(ctx context.Context) error {
		notes, err := lab.Kubectl(ctx, "-n", "default", "get", "events.events.k8s.io", "-o", `jsonpath={range .items[?(@.regarding.kind=="Proxy")]}{.reason}: {.note}{"\n"}{end}`)
		if err == nil && !strings.Contains(notes, words) {
			return fmt.Errorf("the events are\n%s", notes)
		}
		return err
	}
}

// TestReachableProxyIsAppliedAndKeptWhenTheNextIsUnreachable uses a pod as the proxy: it answers each request with its own page, which
// is sufficient for a probe.
func TestReachableProxyIsAppliedAndKeptWhenTheNextIsUnreachable(t *testing.T) {
	describeCluster(t)
	namespace := lab.Namespace(t)
	pods := lab.ServerOnEachNode(t, namespace, nil)
	url := "http://user:hunter2@" + pods["worker-0"].Status.PodIP + ":8080"
	spec := configv1.ProxySpec{HTTPProxy: url, NoProxy: " .example.com", ReadinessEndpoints: []string{"http://www.example.invalid/hostname"}}
	setProxy(t, spec)
	inForce := func(ctx context.Context) error {
		s, err := proxyStatus(ctx)
		if err == nil && (s.HTTPProxy != url || !strings.HasPrefix(s.NoProxy, ".cluster.local,.example.com,.svc,") || !strings.Contains(s.NoProxy, ",api-int.lab.example.com,")) {
			return fmt.Errorf("the status is %+v", s)
		}
		return err
	}
	kit.Eventually(t, time.Minute, "the proxy is applied", inForce)

	dead := spec
	dead.HTTPProxy = "http://user:hunter2@192.0.2.1:3128"
	setProxy(t, dead)
	kit.Eventually(t, time.Minute, "the proxy that does not answer is named", proxyEvent(
		"InvalidProxyConfig: spec.readinessEndpoints[0]: probe of http://www.example.invalid/hostname via http://user:xxxxx@192.0.2.1:3128 failed"))
	wrong := spec
	wrong.HTTPProxy = "htp://bad:99999"
	setProxy(t, wrong)
	kit.Eventually(t, time.Minute, "the invalid value is named", proxyEvent(`spec.httpProxy: Invalid value: "htp://bad:99999": scheme "htp" not allowed (http); did you mean http?`))
	if err := inForce(t.Context()); err != nil {
		t.Error(err)
	}
	setProxy(t, configv1.ProxySpec{})
	kit.Eventually(t, time.Minute, "no proxy is applied", func(ctx context.Context) error {
		s, err := proxyStatus(ctx)
		if err == nil && s != (configv1.ProxyStatus{}) {
			return fmt.Errorf("the status is %+v", s)
		}
		return err
	})
	out, err := lab.Kubectl(t.Context(), "-n", kit.OperatorNamespace, "logs", "deployment/"+kit.OperatorDeployment)
	if err != nil || strings.Contains(out, "hunter2") {
		t.Errorf("the operator's log has the password: %v", err)
	}
	kit.Eventually(t, time.Minute, "the network is available without a proxy", lab.Settled)
}

// bundleBegins returns nil if the trust bundle begins with some certificates, followed by those of the node.
func bundleBegins(user string) func(context.Context) error {
	return func(ctx context.Context) error {
		cm := &corev1.ConfigMap{}
		if err := lab.Client.Get(ctx, client.ObjectKey{Namespace: bundleNamespace, Name: bundleName}, cm); err != nil {
			return err
		}
		rest, ok := strings.CutPrefix(cm.Data[bundleKey], user)
		if n := strings.Count(rest, "-----BEGIN CERTIFICATE-----"); !ok || n < 50 {
			return fmt.Errorf("it begins with the user's: %t; and has %d others", ok, n)
		}
		return nil
	}
}

// TestTrustBundleHasTheCAsOfAdministratorAndNodes also tests that a bundle with a private key is refused.
func TestTrustBundleHasTheCAsOfAdministratorAndNodes(t *testing.T) {
	kit.Eventually(t, time.Minute, "the node's CAs are trusted", bundleBegins(""))
	user := newCA(t, "user")
	cm := userCA(t, user)
	setProxy(t, configv1.ProxySpec{TrustedCA: configv1.ConfigMapNameReference{Name: cm.Name}})
	kit.Eventually(t, time.Minute, "the user's CA is trusted, too", bundleBegins(user))
	before := cm.DeepCopy()
	cm.Data[bundleKey] += "-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----\n"
	if err := lab.Client.Patch(t.Context(), cm, client.MergeFrom(before)); err != nil {
		t.Fatal(err)
	}
	kit.Eventually(t, time.Minute, "the private key is refused", proxyEvent("is a private key, where only certificates belong"))
	if err := bundleBegins(user)(t.Context()); err != nil {
		t.Error(err)
	}
	setProxy(t, configv1.ProxySpec{})
	kit.Eventually(t, time.Minute, "the user's CA is no longer trusted", func(ctx context.Context) error {
		if bundleBegins(user)(ctx) == nil {
			return fmt.Errorf("it is still trusted")
		}
		return bundleBegins("")(ctx)
	})
}

// userCA creates the ConfigMap of an administrator.
func userCA(t *testing.T, content string) *corev1.ConfigMap {
	t.Helper()
	cm := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: userNamespace, GenerateName: "user-ca-"}, Data: map[string]string{bundleKey: content}}
	if err := lab.Client.Create(t.Context(), cm); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := lab.Client.Delete(context.Background(), cm); err != nil {
			t.Error(err)
		}
	})
	return cm
}
