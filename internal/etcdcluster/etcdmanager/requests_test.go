package etcdmanager

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"net"
	"net/url"
	"strings"
	"testing"

	certificatesv1 "k8s.io/api/certificates/v1"

	"github.com/cluster-network-operator/cno/internal/etcdcluster"
)

// requestOf returns the request that the agent on a node makes, with the changes of change.
func requestOf(t *testing.T, node string, change func(*x509.CertificateRequest)) *certificatesv1.CertificateSigningRequest {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.CertificateRequest{Subject: pkix.Name{CommonName: toy.NodeUser(node)}}
	if change != nil {
		change(template)
	}
	return &certificatesv1.CertificateSigningRequest{Spec: certificatesv1.CertificateSigningRequestSpec{
		SignerName: toy.Signer(), Username: toy.Requester(), Request: encodeRequest(t, template, key),
		Extra:  map[string]certificatesv1.ExtraValue{nodeNameExtra: {node}},
		Usages: []certificatesv1.KeyUsage{certificatesv1.UsageDigitalSignature, certificatesv1.UsageClientAuth},
	}}
}

func encodeRequest(t *testing.T, template *x509.CertificateRequest, key any) []byte {
	t.Helper()
	der, err := x509.CreateCertificateRequest(rand.Reader, template, key)
	if err != nil {
		t.Fatal(err)
	}
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE REQUEST", Bytes: der})
}

func TestNodeGetsACertificateForItselfOnly(t *testing.T) {
	if _, err := validateRequest(toy, requestOf(t, "worker-1", nil), 1); err != nil {
		t.Errorf("the request of an agent: %v", err)
	}
	weak, err := rsa.GenerateKey(rand.Reader, 1024)
	if err != nil {
		t.Fatal(err)
	}
	type csr = certificatesv1.CertificateSigningRequest
	for _, tt := range []struct {
		why    string
		inside func(*x509.CertificateRequest)
		change func(*csr)
		recent int
		reason string
	}{
		{"another node's name", func(r *x509.CertificateRequest) { r.Subject.CommonName = toy.NodeUser("worker-2") }, nil, 1, "toy:node:worker-1 alone"},
		{"the operator's name", func(r *x509.CertificateRequest) { r.Subject.CommonName = etcdcluster.RootUser }, nil, 1, "toy:node:worker-1 alone"},
		{"a name in two parts", func(r *x509.CertificateRequest) { r.Subject.Organization = []string{"system:masters"} }, nil, 1, "toy:node:worker-1 alone"},
		{"no name", func(r *x509.CertificateRequest) { r.Subject.CommonName = "" }, nil, 1, "toy:node:worker-1 alone"},
		{"a DNS name", func(r *x509.CertificateRequest) { r.DNSNames = []string{"localhost"} }, nil, 1, "no alternative names"},
		{"an address", func(r *x509.CertificateRequest) { r.IPAddresses = []net.IP{net.IPv4(127, 0, 0, 1)} }, nil, 1, "no alternative names"},
		{"a mail address", func(r *x509.CertificateRequest) { r.EmailAddresses = []string{"a@b"} }, nil, 1, "no alternative names"},
		{"a URI", func(r *x509.CertificateRequest) { r.URIs = []*url.URL{{Scheme: "spiffe", Host: "a"}} }, nil, 1, "no alternative names"},
		{"another account", nil, func(c *csr) { c.Spec.Username = "system:serviceaccount:openshift-flannel:default" }, 1, "only system:serviceaccount:openshift-toy:toy"},
		{"a person", nil, func(c *csr) { c.Spec.Username = "kubernetes-admin" }, 1, "only system:serviceaccount:openshift-toy:toy"},
		{"a token that is not bound to a pod", nil, func(c *csr) { c.Spec.Extra = nil }, 1, "must be bound to a pod"},
		{"a token of two nodes", nil, func(c *csr) { c.Spec.Extra[nodeNameExtra] = []string{"worker-1", "worker-2"} }, 1, "must be bound to a pod"},
		{"the token of another node", nil, func(c *csr) { c.Spec.Extra[nodeNameExtra] = []string{"worker-2"} }, 1, "toy:node:worker-2 alone"},
		{"a server", nil, func(c *csr) { c.Spec.Usages = append(c.Spec.Usages, certificatesv1.UsageServerAuth) }, 1, `usage "server auth"`},
		{"a CA", nil, func(c *csr) { c.Spec.Usages = append(c.Spec.Usages, certificatesv1.UsageCertSign) }, 1, `usage "cert sign"`},
		{"no client", nil, func(c *csr) { c.Spec.Usages = []certificatesv1.KeyUsage{certificatesv1.UsageDigitalSignature} }, 1, `must contain "client auth"`},
		{"too many", nil, nil, requestsPerHour + 1, "within an hour"},
		{"a weak key", nil, func(c *csr) {
			c.Spec.Request = encodeRequest(t, &x509.CertificateRequest{Subject: pkix.Name{CommonName: toy.NodeUser("worker-1")}}, weak)
		}, 1, "the key must be"},
		{"no PEM", nil, func(c *csr) { c.Spec.Request = []byte("x") }, 1, "one block of PEM"},
		{"something after it", nil, func(c *csr) { c.Spec.Request = append(c.Spec.Request, 'x') }, 1, "one block of PEM"},
		{"a long one", nil, func(c *csr) { c.Spec.Request = make([]byte, maxRequestSize+1) }, 1, "bytes"},
		{"a false signature", nil, func(c *csr) {
			block, _ := pem.Decode(c.Spec.Request)
			block.Bytes[len(block.Bytes)-1] ^= 1
			c.Spec.Request = pem.EncodeToMemory(block)
		}, 1, "the request"},
	} {
		c := requestOf(t, "worker-1", tt.inside)
		if tt.change != nil {
			tt.change(c)
		}
		if _, err := validateRequest(toy, c, tt.recent); err == nil || !strings.Contains(err.Error(), tt.reason) {
			t.Errorf("%s: the error is %v, want one with %q", tt.why, err, tt.reason)
		}
	}
}
