package operator

import (
	"testing"
	"time"

	osv1 "github.com/openshift/api/operator/v1"
	"github.com/prometheus/client_golang/prometheus"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	operatorv1 "github.com/cluster-network-operator/cno/api/operator/v1"
	"github.com/cluster-network-operator/cno/internal/controller/pki"
	"github.com/cluster-network-operator/cno/internal/loop"
	"github.com/cluster-network-operator/cno/internal/manifest"
	"github.com/cluster-network-operator/cno/internal/pipeline"
)

// TestControllersOfProvidersFollowTheNetworksManagement covers a Network that is managed, Unmanaged, paused or deleted.
func TestControllersOfProvidersFollowTheNetworksManagement(t *testing.T) {
	network := func(state osv1.ManagementState, paused string) []client.Object {
		n := &operatorv1.Network{ObjectMeta: metav1.ObjectMeta{Name: operatorv1.NetworkName, Annotations: map[string]string{pipeline.PausedAnnotation: paused}}}
		n.Spec.ManagementState = state
		return []client.Object{n}
	}
	for _, tc := range []struct {
		objects []client.Object
		want    bool
	}{
		{network(osv1.Managed, ""), true},
		{network("", "false"), true},
		{network(osv1.Unmanaged, ""), false},
		{network(osv1.Managed, "true"), false},
		{nil, true},
	} {
		reader := fake.NewClientBuilder().WithScheme(manifest.Scheme()).WithObjects(tc.objects...).Build()
		got, err := managed(reader)(t.Context())
		if err != nil || got != tc.want {
			t.Errorf("%v: %v, error %v", tc.objects, got, err)
		}
	}
}

// TestTheMetricForgetsCertificatesOfMembersThatLeft keeps one series for each certificate that exists.
func TestTheMetricForgetsCertificatesOfMembersThatLeft(t *testing.T) {
	registry := prometheus.NewRegistry()
	m, err := pki.NewMetrics(registry)
	if err != nil {
		t.Fatal(err)
	}
	series := func() (n int) {
		families, err := registry.Gather()
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range families {
			n += len(f.GetMetric())
		}
		return n
	}
	expiry := func(name string) loop.Certificate {
		return loop.Certificate{Secret: client.ObjectKey{Namespace: "openshift-flannel", Name: name}, Name: "certificate", NotAfter: time.Unix(1, 0)}
	}
	report := expirations(m)
	report([]loop.Certificate{expiry("a"), expiry("b")})
	report([]loop.Certificate{expiry("b")})
	if got := series(); got != 1 {
		t.Errorf("%d series, want 1", got)
	}
	if report(nil); series() != 0 {
		t.Error("a series is left of an etcd that is not managed")
	}
}
