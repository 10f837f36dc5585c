package etcdmanager_test

import (
	"context"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	certificatesv1 "k8s.io/api/certificates/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/cluster-network-operator/cno/internal/etcdcluster/etcdmanager"
	"github.com/cluster-network-operator/cno/internal/loop"
	"github.com/cluster-network-operator/cno/internal/status"
	"github.com/cluster-network-operator/cno/internal/testing/etcdnodes"
)

// versions returns the resource versions of all Secrets and ConfigMaps.
func (c *calendar) versions() map[string]string {
	c.t.Helper()
	out := map[string]string{}
	for kind, list := range map[string]client.ObjectList{"Secret": &corev1.SecretList{}, "ConfigMap": &corev1.ConfigMapList{}} {
		if err := c.api.List(c.t.Context(), list); err != nil {
			c.t.Fatal(err)
		}
		switch l := list.(type) {
		case *corev1.SecretList:
			for _, o := range l.Items {
				out[kind+"/"+o.Name] = o.ResourceVersion
			}
		case *corev1.ConfigMapList:
			for _, o := range l.Items {
				out[kind+"/"+o.Name] = o.ResourceVersion
			}
		}
	}
	return out
}

// observed returns a model whose network may be changed when the returned variable is true, and what it reports.
func observed(t *testing.T) (m *model, managed *bool, findings *[]status.Finding) {
	t.Helper()
	m, managed, findings = newModel(t), new(bool), &[]status.Finding{}
	m.loop.deps.managed = func() bool { return *managed }
	m.loop.deps.report = func(f ...status.Finding) { *findings = f }
	return m, managed, findings
}

func TestANetworkThatIsNotManagedIsOnlyObserved(t *testing.T) {
	m, managed, findings := observed(t)
	for _, key := range []client.ObjectKey{
		{Namespace: operatorNamespace, Name: cluster.CASecret()}, {Namespace: cluster.Namespace, Name: cluster.MemberSecret("b")},
	} {
		m.remove(key.Namespace, key.Name)
	}
	if err := m.api.Delete(t.Context(), &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "c"}}); err != nil {
		t.Fatal(err)
	}
	before := m.versions()
	for range 20 {
		m.operator()
		m.now = m.now.Add(time.Minute)
	}
	if after := m.versions(); !maps.Equal(before, after) {
		t.Errorf("objects were %v and are %v", before, after)
	}
	m.remove(cluster.Namespace, cluster.ClientSecret())
	m.operator()
	if f := *findings; len(f) != 1 || f[0].Reason != "EtcdCredentials" {
		t.Errorf("without a certificate of clients, the findings are %v", f)
	}

	*managed = true
	m.operator()
	for _, name := range []string{cluster.ClientSecret(), cluster.MemberSecret("b")} {
		m.leaf(name) // fails the test if it does not exist
	}
}

func TestCertificatesAreRenewedWhileTheNetworkIsNotManaged(t *testing.T) {
	m, _, findings := observed(t)
	m.renewed(func() {
		m.now = m.now.Add(etcdmanager.Policy(cluster).LeafLife/2 + time.Hour)
		m.operator()
	})
	if len(*findings) > 0 {
		t.Errorf("the findings are %v", *findings)
	}
}

// renewed fails the test unless an action renews every certificate with the CA that members trust.
func (m *model) renewed(action func()) {
	m.t.Helper()
	before := map[string]string{}
	for _, name := range m.secrets() {
		pair, _ := m.leaf(name)
		before[name] = string(pair.Certificate)
	}
	_, bundle := m.leaf(cluster.ClientSecret())
	action()
	for _, name := range m.secrets() {
		after, same := m.leaf(name)
		cert, _, err := after.Parse()
		if err != nil || before[name] == string(after.Certificate) || !bundle.Trusts(cert, m.now) || !bundle.Contains(same) {
			m.t.Errorf("the certificate in %s was not renewed by the CA that members trust: %v", name, err)
		}
	}
	m.intact()
}

// identify has the members of a model ask who a client is, after which agents share no certificate.
func (m *model) identify() {
	m.t.Helper()
	m.identity = true
	for range 6 {
		m.round("a", "b", "c")
	}
	if pair, bundle := m.leaf(cluster.ClientSecret()); !m.members().NodeIdentity || len(pair.Certificate) > 0 || len(bundle) == 0 {
		m.t.Fatalf("agents still share a certificate: %+v", m.members())
	}
}

