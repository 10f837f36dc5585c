package signer

import (
	"crypto/x509"
	"encoding/asn1"
	"time"

	certificatesv1 "k8s.io/api/certificates/v1"
)

// Policy are the rules for certificates; Decide enforces them.
type Policy struct {
	// MaxLifetime is the maximum and default lifetime of a certificate.
	MaxLifetime time.Duration
	// Group is the required group of users of nodes.
	Group string
	// Accounts are the users of the service accounts of agents on nodes. Their requests come from the node of the pod to which the token is
	// bound, as set by the API server.
	Accounts []string
	// Organizations are the allowed organizations in the subject of a request.
	Organizations []string
	// Usages maps the allowed usages to those in the certificate.
	Usages map[certificatesv1.KeyUsage]Usage
	// MinRSABits and MaxRSABits are the allowed sizes of RSA keys; the maximum limits the cost of verification.
	MinRSABits, MaxRSABits int
	// MinCurveBits is the minimum size of an elliptic curve, in bits.
	MinCurveBits int
	// MaxRequestBytes is the maximum size of an encoded request.
	MaxRequestBytes int
}

// Usage is the equivalent of an API usage in a certificate. The zero value is none.
type Usage struct {
	Key      x509.KeyUsage
	Extended []x509.ExtKeyUsage
	// More are extended usages that the standard library has no constant for.
	More []asn1.ObjectIdentifier
}

// requestableExtended are the extended usages that may be in the request itself, in addition to the API usages.
var (
	oidIPsecIKE         = asn1.ObjectIdentifier{1, 3, 6, 1, 5, 5, 7, 3, 17}
	oidIKEIntermediate  = asn1.ObjectIdentifier{1, 3, 6, 1, 5, 5, 8, 2, 2}
	oidServerAuth       = asn1.ObjectIdentifier{1, 3, 6, 1, 5, 5, 7, 3, 1}
	oidClientAuth       = asn1.ObjectIdentifier{1, 3, 6, 1, 5, 5, 7, 3, 2}
	oidIPsecEndSystem   = asn1.ObjectIdentifier{1, 3, 6, 1, 5, 5, 7, 3, 5}
	oidIPsecTunnel      = asn1.ObjectIdentifier{1, 3, 6, 1, 5, 5, 7, 3, 6}
	oidIPsecUser        = asn1.ObjectIdentifier{1, 3, 6, 1, 5, 5, 7, 3, 7}
	requestableExtended = []asn1.ObjectIdentifier{oidServerAuth, oidClientAuth, oidIPsecEndSystem, oidIPsecTunnel, oidIPsecUser, oidIPsecIKE, oidIKEIntermediate}
)

// Nodes returns the policy for nodes of OVN-Kubernetes, whose IPsec requests "ipsec tunnel". The usages of IPsec are deprecated (RFC 4945,
// section 5.1.3.12); their replacement is added, so that every IKE implementation accepts the certificate. accounts sets Policy.Accounts.
func Nodes(accounts ...string) Policy {
	ike := []asn1.ObjectIdentifier{oidIPsecIKE}
	return Policy{
		MaxLifetime:   30 * 24 * time.Hour,
		Group:         "system:ovn-nodes",
		Accounts:      accounts,
		Organizations: []string{"ovnkubernetes", "system:ovn-nodes"},
		Usages: map[certificatesv1.KeyUsage]Usage{
			certificatesv1.UsageDigitalSignature: {Key: x509.KeyUsageDigitalSignature},
			certificatesv1.UsageKeyEncipherment:  {Key: x509.KeyUsageKeyEncipherment},
			certificatesv1.UsageServerAuth:       {Extended: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}},
			certificatesv1.UsageClientAuth:       {Extended: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}},
			certificatesv1.UsageIPsecEndSystem:   {Extended: []x509.ExtKeyUsage{x509.ExtKeyUsageIPSECEndSystem}, More: ike},
			certificatesv1.UsageIPsecTunnel:      {Extended: []x509.ExtKeyUsage{x509.ExtKeyUsageIPSECTunnel}, More: ike},
			certificatesv1.UsageIPsecUser:        {Extended: []x509.ExtKeyUsage{x509.ExtKeyUsageIPSECUser}, More: ike},
		},
		MinRSABits: 2048, MaxRSABits: 8192, MinCurveBits: 256, MaxRequestBytes: 16 << 10,
	}
}
