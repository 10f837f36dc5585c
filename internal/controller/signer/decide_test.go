package signer

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/asn1"
	"encoding/pem"
	"net"
	"net/netip"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	certificatesv1 "k8s.io/api/certificates/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/cluster-network-operator/cno/internal/certs"
)

var now = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

const chassis = "3a4f1f0e-1f0c-4d0e-9a2b-0123456789ab"

func master() Node {
	return Node{Name: "master-0", Names: []string{"master-0.example.com", chassis},
		Addresses: []netip.Addr{netip.MustParseAddr("192.0.2.10"), netip.MustParseAddr("fd00::10")}, Contested: map[string]string{"192.0.2.99": disputed, "192.0.2.98": "worker-1"}}
}

func newKey(tb testing.TB) *ecdsa.PrivateKey {
	tb.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		tb.Fatal(err)
	}
	return key
}

// weakRSA returns a key that is too small.
var weakRSA = sync.OnceValue(func() *rsa.PrivateKey {
	key, err := rsa.GenerateKey(rand.Reader, 1024)
	if err != nil {
		panic(err)
	}
	return key
})

// encode makes the text of a request.
func encode(tb testing.TB, template *x509.CertificateRequest, key crypto.Signer) []byte {
	tb.Helper()
	der, err := x509.CreateCertificateRequest(rand.Reader, template, key)
	if err != nil {
		tb.Fatal(err)
	}
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE REQUEST", Bytes: der})
}

func named(name string) *x509.CertificateRequest {
	return &x509.CertificateRequest{Subject: pkix.Name{CommonName: name}, DNSNames: []string{name}}
}

// good is a request as a pod of master-0 makes it.
func good(tb testing.TB) *certificatesv1.CertificateSigningRequest {
	tb.Helper()
	return &certificatesv1.CertificateSigningRequest{
		ObjectMeta: metav1.ObjectMeta{Name: "ipsec-csr-master-0", UID: "1"},
		Spec: certificatesv1.CertificateSigningRequestSpec{
			Request: encode(tb, named("master-0"), newKey(tb)), SignerName: SignerName, Usages: []certificatesv1.KeyUsage{certificatesv1.UsageIPsecTunnel},
			Username: "system:ovn-node:master-0", Groups: []string{"system:ovn-nodes", "system:authenticated"},
		},
	}
}

func extension(tb testing.TB, oid asn1.ObjectIdentifier, value any) pkix.Extension {
	tb.Helper()
	der, err := asn1.Marshal(value)
	if err != nil {
		tb.Fatal(err)
	}
	return pkix.Extension{Id: oid, Value: der}
}

func with(csr *certificatesv1.CertificateSigningRequest, condition certificatesv1.RequestConditionType) *certificatesv1.CertificateSigningRequest {
	csr.Status.Conditions = append(csr.Status.Conditions, certificatesv1.CertificateSigningRequestCondition{Type: condition, Status: corev1.ConditionTrue})
	return csr
}

