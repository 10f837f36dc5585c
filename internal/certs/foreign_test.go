package certs

import (
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"math/big"
	"testing"
	"time"
)

// TestKeysOfOtherToolsAreRead has the formats of CAs that other tools write.
func TestKeysOfOtherToolsAreRead(t *testing.T) {
	ours := authority(t, start)
	ecKey, err := x509.ParsePKCS8PrivateKey(decode(t, ours.Pair().Key))
	if err != nil {
		t.Fatal(err)
	}
	sec1, err := x509.MarshalECPrivateKey(ecKey.(*ecdsa.PrivateKey))
	if err != nil {
		t.Fatal(err)
	}
	rsaKey, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	_, edKey, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	parameters := pem.EncodeToMemory(&pem.Block{Type: "EC PARAMETERS", Bytes: []byte{6, 8, 42, 134, 72, 206, 61, 3, 1, 7}})
	sec1PEM := pem.EncodeToMemory(&pem.Block{Type: "EC PRIVATE KEY", Bytes: sec1})
	for _, tc := range []struct {
		name string
		pair Pair
	}{
		{"openssl ecparam -genkey", Pair{ours.Pair().Certificate, append(parameters, sec1PEM...)}},
		{"the same without the parameters", Pair{ours.Pair().Certificate, sec1PEM}},
		{"OpenShift's operator: RSA in PKCS#1", selfSigned(t, rsaKey, rsaKey.Public(), pem.EncodeToMemory(&pem.Block{Type: "RSA PRIVATE KEY", Bytes: x509.MarshalPKCS1PrivateKey(rsaKey)}))},
		{"Ed25519", selfSigned(t, edKey, edKey.Public(), pkcs8(t, edKey))},
	} {
		a, err := ParseCA(tc.pair)
		if err != nil {
			t.Errorf("%s: %v", tc.name, err)
			continue
		}
		leaf, _, err := issue(t, a, member, start).Parse()
		if err != nil || !(Bundle{a.Certificate()}).Trusts(leaf, start) {
			t.Errorf("%s: what it signs is not trusted: %v", tc.name, err)
		}
	}
	_, _, err = Pair{ours.Pair().Certificate, selfSigned(t, edKey, edKey.Public(), pkcs8(t, edKey)).Key}.Parse()
	if _, key := errors.AsType[*KeyError](err); !key {
		t.Errorf("another one's key: %v", err)
	}
	_, _, err = Pair{[]byte("x"), ours.Pair().Key}.Parse()
	if _, key := errors.AsType[*KeyError](err); key || err == nil {
		t.Errorf("a certificate that is garbage is reported as an invalid key: %v", err)
	}
}

func selfSigned(t *testing.T, key, public any, keyPEM []byte) Pair {
	t.Helper()
	template := &x509.Certificate{SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "elsewhere"}, IsCA: true, BasicConstraintsValid: true,
		KeyUsage: x509.KeyUsageCertSign, NotBefore: start.Add(-time.Second), NotAfter: start.Add(1000 * time.Hour)}
	der, err := x509.CreateCertificate(rand.Reader, template, template, public, key)
	if err != nil {
		t.Fatal(err)
	}
	return Pair{pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}), keyPEM}
}

func pkcs8(t *testing.T, key any) []byte {
	t.Helper()
	der, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	return pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der})
}

func decode(t *testing.T, text []byte) []byte {
	t.Helper()
	block, _ := pem.Decode(text)
	if block == nil {
		t.Fatal("no PEM")
	}
	return block.Bytes
}

func TestLeafCertificateIsNoCA(t *testing.T) {
	ca := authority(t, start)
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	text, err := ca.Certify(x509.Certificate{Subject: pkix.Name{CommonName: "x"}, IsCA: true, KeyUsage: x509.KeyUsageCertSign | x509.KeyUsageDigitalSignature,
		NotBefore: start, NotAfter: start.Add(5000 * time.Hour), SerialNumber: big.NewInt(1)}, key.Public())
	if err != nil {
		t.Fatal(err)
	}
	c, err := x509.ParseCertificate(decode(t, text))
	if err != nil {
		t.Fatal(err)
	}
	if c.IsCA || !c.BasicConstraintsValid || c.KeyUsage != x509.KeyUsageDigitalSignature || !c.NotAfter.Equal(ca.Certificate().NotAfter) || c.SerialNumber.BitLen() < 65 {
		t.Errorf("it is %v with usage %v until %s, number %s", c.IsCA, c.KeyUsage, c.NotAfter, c.SerialNumber)
	}
	if _, err := ca.Certify(x509.Certificate{NotBefore: start.Add(1000 * time.Hour), NotAfter: start.Add(2000 * time.Hour)}, key.Public()); err == nil {
		t.Error("a CA that has expired has signed")
	}
}

func TestDueIsWhenTheNextStepChangesSomething(t *testing.T) {
	r, _, err := Rotation{}.Step(policy, start)
	if err != nil {
		t.Fatal(err)
	}
	now := start
	for range 12 {
		due := r.Due(policy)
		if !due.After(now) {
			t.Fatalf("at %s the next step was due at %s", now, due)
		}
		if _, changed, _ := r.Step(policy, due.Add(-2*time.Second)); changed {
			t.Fatalf("something changes before %s", due)
		}
		next, changed, err := r.Step(policy, due)
		if err != nil || !changed {
			t.Fatalf("nothing changes at %s (%v)", due, err)
		}
		r, now = next, due
	}
}

func TestLivesOfMinutesHaveAHalf(t *testing.T) {
	for _, life := range []time.Duration{time.Minute, 10 * time.Minute, 2 * time.Hour, 3 * time.Hour, 1000 * time.Hour} {
		a, err := NewCA("x", start, life)
		if err != nil {
			t.Fatal(err)
		}
		if got := a.Made().Sub(start).Abs(); got > time.Second {
			t.Errorf("%s: was made %s off", life, got)
		}
		if got := HalfLife(a.Certificate()).Sub(start); (got - life/2).Abs() > time.Second {
			t.Errorf("%s: half of it is %s", life, got)
		}
	}
}

func TestSalvageFindsCAsAmongOtherData(t *testing.T) {
	a, b := authority(t, start), authority(t, start.Add(time.Hour))
	text := append([]byte("# by hand\n"), a.Pair().Certificate...)
	text = append(text, a.Pair().Key...)
	text = append(text, issue(t, a, member, start).Certificate...)
	text = append(text, "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n"...)
	text = append(text, b.Pair().Certificate...)
	if got := Salvage(text); len(got) != 2 || !got.Contains(Bundle{a.Certificate(), b.Certificate()}) {
		t.Errorf("found %d", len(got))
	}
}
