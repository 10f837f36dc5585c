package main

import (
	"net/netip"
	"testing"

	configv1 "github.com/openshift/api/config/v1"
	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/cluster-network-operator/cno/internal/metricsproxy"
	"github.com/cluster-network-operator/cno/internal/metricsserver"
	"github.com/cluster-network-operator/cno/internal/tlsprofile"
)

// TestRenderedArgumentsMatchTheProgram: what metricsproxy renders, metrics-proxy reads, and check-endpoints the same flags of TLS.
func TestRenderedArgumentsMatchTheProgram(t *testing.T) {
	for _, profile := range []configv1.TLSProfileType{"", configv1.TLSProfileOldType, configv1.TLSProfileIntermediateType, configv1.TLSProfileModernType} {
		var settings tlsprofile.Settings
		if profile != "" {
			settings = tlsprofile.Resolve(&configv1.TLSSecurityProfile{Type: profile}, "")
		}
		objects, err := metricsproxy.Objects(metricsproxy.Options{Namespace: "a", Name: "b", Image: "c", TLS: settings, Endpoints: []metricsproxy.Endpoint{
			{App: "d", Port: 9102, Upstream: netip.MustParseAddrPort("127.0.0.1:29102")}, {App: "e", Port: 9110, Upstream: netip.MustParseAddrPort("[::1]:12381")},
		}})
		if err != nil {
			t.Fatal(err)
		}
		var d appsv1.DaemonSet
		if err := runtime.DefaultUnstructuredConverter.FromUnstructured(objects[len(objects)-1].Object.Object, &d); err != nil {
			t.Fatal(err)
		}
		args := d.Spec.Template.Spec.Containers[0].Args
		cmd := metricsProxy()
		if args[0] != cmd.Name() {
			t.Errorf("the command is %s, want %s", args[0], cmd.Name())
		}
		if err := cmd.ParseFlags(args[1:]); err != nil {
			t.Fatal(err)
		}
		endpoints, err := cmd.Flags().GetStringArray("endpoint")
		if err != nil || len(endpoints) != 2 {
			t.Errorf("%s: endpoints %v, %v", profile, endpoints, err)
		}
		for _, e := range endpoints {
			if _, err := metricsserver.ParseEndpoint(e); err != nil {
				t.Errorf("%s: %v", profile, err)
			}
		}
		other := checkEndpoints()
		if err := other.ParseFlags(settings.Flags()); err != nil {
			t.Fatal(err)
		}
		least, err := other.Flags().GetString("tls-min-version")
		if err != nil {
			t.Fatal(err)
		}
		suites, err := other.Flags().GetStringSlice("tls-cipher-suites")
		if err != nil {
			t.Fatal(err)
		}
		got, err := metricsserver.TLSConfig(least, suites)
		if err != nil {
			t.Fatalf("%s: %v", profile, err)
		}
		want, err := metricsserver.TLSConfig("", nil)
		if err != nil {
			t.Fatal(err)
		}
		if profile != "" {
			settings.Apply(want)
		}
		if got.MinVersion != want.MinVersion || len(got.CipherSuites) != len(want.CipherSuites) {
			t.Errorf("%s: got %x with %d suites, want %x with %d", profile, got.MinVersion, len(got.CipherSuites), want.MinVersion, len(want.CipherSuites))
		}
	}
}
