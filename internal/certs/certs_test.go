package certs

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/x509"
	"net/netip"
	"strings"
	"testing"
	"time"
)

var (
	start  = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	policy = Policy{Name: "store-ca", CALife: 1000 * time.Hour, LeafLife: 100 * time.Hour, Overlap: 10 * time.Hour}
	member = Request{
		CommonName: "member-a", Usage: Peer, Names: []string{"localhost"}, Life: 100 * time.Hour,
		Addresses: []netip.Addr{netip.MustParseAddr("192.0.2.1"), netip.MustParseAddr("fd00::1")},
	}
)

func authority(t *testing.T, now time.Time) *CA {
	t.Helper()
	a, err := NewCA("store-ca", now, 1000*time.Hour)
	if err != nil {
		t.Fatal(err)
	}
	return a
}

func issue(t *testing.T, a *CA, r Request, now time.Time) Pair {
	t.Helper()
	p, err := a.Issue(r, now)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func TestIssuedCertificatesMatchTheRequest(t *testing.T) {
	ca := authority(t, start)
	leaf, key, err := issue(t, ca, member, start).Parse()
	if err != nil {
		t.Fatal(err)
	}
	if !(Bundle{ca.Certificate()}).Trusts(leaf, start) {
		t.Error("the certificate is not trusted by its own CA")
	}
	for _, host := range []string{"192.0.2.1", "fd00::1", "localhost"} {
		if err := leaf.VerifyHostname(host); err != nil {
			t.Errorf("%s: %v", host, err)
		}
	}
	if leaf.IsCA || leaf.KeyUsage&x509.KeyUsageCertSign != 0 {
		t.Error("an end entity may sign others")
	}
	if public, ok := key.Public().(*ecdsa.PublicKey); !ok || public.Params().BitSize != 256 {
		t.Errorf("the key is %v", key.Public())
	}
	if leaf.SerialNumber.BitLen() < 64 || leaf.SerialNumber.BitLen() > 128 {
		t.Errorf("serial has %d bits, want a random one of 128", leaf.SerialNumber.BitLen())
	}
}

func TestCertificateNeverOutlivesItsCA(t *testing.T) {
	ca := authority(t, start)
	leaf, _, err := issue(t, ca, member, start.Add(950*time.Hour)).Parse()
	if err != nil {
		t.Fatal(err)
	}
	if !leaf.NotAfter.Equal(ca.Certificate().NotAfter) {
		t.Errorf("valid until %s, its CA until %s", leaf.NotAfter, ca.Certificate().NotAfter)
	}
}

func TestIssueRefusesAnEmptyRequest(t *testing.T) {
	ca := authority(t, start)
	for name, r := range map[string]Request{
		"no usage": {CommonName: "x", Life: time.Hour},
		"no name":  {Usage: Client, Life: time.Hour},
		"no life":  {CommonName: "x", Usage: Client},
	} {
		if _, err := ca.Issue(r, start); err == nil {
			t.Errorf("%s: accepted", name)
		}
	}
}

func TestParseRefusesPairsThatCannotBeUsed(t *testing.T) {
	ca := authority(t, start)
	a, b := issue(t, ca, member, start), issue(t, ca, member, start)
	for _, tc := range []struct {
		name string
		pair Pair
		want string
	}{
		{"halves of two pairs, as after a torn write", Pair{a.Certificate, b.Key}, "do not belong together"},
		{"no certificate", Pair{nil, a.Key}, "no certificate"},
		{"no key", Pair{a.Certificate, nil}, "no PEM block"},
		{"a key where the certificate belongs", Pair{a.Key, a.Key}, "private key, where only"},
		{"not PEM at all", Pair{[]byte("hello"), a.Key}, "not a certificate in PEM form"},
	} {
		if _, _, err := tc.pair.Parse(); err == nil || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%s: error %v, want one with %q", tc.name, err, tc.want)
		}
	}
	if _, err := ParseCA(a); err == nil {
		t.Error("an end entity was accepted as a CA")
	}
}

func TestStaleReturnsTheReasonForReissuing(t *testing.T) {
	ca, other := authority(t, start), authority(t, start)
	good := issue(t, ca, member, start)
	moved, client := member, member
	moved.Addresses = []netip.Addr{netip.MustParseAddr("192.0.2.9")}
	client.Usage = Client
	renamed := member
	renamed.CommonName = "member-b"
	for _, tc := range []struct {
		name   string
		pair   Pair
		want   Request
		signer *CA
		at     time.Duration
		stale  string
	}{
		{"fresh", good, member, ca, 0, ""},
		{"a clock that is late by less than the skew", good, member, ca, -30 * time.Minute, ""},
		{"just before half of its life", good, member, ca, 49 * time.Hour, ""},
		{"fewer usages are asked for than it has", good, client, ca, 0, ""},
		{"missing", Pair{}, member, ca, 0, "is missing"},
		{"half of its life", good, member, ca, 50 * time.Hour, "half of its life"},
		{"expired", good, member, ca, 101 * time.Hour, "expired"},
		{"a clock that was set back", good, member, ca, -48 * time.Hour, "not valid before"},
		{"the node got another address", good, moved, ca, 0, "lacks"},
		{"another holder", good, renamed, ca, 0, "is one for"},
		{"usage missing", issue(t, ca, client, start), member, ca, 0, "lacks"},
		{"another CA signs now", good, member, other, 0, "being replaced"},
		{"torn", Pair{good.Certificate, nil}, member, ca, 0, "cannot be read"},
	} {
		got := Stale(tc.pair, tc.want, tc.signer, start.Add(tc.at))
		if (tc.stale == "") != (got == "") || !strings.Contains(got, tc.stale) {
			t.Errorf("%s: %q, want %q", tc.name, got, tc.stale)
		}
	}
}

func TestBundlesRoundTripThroughPEM(t *testing.T) {
	a, b := authority(t, start), authority(t, start)
	bundle := Bundle{a.Certificate()}.With(b.Certificate(), a.Certificate())
	if len(bundle) != 2 {
		t.Fatalf("%d certificates, want each once", len(bundle))
	}
	again, err := ParseBundle(bundle.PEM())
	if err != nil {
		t.Fatal(err)
	}
	if !again.Contains(bundle) || !bytes.Equal(again.PEM(), bundle.PEM()) {
		t.Error("the bundle changed on its way through PEM")
	}
	if (Bundle{a.Certificate()}).Contains(bundle) {
		t.Error("one certificate contains two")
	}
}

func FuzzParseBundle(f *testing.F) {
	a, err := NewCA("fuzz", start, time.Hour)
	if err != nil {
		f.Fatal(err)
	}
	f.Add(a.Pair().Certificate)
	f.Add(a.Pair().Key)
	f.Add([]byte("-----BEGIN CERTIFICATE-----\n-----END CERTIFICATE-----\n"))
	f.Fuzz(func(t *testing.T, content []byte) {
		bundle, err := ParseBundle(content)
		if err == nil {
			if _, err := ParseBundle(bundle.PEM()); err != nil {
				t.Errorf("what was read cannot be read again: %v", err)
			}
		}
	})
}
