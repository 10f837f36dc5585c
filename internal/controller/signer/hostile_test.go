package signer

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/asn1"
	"encoding/pem"
	"fmt"
	randv2 "math/rand/v2"
	"net"
	"net/url"
	"testing"
	"time"

	certificatesv1 "k8s.io/api/certificates/v1"

	"github.com/cluster-network-operator/cno/internal/certs"
)

// hostile is a request under construction. Each attack changes one thing so that the request must be refused; attacks
// combine.
type hostile struct {
	template *x509.CertificateRequest
	key      crypto.Signer
	csr      *certificatesv1.CertificateSigningRequest
	mangle   func([]byte) []byte
}

// attack is one way to request what the requester may not have.
type attack struct {
	name string
	do   func(*hostile, *randv2.Rand)
}

// stolen are names and addresses of other hosts.
var stolen = []string{"worker-1", "master-0.evil.example", "kubernetes.default.svc", "system:masters", "localhost", "*.example.com", "master-0\x00.example.com", "00000000-0000-0000-0000-000000000000", "10.96.0.1"}

func pick[T any](r *randv2.Rand, from []T) T { return from[r.IntN(len(from))] }

func (h *hostile) extend(oid asn1.ObjectIdentifier, value any) {
	der, err := asn1.Marshal(value)
	if err != nil {
		panic(err)
	}
	h.template.ExtraExtensions = append(h.template.ExtraExtensions, pkix.Extension{Id: oid, Value: der})
}

func attacks() []attack {
	return []attack{
		{"user", func(h *hostile, r *randv2.Rand) {
			h.csr.Spec.Username = pick(r, []string{"admin", "system:ovn-node:", "system:ovn-node:ghost", "system:node:master-0", "SYSTEM:OVN-NODE:master-0", "system:ovn-node:master-0/status", " system:ovn-node:master-0"})
		}},
		{"group", func(h *hostile, r *randv2.Rand) {
			h.csr.Spec.Groups = pick(r, [][]string{nil, {"system:authenticated"}, {"system:nodes"}, {"system:ovn-nodes "}})
		}},
		{"common name", func(h *hostile, r *randv2.Rand) { h.template.Subject.CommonName = pick(r, stolen) }},
		{"second common name", func(h *hostile, r *randv2.Rand) {
			h.template.Subject.ExtraNames = append(h.template.Subject.ExtraNames, pkix.AttributeTypeAndValue{Type: oidCommonName, Value: pick(r, stolen)})
		}},
		{"organization", func(h *hostile, r *randv2.Rand) {
			h.template.Subject.Organization = []string{pick(r, []string{"system:masters", "system:nodes", "system:ovn-nodes\x00", "x"})}
		}},
		{"DNS name", func(h *hostile, r *randv2.Rand) { h.template.DNSNames = append(h.template.DNSNames, pick(r, stolen)) }},
		{"address", func(h *hostile, r *randv2.Rand) {
			h.template.IPAddresses = append(h.template.IPAddresses, net.ParseIP(pick(r, []string{"10.96.0.1", "192.0.2.11", "::1", "192.0.2.99", "::ffff:192.0.2.11"})))
		}},
		{"mail", func(h *hostile, _ *randv2.Rand) { h.template.EmailAddresses = []string{"root@example.com"} }},
		{"URI", func(h *hostile, _ *randv2.Rand) { h.template.URIs = []*url.URL{{Scheme: "spiffe", Host: "cluster"}} }},
		{"authority", func(h *hostile, _ *randv2.Rand) {
			h.extend(oidBasicConstraints, struct{ IsCA bool }{true})
		}},
		{"sign certificates", func(h *hostile, _ *randv2.Rand) {
			h.extend(oidKeyUsage, asn1.BitString{Bytes: []byte{0x84}, BitLength: 6})
		}},
		{"extended usage", func(h *hostile, r *randv2.Rand) {
			h.extend(oidExtendedKeyUsage, []asn1.ObjectIdentifier{pick(r, []asn1.ObjectIdentifier{{2, 5, 29, 37, 0}, {1, 3, 6, 1, 5, 5, 7, 3, 3}, {1, 3, 6, 1, 5, 5, 7, 3, 9}})})
		}},
		{"extension", func(h *hostile, _ *randv2.Rand) { h.extend(asn1.ObjectIdentifier{2, 5, 29, 30}, "x") }},
		{"usage", func(h *hostile, r *randv2.Rand) {
			h.csr.Spec.Usages = append(h.csr.Spec.Usages, pick(r, []certificatesv1.KeyUsage{certificatesv1.UsageCertSign, certificatesv1.UsageCRLSign, certificatesv1.UsageAny, certificatesv1.UsageCodeSigning, certificatesv1.UsageOCSPSigning}))
		}},
		{"weak key", func(h *hostile, r *randv2.Rand) {
			h.key = weakRSA()
			if r.IntN(2) == 0 {
				h.key, _ = ecdsa.GenerateKey(elliptic.P224(), rand.Reader)
			}
		}},
		{"another's key", func(h *hostile, _ *randv2.Rand) {
			h.mangle = func(der []byte) []byte { der[len(der)-3] ^= 0x55; return der } // the signature is last
		}},
	}
}

