package connectivity

import (
	"testing"

	configv1 "github.com/openshift/api/config/v1"
	corev1 "k8s.io/api/core/v1"
)

func TestTheClustersConfigurationTakesPrecedence(t *testing.T) {
	placed := &configv1.NetworkDiagnostics{SourcePlacement: configv1.NetworkDiagnosticsSourcePlacement{NodeSelector: map[string]string{"a": "b"}}}
	tolerant := &configv1.NetworkDiagnostics{TargetPlacement: configv1.NetworkDiagnosticsTargetPlacement{Tolerations: []corev1.Toleration{{}}}}
	blank := &configv1.NetworkDiagnostics{SourcePlacement: configv1.NetworkDiagnosticsSourcePlacement{NodeSelector: map[string]string{}}}
	for _, tc := range []struct {
		why      string
		said     *configv1.NetworkDiagnostics
		disabled bool
		want     bool
	}{
		{"no one says anything", nil, false, true},
		{"the former switch", nil, true, false},
		{"an empty struct says nothing", &configv1.NetworkDiagnostics{}, true, false},
		{"nor do empty maps", blank, true, false},
		{"disabled", &configv1.NetworkDiagnostics{Mode: configv1.NetworkDiagnosticsDisabled}, false, false},
		{"all, whatever the former switch says", &configv1.NetworkDiagnostics{Mode: configv1.NetworkDiagnosticsAll}, true, true},
		{"who says where, wants it", placed, true, true},
		{"who says what is tolerated, too", tolerant, true, true},
	} {
		if got := Enabled(tc.said, tc.disabled); got != tc.want {
			t.Errorf("%s: %v", tc.why, got)
		}
	}
}
