package tlsprofile

import (
	"github.com/cluster-network-operator/cno/internal/status"
	"github.com/cluster-network-operator/cno/internal/tlsprofile"
)

// findings reports an unusable profile.
func findings(s tlsprofile.Settings) []status.Finding {
	if s.Usable() {
		return nil
	}
	return []status.Finding{{
		// The network works, and is as secure as without a profile.
		Component: "TLSProfile", Effect: status.Degraded, Aside: true, Reason: "NoUsableCipher",
		Message: "None of the ciphers of the TLS profile of APIServer cluster is secure and available to programs written in Go; metrics are " +
			"served with their default ones. Add one of ECDHE with AES-GCM or CHACHA20 to spec.tlsSecurityProfile.custom.ciphers, for example ECDHE-ECDSA-AES128-GCM-SHA256",
	}}
}