func TestNodeGetsOnlyItsOwnCertificate(t *testing.T) {
	ca, err := certs.NewCA("signer-ca", now, 1000*24*time.Hour)
	if err != nil {
		t.Fatal(err)
	}
	_, edKey, _ := ed25519.GenerateKey(rand.Reader)
	rsaKey, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	p384, _ := ecdsa.GenerateKey(elliptic.P384(), rand.Reader)
	for _, tc := range []struct {
		name     string
		template *x509.CertificateRequest
		key      crypto.Signer
	}{
		{"its name", named("master-0"), newKey(t)},
		{"its name in Open vSwitch, as OVN's IPsec asks", &x509.CertificateRequest{DNSNames: []string{chassis},
			Subject: pkix.Name{Country: []string{"US"}, Organization: []string{"ovnkubernetes"}, OrganizationalUnit: []string{"kind"}, CommonName: chassis}}, rsaKey},
		{"no alternative name", &x509.CertificateRequest{Subject: pkix.Name{CommonName: "master-0"}}, p384},
		{"all that it is", &x509.CertificateRequest{Subject: pkix.Name{CommonName: "master-0.example.com"}, DNSNames: []string{"master-0", "master-0.example.com"},
			IPAddresses: []net.IP{net.IPv4(192, 0, 2, 10), net.ParseIP("fd00::10")}}, edKey},
		{"what openssl adds", &x509.CertificateRequest{Subject: pkix.Name{CommonName: "master-0"}, ExtraExtensions: []pkix.Extension{
			extension(t, oidBasicConstraints, struct{}{}), extension(t, oidSubjectKeyID, []byte{1, 2}),
			extension(t, oidKeyUsage, asn1.BitString{Bytes: []byte{0xe0}, BitLength: 3})}}, newKey(t)},
	} {
		csr := good(t)
		csr.Spec.Request = encode(t, tc.template, tc.key)
		d := Decide(csr, master(), Nodes(), now)
		if d.Action != Sign {
			t.Errorf("%s: %s", tc.name, d.Message())
			continue
		}
		issued, err := ca.Certify(d.Template, d.Key)
		if err != nil {
			t.Fatal(err)
		}
		certificate := harmless(t, issued, master(), ca)
		if !slices.Equal(certificate.DNSNames, tc.template.DNSNames) || len(certificate.IPAddresses) != len(tc.template.IPAddresses) || certificate.Subject.CommonName != tc.template.Subject.CommonName {
			t.Errorf("%s: got %s %v %v", tc.name, certificate.Subject, certificate.DNSNames, certificate.IPAddresses)
		}
	}
}

// harmless fails the test unless a certificate has only names, addresses and usages of its node. It does not use the code under test.
func harmless(tb testing.TB, issued []byte, node Node, ca *certs.CA) *x509.Certificate {
	tb.Helper()
	block, rest := pem.Decode(issued)
	if block == nil || len(rest) > 0 {
		tb.Fatalf("issued %q", issued)
	}
	c, err := x509.ParseCertificate(block.Bytes)
	if err != nil {
		tb.Fatal(err)
	}
	names := append([]string{node.Name}, node.Names...)
	bad := c.IsCA || c.KeyUsage&^(x509.KeyUsageDigitalSignature|x509.KeyUsageKeyEncipherment) != 0 || len(c.ExtKeyUsage) == 0 && len(c.UnknownExtKeyUsage) == 0 ||
		c.NotAfter.Sub(c.NotBefore) > 30*24*time.Hour || !slices.Contains(names, c.Subject.CommonName) || len(c.EmailAddresses)+len(c.URIs) > 0 || c.SerialNumber.BitLen() < 65
	for _, part := range c.Subject.Names {
		bad = bad || !part.Type.Equal(oidCommonName) && (!part.Type.Equal(oidOrganization) || part.Value != "ovnkubernetes" && part.Value != "system:ovn-nodes")
	}
	for _, name := range c.DNSNames {
		bad = bad || !slices.Contains(names, name)
	}
	for _, ip := range c.IPAddresses {
		a, _ := netip.AddrFromSlice(ip)
		bad = bad || !slices.Contains(node.Addresses, a)
	}
	for _, usage := range c.ExtKeyUsage {
		bad = bad || !slices.Contains([]x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth, x509.ExtKeyUsageIPSECEndSystem, x509.ExtKeyUsageIPSECTunnel, x509.ExtKeyUsageIPSECUser}, usage)
	}
	if bad || c.CheckSignatureFrom(ca.Certificate()) != nil || !c.BasicConstraintsValid {
		tb.Fatalf("issued to %s: %s %v %v, usages %v %v, CA %v, from %s to %s", node.Name, c.Subject, c.DNSNames, c.IPAddresses, c.KeyUsage, c.ExtKeyUsage, c.IsCA, c.NotBefore, c.NotAfter)
	}
	return c
}

