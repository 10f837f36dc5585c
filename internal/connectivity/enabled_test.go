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
		config   *configv1.NetworkDiagnostics
		disabled bool
		want     bool
	}{
		{"nothing is set", nil, false, true},
		{"the former setting", nil, true, false},
		{"an empty struct is unset", &configv1.NetworkDiagnostics{}, true, false},
		{"empty maps are unset", blank, true, false},
		{"disabled", &configv1.NetworkDiagnostics{Mode: configv1.NetworkDiagnosticsDisabled}, false, false},
		{"all, regardless of the former setting", &configv1.NetworkDiagnostics{Mode: configv1.NetworkDiagnosticsAll}, true, true},
		{"a placement enables checks", placed, true, true},
		{"tolerations enable checks", tolerant, true, true},
	} {
		if got := Enabled(tc.config, tc.disabled); got != tc.want {
			t.Errorf("%s: %v", tc.why, got)
		}
	}
}
