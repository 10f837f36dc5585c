package metricsserver

import (
	"crypto/tls"
	"strings"
	"testing"
)

func TestFlagsOfTLSAreReadOrRefused(t *testing.T) {
	config, err := TLSConfig("VersionTLS13", []string{"TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256"})
	if err != nil || config.MinVersion != tls.VersionTLS13 || len(config.CipherSuites) != 1 {
		t.Errorf("%+v, %v", config, err)
	}
	if config, err := TLSConfig("", nil); err != nil || config.MinVersion != tls.VersionTLS12 || config.CipherSuites != nil {
		t.Errorf("%+v, %v", config, err)
	}
	for _, tc := range []struct {
		why, version, suite, message string
	}{
		{"too old", "VersionTLS10", "", "VersionTLS12"},
		{"not secure", "", "TLS_RSA_WITH_RC4_128_SHA", "not secure"},
	} {
		if _, err := TLSConfig(tc.version, []string{tc.suite}[:len(strings.Fields(tc.suite))]); err == nil || !strings.Contains(err.Error(), tc.message) {
			t.Errorf("%s: %v", tc.why, err)
		}
	}
}