func TestEachRefusalHasItsReason(t *testing.T) {
	p224, _ := ecdsa.GenerateKey(elliptic.P224(), rand.Reader)
	ask := func(change func(*x509.CertificateRequest)) func(*certificatesv1.CertificateSigningRequest) {
		return func(csr *certificatesv1.CertificateSigningRequest) {
			template := named("master-0")
			change(template)
			csr.Spec.Request = encode(t, template, newKey(t))
		}
	}
	key := func(key crypto.Signer) func(*certificatesv1.CertificateSigningRequest) {
		return func(csr *certificatesv1.CertificateSigningRequest) {
			csr.Spec.Request = encode(t, named("master-0"), key)
		}
	}
	extra := func(oid asn1.ObjectIdentifier, value any) func(*certificatesv1.CertificateSigningRequest) {
		return ask(func(r *x509.CertificateRequest) { r.ExtraExtensions = []pkix.Extension{extension(t, oid, value)} })
	}
	for _, tc := range []struct {
		name, reason, contains string
		change                 func(*certificatesv1.CertificateSigningRequest)
	}{
		{"an administrator is no node", reasonUser, `denied: user "kube:admin" is not system:ovn-node:<existing node> in group system:ovn-nodes`,
			func(c *certificatesv1.CertificateSigningRequest) { c.Spec.Username = "kube:admin" }},
		{"a node that does not exist", reasonUser, `user "system:ovn-node:master-9" is not`,
			func(c *certificatesv1.CertificateSigningRequest) { c.Spec.Username = "system:ovn-node:master-9" }},
		{"a name that no node can have", reasonUser, "is not system:ovn-node:", func(c *certificatesv1.CertificateSigningRequest) { c.Spec.Username = "system:ovn-node:../master-0" }},
		{"the name alone, without the group", reasonUser, "in group system:ovn-nodes", func(c *certificatesv1.CertificateSigningRequest) { c.Spec.Groups = []string{"system:authenticated"} }},
		{"another node's name: what OpenShift's operator signed for five years", reasonName, `denied: requested CN "worker-1" but requester is node "master-0"`,
			ask(func(r *x509.CertificateRequest) { r.Subject.CommonName = "worker-1" })},
		{"no name", reasonName, `requested CN "" but`, ask(func(r *x509.CertificateRequest) { r.Subject.CommonName = "" })},
		{"two names, of which one is its own", reasonName, "several common names", ask(func(r *x509.CertificateRequest) {
			r.Subject = pkix.Name{ExtraNames: []pkix.AttributeTypeAndValue{{Type: oidCommonName, Value: "worker-1"}, {Type: oidCommonName, Value: "master-0"}}}
		})},
		{"its own name in capitals", reasonName, `"MASTER-0"`, ask(func(r *x509.CertificateRequest) { r.Subject.CommonName = "MASTER-0" })},
		{"a group of administrators", reasonSubject, `requested organization "system:masters"`, ask(func(r *x509.CertificateRequest) { r.Subject.Organization = []string{"system:masters"} })},
		{"an attribute that is a name elsewhere", reasonSubject, "2.5.4.5", ask(func(r *x509.CertificateRequest) { r.Subject.SerialNumber = "1" })},
		{"another node's name beside its own", reasonSAN, `requested DNS name "worker-1", which is not of node "master-0"`, ask(func(r *x509.CertificateRequest) { r.DNSNames = append(r.DNSNames, "worker-1") })},
		{"a wildcard", reasonSAN, `"*.example.com"`, ask(func(r *x509.CertificateRequest) { r.DNSNames = []string{"*.example.com"} })},
		{"the API server's address", reasonSAN, `requested IP address "192.0.2.1"`, ask(func(r *x509.CertificateRequest) { r.IPAddresses = []net.IP{net.IPv4(192, 0, 2, 1)} })},
		{"an address that two nodes have", reasonSAN, "which another node claims, too", ask(func(r *x509.CertificateRequest) { r.IPAddresses = []net.IP{net.IPv4(192, 0, 2, 99)} })},
		{"a mail address", reasonSAN, "email address", ask(func(r *x509.CertificateRequest) { r.EmailAddresses = []string{"a@example.com"} })},
		{"a URI, as SPIFFE has them", reasonSAN, "URI", ask(func(r *x509.CertificateRequest) { r.URIs = []*url.URL{{Scheme: "spiffe", Host: "x"}} })},
		{"a kind of name that the library passes over", reasonSAN, "kind 0", ask(func(r *x509.CertificateRequest) {
			r.DNSNames = nil
			r.ExtraExtensions = []pkix.Extension{extension(t, oidSubjectAltName, []asn1.RawValue{{Class: asn1.ClassContextSpecific, Tag: 0, IsCompound: true, Bytes: []byte{5, 0}}})}
		})},
		{"to sign for others", reasonCA, "CA:TRUE", extra(oidBasicConstraints, struct{ IsCA bool }{true})},
		{"to sign certificates", reasonUsage, "key usage to sign", extra(oidKeyUsage, asn1.BitString{Bytes: []byte{0x04}, BitLength: 6})},
		{"to sign code", reasonUsage, "1.3.6.1.5.5.7.3.3", extra(oidExtendedKeyUsage, []asn1.ObjectIdentifier{{1, 3, 6, 1, 5, 5, 7, 3, 3}})},
		{"for anything", reasonUsage, "2.5.29.37.0", extra(oidExtendedKeyUsage, []asn1.ObjectIdentifier{{2, 5, 29, 37, 0}})},
		{"a custom extension", reasonExtension, "1.2.3", extra(asn1.ObjectIdentifier{1, 2, 3}, 1)},
		{"a usage that nodes do not get", reasonUsage, `requested usage "cert sign", "any"`, func(c *certificatesv1.CertificateSigningRequest) {
			c.Spec.Usages = append(c.Spec.Usages, certificatesv1.UsageCertSign, certificatesv1.UsageAny)
		}},
		{"RSA with 1024 bits", reasonKey, "the RSA key has 1024 bits; use ECDSA on P-256 or larger, Ed25519, or RSA with 2048 bits or more", key(weakRSA())},
		{"a small curve", reasonKey, "on a curve of 224 bits", key(p224)},
		{"not signed with its own key", reasonSignature, "not signed with its own key", func(c *certificatesv1.CertificateSigningRequest) {
			block, _ := pem.Decode(c.Spec.Request)
			block.Bytes[len(block.Bytes)-1] ^= 1
			c.Spec.Request = pem.EncodeToMemory(block)
		}},
		{"not PEM", reasonDecode, "not in PEM form", func(c *certificatesv1.CertificateSigningRequest) { c.Spec.Request = []byte("hello") }},
		{"a certificate", reasonDecode, `the PEM block type must be CERTIFICATE REQUEST, not "CERTIFICATE"`, func(c *certificatesv1.CertificateSigningRequest) {
			c.Spec.Request = pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: []byte{1}})
		}},
		{"two requests, of which a reader may see the other one", reasonDecode, "something after the request", func(c *certificatesv1.CertificateSigningRequest) {
			c.Spec.Request = append(c.Spec.Request, c.Spec.Request...)
		}},
		{"a request for eternity", reasonDecode, "at most 16384 are read", func(c *certificatesv1.CertificateSigningRequest) { c.Spec.Request = make([]byte, 20000) }},
	} {
		csr := good(t)
		tc.change(csr)
		d := Decide(csr, master(), Nodes(), now)
		if d.Action != Deny || d.Reason() != tc.reason || !strings.Contains(d.Message(), tc.contains) {
			t.Errorf("%s: %s, %s, %q; want %s, %q", tc.name, d.Action, d.Reason(), d.Message(), tc.reason, tc.contains)
		}
		if d := Decide(with(csr, certificatesv1.CertificateApproved), master(), Nodes(), now); d.Action != Fail {
			t.Errorf("%s, approved by a third party: %s", tc.name, d.Action)
		}
	}
}

