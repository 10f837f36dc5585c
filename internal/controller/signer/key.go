package signer

import (
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/rsa"
	"crypto/x509"
	"fmt"
)

// checkKey checks the key and the proof of possession. Keys that are expensive to verify are rejected first.
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

// weakness describes why a key is not accepted; empty if it is.
func weakness(key any, policy Policy) string {
	const remedy = "use ECDSA on P-256 or larger, Ed25519, or RSA with %d bits or more"
	switch key := key.(type) {
	case *ecdsa.PublicKey:
		if size := key.Params().BitSize; size < policy.MinCurveBits {
			return fmt.Sprintf("the key is on a curve of %d bits; "+remedy, size, policy.MinRSABits)
		}
	case *rsa.PublicKey:
		size := key.N.BitLen()
		switch {
		case size < policy.MinRSABits:
			return fmt.Sprintf("the RSA key has %d bits; "+remedy, size, policy.MinRSABits)
		case size > policy.MaxRSABits:
			return fmt.Sprintf("the RSA key has %d bits; at most %d are taken", size, policy.MaxRSABits)
		case key.E < 65537 || key.E%2 == 0:
			return fmt.Sprintf("the RSA key has the exponent %d; use 65537", key.E)
		}
	case ed25519.PublicKey:
	default:
		return fmt.Sprintf("the key is a %T; "+remedy, key, policy.MinRSABits)
	}
	return ""
}