func TestANetworkWhoseNodesHaveTheirOwnCertificatesIsObserved(t *testing.T) {
	m, managed, findings := observed(t)
	var reported []loop.Certificate
	m.restart(func(d *deps) { d.Expires = func(list []loop.Certificate) { reported = list } })
	*managed = true
	m.identify()
	*managed = false
	before := m.versions()
	m.operator()
	if after := m.versions(); !maps.Equal(before, after) || len(*findings) > 0 {
		t.Errorf("objects were %v and are %v; the findings are %v", before, after, *findings)
	}
	m.renewed(func() {
		m.now = m.now.Add(etcdmanager.Policy(cluster).LeafLife/2 + time.Hour)
		m.operator()
	})
	if pair, _ := m.leaf(cluster.ClientSecret()); len(pair.Certificate) > 0 {
		t.Error("agents share a certificate again")
	}
	if len(reported) != 5 || slices.ContainsFunc(reported, func(e loop.Certificate) bool { return e.Secret.Name == cluster.ClientSecret() }) {
		t.Errorf("the expiry of %v is reported", reported)
	}

	m.restart(func(d *deps) {
		d.Requests = func(context.Context) ([]certificatesv1.CertificateSigningRequest, error) {
			var list certificatesv1.CertificateSigningRequestList
			err := m.api.List(t.Context(), &list)
			return list.Items, err
		}
	})
	csr := &certificatesv1.CertificateSigningRequest{
		ObjectMeta: metav1.ObjectMeta{Name: "renewal", CreationTimestamp: metav1.NewTime(m.now)},
		Spec: certificatesv1.CertificateSigningRequestSpec{
			SignerName: cluster.Signer(), Username: cluster.Requester(), Request: etcdnodes.Request(t, cluster, "a"),
			Extra:  map[string]certificatesv1.ExtraValue{"authentication.kubernetes.io/node-name": {"a"}},
			Usages: []certificatesv1.KeyUsage{certificatesv1.UsageDigitalSignature, certificatesv1.UsageClientAuth},
		},
	}
	if err := m.api.Create(t.Context(), csr); err != nil {
		t.Fatal(err)
	}
	m.operator()
	if err := m.api.Get(t.Context(), client.ObjectKeyFromObject(csr), csr); err != nil || len(csr.Status.Certificate) == 0 {
		t.Errorf("the request of a node is not signed: %+v, %v", csr.Status, err)
	}

	m.remove(operatorNamespace, cluster.RootSecret())
	m.operator()
	if f := *findings; len(f) != 1 || f[0].Reason != "EtcdCredentials" || !strings.Contains(f[0].Message, operatorNamespace+"/"+cluster.RootSecret()) {
		t.Errorf("without the operator's certificate, the findings are %v", f)
	}
}

// TestANetworkOfAnEarlierVersionIsObservedWithItsCertificate updates the operator while the network is not managed: it
// has no certificate of its own yet.
func TestANetworkOfAnEarlierVersionIsObservedWithItsCertificate(t *testing.T) {
	m, _, findings := observed(t)
	m.remove(operatorNamespace, cluster.RootSecret())
	m.operator()
	if len(*findings) > 0 {
		t.Errorf("the findings are %v", *findings)
	}
}

// TestALostCAIsReplacedAlthoughAgentsShareNoCertificate: the CA that agents trust is in a bundle without a certificate.
func TestALostCAIsReplacedAlthoughAgentsShareNoCertificate(t *testing.T) {
	m := newModel(t)
	m.identify()
	_, before := m.leaf(cluster.ClientSecret())
	m.remove(operatorNamespace, cluster.CASecret())
	for _, name := range m.secrets() {
		m.remove(secretKey(name).Namespace, name)
	}
	m.operator()
	if _, after := m.leaf(cluster.ClientSecret()); !after.Contains(before) {
		t.Error("agents and members do not trust the lost CA any more")
	}
}

func TestTheExpiryOfEveryCertificateIsReported(t *testing.T) {
	m := newModel(t)
	var reported []loop.Certificate
	m.restart(func(d *deps) { d.Expires = func(list []loop.Certificate) { reported = list } })
	m.operator()
	got := map[string]string{}
	for _, e := range reported {
		got[e.Secret.Name] = e.Name
		if left := e.NotAfter.Sub(m.now); left < etcdmanager.Policy(cluster).LeafLife/2 {
			t.Errorf("%s expires in %s", e.Secret, left)
		}
	}
	want := map[string]string{cluster.CASecret(): "authority", cluster.RootSecret(): "certificate", cluster.ClientSecret(): "certificate", cluster.MemberSecret("a"): "certificate",
		cluster.MemberSecret("b"): "certificate", cluster.MemberSecret("c"): "certificate"}
	if !maps.Equal(got, want) {
		t.Errorf("reported are %v, want %v", got, want)
	}
}