func TestAllViolatedRulesAreNamedAtOnce(t *testing.T) {
	csr := good(t)
	csr.Spec.Request = encode(t, &x509.CertificateRequest{Subject: pkix.Name{CommonName: "worker-1", Organization: []string{"system:masters"}}, DNSNames: []string{"worker-1"}}, weakRSA())
	csr.Spec.Usages = []certificatesv1.KeyUsage{certificatesv1.UsageCodeSigning}
	message := Decide(csr, master(), Nodes(), now).Message()
	for _, want := range []string{"1024 bits", "system:masters", `CN "worker-1"`, `DNS name "worker-1"`, "code signing"} {
		if !strings.Contains(message, want) {
			t.Errorf("%q is missing in %s", want, message)
		}
	}
}

func TestFinishedRequestsAreIgnored(t *testing.T) {
	issued := good(t)
	issued.Status.Certificate = []byte("x")
	issued.Spec.Username = "system:ovn-node:gone" // its node was deleted since
	elsewhere := good(t)
	elsewhere.Spec.SignerName = certificatesv1.KubeAPIServerClientSignerName
	for name, csr := range map[string]*certificatesv1.CertificateSigningRequest{
		"denied by a person":        with(good(t), certificatesv1.CertificateDenied),
		"failed":                    with(good(t), certificatesv1.CertificateFailed),
		"issued":                    issued,
		"another signer's business": elsewhere,
	} {
		if d := Decide(csr, master(), Nodes(), now); d.Action != Leave {
			t.Errorf("%s: %s", name, d.Action)
		}
	}
}

