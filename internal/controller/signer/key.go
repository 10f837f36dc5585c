package signer

import (
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/rsa"
	"crypto/x509"
	"fmt"
)

// checkKey looks at the key, and at the proof that the requester has it. A key that would cost much time is not used.
func checkKey(request *x509.CertificateRequest, _ Node, policy Policy) []Refusal {
	if weakness := weakness(request.PublicKey, policy); weakness != "" {
		return []Refusal{{Reason: reasonKey, Message: weakness}}
	}
	switch request.SignatureAlgorithm {
	case x509.SHA1WithRSA, x509.ECDSAWithSHA1, x509.MD5WithRSA, x509.MD2WithRSA, x509.DSAWithSHA1, x509.DSAWithSHA256, x509.UnknownSignatureAlgorithm:
		return []Refusal{{Reason: reasonSignature, Message: fmt.Sprintf("the request is signed with %s; use SHA-256 or better", request.SignatureAlgorithm)}}
	}
	if err := request.CheckSignature(); err != nil {
		return []Refusal{{Reason: reasonSignature, Message: "the request is not signed with its own key"}}
	}
	return nil
}

// weakness says what is wrong with a key; it is empty if nothing is.
func weakness(key any, policy Policy) string {
	const wayOut = "use ECDSA on P-256 or larger, Ed25519, or RSA with %d bits or more"
	switch key := key.(type) {
	case *ecdsa.PublicKey:
		if size := key.Params().BitSize; size < policy.LeastCurve {
			return fmt.Sprintf("the key is on a curve of %d bits; "+wayOut, size, policy.LeastRSA)
		}
	case *rsa.PublicKey:
		size := key.N.BitLen()
		switch {
		case size < policy.LeastRSA:
			return fmt.Sprintf("the RSA key has %d bits; "+wayOut, size, policy.LeastRSA)
		case size > policy.MostRSA:
			return fmt.Sprintf("the RSA key has %d bits; at most %d are taken", size, policy.MostRSA)
		case key.E < 65537 || key.E%2 == 0:
			return fmt.Sprintf("the RSA key has the exponent %d; use 65537", key.E)
		}
	case ed25519.PublicKey:
	default:
		return fmt.Sprintf("the key is a %T; "+wayOut, key, policy.LeastRSA)
	}
	return ""
}
