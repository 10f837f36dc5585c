package pki

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"math/big"
	randv2 "math/rand/v2"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	networkv1 "github.com/cluster-network-operator/cno/api/network/v1"
	"github.com/cluster-network-operator/cno/internal/certs"
)

var start = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

func quick() *networkv1.OperatorPKI {
	return &networkv1.OperatorPKI{
		ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "ovn"},
		Spec: networkv1.OperatorPKISpec{
			TargetCert: networkv1.CertSpec{CommonName: "ovn"},
			Rotation:   &networkv1.RotationSpec{AuthorityValidity: "1000h", AuthorityRefresh: "500h", CertificateValidity: "100h", Overlap: "10h"},
		},
	}
}

func mustDecide(t *testing.T, pki *networkv1.OperatorPKI, s state, now time.Time) *plan {
	t.Helper()
	p, err := decide(pki, s, now)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// after returns the state once the first writes of a plan were done.
func (s state) after(p *plan, writes int) state {
	if writes > 0 {
		s.bundle = p.Bundle
	}
	if writes > 1 {
		s.ca = p.CA
	}
	if writes > 2 {
		s.certificate = p.Certificate
	}
	return s
}

func reasons(h []event) string {
	var out []string
	for _, one := range h {
		out = append(out, one.reason)
	}
	return strings.Join(out, " ")
}

func TestNewPKIHasACAAndACertificateItSigned(t *testing.T) {
	pki := &networkv1.OperatorPKI{ObjectMeta: metav1.ObjectMeta{Namespace: "openshift-ovn-kubernetes", Name: "ovn"}, Spec: networkv1.OperatorPKISpec{TargetCert: networkv1.CertSpec{CommonName: "ovn"}}}
	p := mustDecide(t, pki, state{}, start)
	if got, want := p.Signer.Subject.CommonName, fmt.Sprintf("openshift-ovn-kubernetes_ovn-ca@%d", start.Unix()); got != want {
		t.Errorf("the CA is %q, want %q as OpenShift's", got, want)
	}
	if got := p.Signer.NotAfter.Sub(start); got != 10*365*day {
		t.Errorf("the CA lives for %s", got)
	}
	if got := p.Leaf.NotAfter.Sub(start); got != 182*day+12*time.Hour {
		t.Errorf("the certificate lives for %s", got)
	}
	if p.Due.Sub(start) != 91*day+6*time.Hour {
		t.Errorf("the next step is due after %s, want half of the certificate's life", p.Due.Sub(start))
	}
	if p.Refresh.Sub(start) != 9*365*day {
		t.Errorf("a successor is due after %s", p.Refresh.Sub(start))
	}
	if !certs.Salvage(p.Bundle).Trusts(p.Leaf, start) || len(p.Leaf.ExtKeyUsage) != 2 || p.Leaf.VerifyHostname("ovn") != nil {
		t.Error("the certificate is not what a peer needs")
	}
	again := mustDecide(t, pki, state{}.after(p, 3), start)
	if string(again.Bundle) != string(p.Bundle) || len(again.Events)+len(again.IssueEvents) > 0 || string(again.Certificate["tls.crt"]) != string(p.Certificate["tls.crt"]) {
		t.Error("a second look changes something")
	}
}

func TestIPAddressIsAnIPSAN(t *testing.T) {
	pki := quick()
	pki.Spec.TargetCert.CommonName = "127.0.0.1"
	if p := mustDecide(t, pki, state{}, start); p.Leaf.VerifyHostname("127.0.0.1") != nil || len(p.Leaf.DNSNames) > 0 {
		t.Errorf("addresses %v, names %v", p.Leaf.IPAddresses, p.Leaf.DNSNames)
	}
}

// TestNoClientFailsDuringRotations simulates rotations hour by hour. The operator is killed before and between writes, the CA is lost
// or torn, and at every hour every certificate that a program may still present must be trusted by every bundle that
// another may still hold, both as late as the overlap allows.
func TestNoClientFailsDuringRotations(t *testing.T) {
	const lag = 9 * time.Hour // the overlap is 10
	type at[T any] struct {
		from time.Time
		it   T
	}
	// held are what may be in use: the newest that is older than the lag, and all that came since.
	held := func(now time.Time, n int, from func(int) time.Time) int {
		first := 0
		for i := range n {
			if !now.Before(from(i).Add(lag)) {
				first = i
			}
		}
		return first
	}
	for seed := range uint64(6) {
		random := randv2.New(randv2.NewPCG(seed, 1))
		var s state
		var bundles []at[certs.Bundle]
		var leaves []at[*x509.Certificate]
		signers, lostAt := map[string]bool{}, -1000
		for hour := range 2500 {
			now := start.Add(time.Duration(hour) * time.Hour)
			if seed%3 == 1 && hour > 20 && hour-lostAt > 200 && random.IntN(150) == 0 {
				lostAt = hour
				if s.ca = nil; random.IntN(2) == 0 {
					s.ca = map[string][]byte{"tls.crt": []byte("garbage"), "previous.crt": nil}
				}
			}
			writes := 3
			if hour > 0 {
				writes = random.IntN(4)
			}
			p := mustDecide(t, quick(), s, now)
			s = s.after(p, writes)
			if b := certs.Salvage(s.bundle); len(bundles) == 0 || !b.Contains(bundles[len(bundles)-1].it) || len(b) != len(bundles[len(bundles)-1].it) {
				bundles = append(bundles, at[certs.Bundle]{now, b})
			}
			leaf, _, err := pairOf(s.certificate).Parse()
			if err != nil {
				t.Fatal(err)
			}
			if len(leaves) == 0 || !leaf.Equal(leaves[len(leaves)-1].it) {
				leaves = append(leaves, at[*x509.Certificate]{now, leaf})
			}
			signers[p.Signer.Subject.CommonName] = true
			for _, l := range leaves[held(now, len(leaves), func(i int) time.Time { return leaves[i].from }):] {
				for _, b := range bundles[held(now, len(bundles), func(i int) time.Time { return bundles[i].from }):] {
					if !b.it.Trusts(l.it, now) {
						t.Fatalf("seed %d, hour %d (lost at %d): the certificate of %s is not trusted by the bundle of %s", seed, hour, lostAt, l.from, b.from)
					}
				}
			}
			if n := len(certs.Salvage(s.bundle)); n > 7 {
				t.Fatalf("seed %d, hour %d: %d CAs are trusted", seed, hour, n)
			}
		}
		if len(signers) < 4 {
			t.Errorf("seed %d: only %d CAs signed in five lives", seed, len(signers))
		}
	}
}

func TestTrustedCAsStayTrustedAfterAnyLoss(t *testing.T) {
	first := state{}.after(mustDecide(t, quick(), state{}, start), 3)
	old := certs.Salvage(first.bundle)
	soon := start.Add(501 * time.Hour)
	rotating := first.after(mustDecide(t, quick(), first, soon), 3)
	torn := func(s state, key, value string) state {
		s.ca = map[string][]byte{}
		for k, v := range rotating.ca {
			s.ca[k] = v
		}
		s.ca[key] = []byte(value)
		return s
	}
	other := mustDecide(t, quick(), state{}, start)
	for _, tc := range []struct {
		name   string
		s      state
		reason string
	}{
		{"the Secret was deleted", state{bundle: first.bundle, certificate: first.certificate}, "AuthorityLost"},
		{"the certificate is garbage", torn(rotating, "tls.crt", "x"), "AuthorityLost"},
		{"the key is garbage", torn(rotating, "tls.key", "x"), "AuthorityLost"},
		{"the key is another one's", torn(rotating, "tls.key", string(other.CA["tls.key"])), "AuthorityLost"},
		{"the bundle has additional text around it", state{bundle: append([]byte("hello\n"), first.bundle...)}, "AuthorityLost"},
		{"only the successor is torn", torn(rotating, "next.crt", "x"), "SuccessorTrusted"},
		{"the bundle was deleted during the rotation", state{ca: rotating.ca, certificate: rotating.certificate}, "SuccessorTrusted"},
	} {
		p := mustDecide(t, quick(), tc.s, soon)
		if !certs.Salvage(p.Bundle).Contains(old) {
			t.Errorf("%s: the old CA is not trusted any more", tc.name)
		}
		if got := reasons(p.Events); got != tc.reason {
			t.Errorf("%s: got events %q, want %q", tc.name, got, tc.reason)
		}
	}
}

func TestForgedBundleIsNotAdopted(t *testing.T) {
	stranger, err := certs.NewCA("stranger", start, time.Hour*1000)
	if err != nil {
		t.Fatal(err)
	}
	p := mustDecide(t, quick(), state{bundle: stranger.Pair().Certificate}, start)
	if p.Trusted != 1 || reasons(p.Events) != "AuthorityMade" {
		t.Errorf("trusts %d, got events %s", p.Trusted, reasons(p.Events))
	}
	s := state{}.after(p, 3)
	s.bundle = append(s.bundle, stranger.Pair().Certificate...)
	if p := mustDecide(t, quick(), s, start); p.Trusted != 1 {
		t.Error("a foreign certificate is kept")
	}
}

// openshifts is a CA as OpenShift's operator makes them: RSA, in PKCS#1.
func openshifts(t *testing.T, made time.Time) state {
	t.Helper()
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: fmt.Sprintf("ns_ovn-ca@%d", made.Unix())}, IsCA: true, BasicConstraintsValid: true,
		KeyUsage: x509.KeyUsageDigitalSignature | x509.KeyUsageKeyEncipherment | x509.KeyUsageCertSign, NotBefore: made.Add(-time.Second), NotAfter: made.Add(10 * 365 * day)}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	certificate := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
	return state{bundle: certificate, ca: map[string][]byte{"tls.crt": certificate, "tls.key": pem.EncodeToMemory(&pem.Block{Type: "RSA PRIVATE KEY", Bytes: x509.MarshalPKCS1PrivateKey(key)})}}
}