func TestCertificatesExpireWithinThirtyDays(t *testing.T) {
	seconds := func(n int32) *int32 { return &n }
	for _, tc := range []struct {
		asked *int32
		want  time.Duration
		note  string
	}{
		{nil, 30*24*time.Hour - backdate, ""},
		{seconds(600), 10 * time.Minute, ""},
		{seconds(30 * 24 * 3600), 30*24*time.Hour - backdate, ""},
		{seconds(20 * 365 * 24 * 3600), 30*24*time.Hour - backdate, "asked for 175200h0m0s; certificates are valid for at most 720h0m0s"},
		{seconds(-5), -5 * time.Second, ""}, // the API server rejects it, and no CA signs it
	} {
		csr := good(t)
		csr.Spec.ExpirationSeconds = tc.asked
		d := Decide(csr, master(), Nodes(), now)
		if got := d.Template.NotAfter.Sub(now); got != tc.want || d.Note != tc.note || d.Template.NotAfter.Sub(d.Template.NotBefore) > 30*24*time.Hour {
			t.Errorf("asked for %v: lives for %s, %q", tc.asked, got, d.Note)
		}
	}
}

func TestOnlyRequestedUsagesAreGranted(t *testing.T) {
	for _, tc := range []struct {
		usages   []certificatesv1.KeyUsage
		key      x509.KeyUsage
		extended []x509.ExtKeyUsage
		more     int
	}{
		{[]certificatesv1.KeyUsage{certificatesv1.UsageIPsecTunnel}, x509.KeyUsageDigitalSignature, []x509.ExtKeyUsage{x509.ExtKeyUsageIPSECTunnel}, 1},
		{[]certificatesv1.KeyUsage{certificatesv1.UsageIPsecTunnel, certificatesv1.UsageIPsecUser}, x509.KeyUsageDigitalSignature, []x509.ExtKeyUsage{x509.ExtKeyUsageIPSECTunnel, x509.ExtKeyUsageIPSECUser}, 1},
		{[]certificatesv1.KeyUsage{certificatesv1.UsageDigitalSignature, certificatesv1.UsageKeyEncipherment, certificatesv1.UsageServerAuth},
			x509.KeyUsageDigitalSignature | x509.KeyUsageKeyEncipherment, []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}, 0},
		// A certificate without extended usages would be good for all of them.
		{[]certificatesv1.KeyUsage{certificatesv1.UsageDigitalSignature}, x509.KeyUsageDigitalSignature, nil, 1},
	} {
		csr := good(t)
		csr.Spec.Usages = tc.usages
		got := Decide(csr, master(), Nodes(), now).Template
		if got.KeyUsage != tc.key || !slices.Equal(got.ExtKeyUsage, tc.extended) || len(got.UnknownExtKeyUsage) != tc.more {
			t.Errorf("%v: %v %v %v", tc.usages, got.KeyUsage, got.ExtKeyUsage, got.UnknownExtKeyUsage)
		}
	}
}