// newHostile creates a request of a node with some attacks in it, and returns their names.
func newHostile(tb testing.TB, r *randv2.Rand, key crypto.Signer, node string) (csr *certificatesv1.CertificateSigningRequest, how string) {
	tb.Helper()
	all := attacks()
	h := &hostile{template: named(node), key: key, mangle: func(der []byte) []byte { return der }, csr: &certificatesv1.CertificateSigningRequest{
		Spec: certificatesv1.CertificateSigningRequestSpec{SignerName: SignerName, Usages: []certificatesv1.KeyUsage{certificatesv1.UsageIPsecTunnel},
			Username: userPrefix + node, Groups: []string{"system:ovn-nodes", "system:authenticated"}}}}
	for range 1 + r.IntN(3) {
		a := pick(r, all)
		a.do(h, r)
		how += a.name + ", "
	}
	if r.IntN(3) == 0 {
		seconds := int32(1 << 30)
		h.csr.Spec.ExpirationSeconds = &seconds
	}
	der, err := x509.CreateCertificateRequest(rand.Reader, h.template, h.key)
	if err != nil { // the library does not let one ask for some of it
		return newHostile(tb, r, key, node)
	}
	h.csr.Spec.Request = pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE REQUEST", Bytes: h.mangle(der)})
	return h.csr, how
}

func TestThousandsOfHostileRequestsGetNoCertificate(t *testing.T) {
	key := newKey(t)
	reasons := map[string]int{}
	for seed := range uint64(5000) {
		csr, how := newHostile(t, randv2.New(randv2.NewPCG(seed, 7)), key, "master-0")
		node := Node{}
		if csr.Spec.Username == "system:ovn-node:master-0" {
			node = master()
		}
		d := Decide(csr, node, Nodes(), now)
		if d.Action != Deny || d.Reason() == "" {
			t.Errorf("seed %d: %s%s", seed, how, d.Action)
		}
		reasons[d.Reason()]++
	}
	if len(reasons) < 9 {
		t.Errorf("only some rules were tried: %v", reasons)
	}
}

// FuzzDecide decides arbitrary requests of a node. All signed certificates are harmless.
func FuzzDecide(f *testing.F) {
	key := newKey(f)
	f.Add(good(f).Spec.Request, "ipsec tunnel", int32(600), "master-0")
	for seed := range uint64(20) {
		csr, _ := newHostile(f, randv2.New(randv2.NewPCG(seed, 9)), key, "master-0")
		f.Add(csr.Spec.Request, string(csr.Spec.Usages[0]), int32(1<<30), "master-0")
	}
	ca, err := certs.NewCA("signer-ca", now, 1000*24*time.Hour)
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, request []byte, usage string, seconds int32, node string) {
		csr := &certificatesv1.CertificateSigningRequest{Spec: certificatesv1.CertificateSigningRequestSpec{
			Request: request, SignerName: SignerName, Usages: []certificatesv1.KeyUsage{certificatesv1.KeyUsage(usage)}, ExpirationSeconds: &seconds,
			Username: userPrefix + node, Groups: []string{"system:ovn-nodes"}}}
		d := Decide(csr, master(), Nodes(), now)
		if d.Action == Sign {
			issued, err := ca.Certify(d.Template, d.Key)
			if err == nil {
				harmless(t, issued, master(), ca)
			}
			return
		}
		if d.Action != Deny || len(d.Message()) > maxMessage+len("...") {
			t.Errorf("%s with a message of %d bytes", d.Action, len(d.Message()))
		}
	})
}

// FuzzParseRequest parses arbitrary input. A parsed request is exactly one, and encodes to the same text.
func FuzzParseRequest(f *testing.F) {
	f.Add(good(f).Spec.Request)
	f.Add([]byte("-----BEGIN CERTIFICATE REQUEST-----\n-----END CERTIFICATE REQUEST-----\n"))
	f.Fuzz(func(t *testing.T, text []byte) {
		request, err := parseRequest(text, 16<<10)
		if err != nil {
			return
		}
		again, err := parseRequest(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE REQUEST", Bytes: request.Raw}), 32<<10)
		if err != nil || fmt.Sprint(again.Subject) != fmt.Sprint(request.Subject) {
			t.Errorf("read differently: %v", err)
		}
	})
}