func TestCAOfOpenShiftIsKeptAndTrustedUntilItExpires(t *testing.T) {
	pki := quick()
	pki.Spec.Rotation = nil
	s := openshifts(t, start)
	old := certs.Salvage(s.bundle)
	p := mustDecide(t, pki, s, start.Add(day))
	if !p.Signer.Equal(old[0]) || len(p.Events) > 0 {
		t.Fatalf("it was not taken on: %v", p.Events)
	}
	if _, isECDSA := p.Leaf.PublicKey.(*ecdsa.PublicKey); !isECDSA || p.Leaf.PublicKey.(*ecdsa.PublicKey).Curve != elliptic.P256() {
		t.Error("the certificate has another key than ours")
	}
	s = s.after(p, 3)
	for _, years := range []time.Duration{9, 10} {
		now := start.Add(years*365*day - 10*day)
		for range 60 { // days, past the time of the replacement
			s = s.after(mustDecide(t, pki, s, now), 3)
			if now = now.Add(day); now.Before(old[0].NotAfter) && !certs.Salvage(s.bundle).Contains(old) {
				t.Fatalf("nodes may have certificates of five years from it, and it is not trusted any more at %s", now)
			}
		}
	}
	if certs.Salvage(s.bundle).Contains(old) {
		t.Error("it has expired and is still there")
	}
}

func TestMonthLongCertificatesStayTrustedForAMonth(t *testing.T) {
	s := state{}.after(mustDecide(t, quick(), state{}, start), 3)
	old := certs.Salvage(s.bundle)
	for hour := 480; hour < 1000; hour += 5 {
		now := start.Add(time.Duration(hour) * time.Hour)
		s = s.after(mustDecide(t, quick(), s, now), 3)
		if hour < 511+100 && !certs.Salvage(s.bundle).Contains(old) {
			t.Fatalf("hour %d: removed too soon", hour)
		}
	}
	if !certs.Salvage(s.bundle).Contains(old) {
		t.Error("a node's certificate of thirty days may be in use until the CA itself expires")
	}
}
