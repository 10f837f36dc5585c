package controller

import (
	"context"
	"maps"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/cluster-network-operator/cno/internal/status"
	"github.com/cluster-network-operator/cno/providers/flannel/record"
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
	m.loop.deps.Managed = func(context.Context) (bool, error) { return *managed, nil }
	m.loop.deps.Report = func(f ...status.Finding) { *findings = f }
	return m, managed, findings
}

func TestANetworkThatIsNotManagedIsOnlyObserved(t *testing.T) {
	m, managed, findings := observed(t)
	for _, key := range []client.ObjectKey{
		{Namespace: operatorNamespace, Name: record.AuthoritySecret}, {Namespace: record.Namespace, Name: record.MemberSecret("b")},
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
	m.remove(record.Namespace, record.ClientSecret)
	m.operator()
	if f := *findings; len(f) != 1 || f[0].Reason != "EtcdCredentials" {
		t.Errorf("without a certificate of clients, the findings are %v", f)
	}

	*managed = true
	m.operator()
	for _, name := range []string{record.ClientSecret, record.MemberSecret("b")} {
		m.leaf(name) // fails the test if it does not exist
	}
}

func TestCertificatesAreRenewedWhileTheNetworkIsNotManaged(t *testing.T) {
	m, _, findings := observed(t)
	before, bundle := m.leaf(record.ClientSecret)
	m.now = m.now.Add(policy().LeafLife/2 + time.Hour)
	m.operator()
	after, same := m.leaf(record.ClientSecret)
	cert, _, err := after.Parse()
	if err != nil || string(before.Certificate) == string(after.Certificate) || !bundle.Trusts(cert, m.now) || !bundle.Contains(same) {
		t.Errorf("the certificate was not renewed by the CA that members trust: %v", err)
	}
	m.intact()
	if len(*findings) > 0 {
		t.Errorf("the findings are %v", *findings)
	}
}

func TestTheExpiryOfEveryCertificateIsReported(t *testing.T) {
	m := newModel(t)
	var reported []Expiry
	m.loop.deps.Expires = func(list []Expiry) { reported = list }
	m.operator()
	got := map[string]string{}
	for _, e := range reported {
		got[e.Secret.Name] = e.Certificate
		if left := e.NotAfter.Sub(m.now); left < policy().LeafLife/2 {
			t.Errorf("%s expires in %s", e.Secret, left)
		}
	}
	want := map[string]string{record.AuthoritySecret: "authority", record.ClientSecret: "certificate", record.MemberSecret("a"): "certificate",
		record.MemberSecret("b"): "certificate", record.MemberSecret("c"): "certificate"}
	if !maps.Equal(got, want) {
		t.Errorf("reported are %v, want %v", got, want)
	}
}
