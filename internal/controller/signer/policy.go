package signer

import (
	"crypto/x509"
	"encoding/asn1"
	"time"

	certificatesv1 "k8s.io/api/certificates/v1"
)

// Policy is what nodes may have. It is data; Decide is what makes it hold.
type Policy struct {
	// Longest is how long a certificate is valid at most, and if nothing is asked for.
	Longest time.Duration
	// Group is what the requester must be a member of, if it is the user of a node.
	Group string
	// Accounts are the users of service accounts that agents on nodes have. A request of theirs comes from the node of the pod to which the token is bound,
	// which the API server says.
	Accounts []string
	// Organizations may be in the subject of a request.
	Organizations []string
	// Usages are those that may be asked for, with what they are in a certificate.
	Usages map[certificatesv1.KeyUsage]Usage
	// LeastRSA and MostRSA bound the keys of RSA, in bits; the latter keeps a request from costing much time.
	LeastRSA, MostRSA int
	// LeastCurve is the least size of an elliptic curve, in bits.
	LeastCurve int
	// LargestRequest bounds the text of a request, in bytes.
	LargestRequest int
}

// Usage is what a usage of the API is in a certificate. The zero value is nothing.
type Usage struct {
	Key      x509.KeyUsage
	Extended []x509.ExtKeyUsage
	// More are extended usages that the standard library has no name for.
	More []asn1.ObjectIdentifier
}

// The extended usages that a request itself may name, beside those of the policy's usages: what a node's IPsec uses.
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

// Nodes is the policy for nodes of OVN-Kubernetes, whose IPsec asks for "ipsec tunnel". The usages of IPsec are no longer
// recommended (RFC 4945, section 5.1.3.12); the one that took their place goes with them, so that no implementation of IKE
// refuses the certificate. accounts are those of Policy.Accounts.
func Nodes(accounts ...string) Policy {
	ike := []asn1.ObjectIdentifier{oidIPsecIKE}
	return Policy{
		Longest:       30 * 24 * time.Hour,
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
		LeastRSA: 2048, MostRSA: 8192, LeastCurve: 256, LargestRequest: 16 << 10,
	}
}
