package cabundle

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/base64"
	"encoding/pem"
	"errors"
	"fmt"
	"math/big"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// now is the time in these tests.
var now = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

// der makes a certificate that is valid until a time.
func der(tb testing.TB, name string, until time.Time, change ...func(*x509.Certificate)) []byte {
	tb.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		tb.Fatal(err)
	}
	c := &x509.Certificate{SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: name}, NotBefore: now.AddDate(-2, 0, 0), NotAfter: until, IsCA: true, BasicConstraintsValid: true}
	for _, f := range change {
		f(c)
	}
	raw, err := x509.CreateCertificate(rand.Reader, c, c, key.Public(), key)
	if err != nil {
		tb.Fatal(err)
	}
	return raw
}

func armored(label string, raw []byte) string {
	return string(pem.EncodeToMemory(&pem.Block{Type: label, Bytes: raw}))
}

func authority(tb testing.TB, name string) string {
	tb.Helper()
	return armored("CERTIFICATE", der(tb, name, now.AddDate(1, 0, 0)))
}

func parsed(t *testing.T, content string) []Certificate {
	t.Helper()
	list, err := Parse([]byte(content))
	if err != nil {
		t.Fatal(err)
	}
	return list
}

func names(list []Certificate) (all []string) {
	for _, c := range list {
		all = append(all, c.String())
	}
	return all
}

func TestHandwrittenBundlesAreRead(t *testing.T) {
	a, b := authority(t, "a"), authority(t, "b")
	lines := strings.Count(a, "\n")
	for why, content := range map[string]string{
		"two":                           a + b,
		"line ends of Windows":          strings.ReplaceAll(a+b, "\n", "\r\n"),
		"no line end at the end":        strings.TrimSpace(a + b),
		"indented":                      "    " + strings.ReplaceAll(strings.TrimSpace(a+b), "\n", "\n    "),
		"a byte order mark":             "\ufeff" + a + b,
		"a comment behind the last one": a + b + "# the end",
	} {
		want := []string{"certificate 1 of 2 (CN=a, line 1)", fmt.Sprintf("certificate 2 of 2 (CN=b, line %d)", lines+1)}
		if diff := cmp.Diff(want, names(parsed(t, content))); diff != "" {
			t.Errorf("%s:\n%s", why, diff)
		}
	}
	got := names(parsed(t, "# Root of a\nsubject=CN = a\n"+a+"\n\n# b\n"+b))
	if diff := cmp.Diff([]string{"certificate 1 of 2 (CN=a, line 3)", fmt.Sprintf("certificate 2 of 2 (CN=b, line %d)", lines+6)}, got); diff != "" {
		t.Error(diff)
	}
}

func TestInvalidBundleIsRefusedWithTheReason(t *testing.T) {
	good := authority(t, "good")
	raw := der(t, "der", now.AddDate(1, 0, 0))
	key := armored("EC PRIVATE KEY", []byte("hunter2"))
	at := strings.Count(good, "\n") + 1
	for _, row := range []struct {
		why, content string
		want         []string
	}{
		{"empty", "", []string{"is empty"}},
		{"blanks", " \n\t\n", []string{"is empty"}},
		{"words", "hello\n", []string{"has no certificate in PEM form"}},
		{"DER", string(raw), []string{"is in DER form; convert it: openssl x509 -inform der"}},
		{"base64 without lines around it", base64.StdEncoding.EncodeToString(raw), []string{"is base64 without the lines -----BEGIN CERTIFICATE-----"}},
		{"a key among certificates", good + key + good, []string{fmt.Sprintf("block 2 of 3 (line %d): is a private key, where only certificates belong: take it out, and replace the key", at)}},
		{"an encrypted key", armored("ENCRYPTED PRIVATE KEY", nil), []string{"block 1 of 1 (line 1): is a private key"}},
		{"half a key", "-----BEGIN RSA PRIVATE KEY-----\nAAAA\n", []string{"is a private key"}},
		{"a request", armored("CERTIFICATE REQUEST", raw), []string{`is a "CERTIFICATE REQUEST", not a certificate`}},
		{"a label of another kind", armored("TRUSTED CERTIFICATE", raw), []string{`is a "TRUSTED CERTIFICATE", not a certificate`}},
		{"torn in the middle", good + good[:60] + "\n" + good, []string{fmt.Sprintf("block 2 of 3 (line %d): has no END line", at)}},
		{"cut off", good + good[:len(good)-20], []string{"the end is cut off"}},
		{"an end without a beginning", good + "-----END CERTIFICATE-----\n", []string{fmt.Sprintf("line %d ends a block that has not begun", at)}},
		{"not base64", "-----BEGIN CERTIFICATE-----\n!!!\n-----END CERTIFICATE-----\n", []string{"is not valid PEM"}},
		{"not a certificate", armored("CERTIFICATE", []byte("xx")), []string{"is not a certificate: x509"}},
		{"folded by YAML", strings.ReplaceAll(good, "\n", " "), []string{`has lost its line ends: in YAML, write "|"`}},
		{"quoted by YAML", strings.ReplaceAll(good, "\n", `\n`), []string{`has lost its line ends: in YAML, write "|"`}},
		{"folded within a text", "ca: " + strings.ReplaceAll(good, "\n", " "), []string{`has lost its line ends: in YAML, write "|"`}},
		{"all at once", key + armored("X509 CRL", nil) + good, []string{"block 1 of 3 (line 1): is a private key", `block 2 of 3 (line 4): is a "X509 CRL"`}},
	} {
		t.Run(row.why, func(t *testing.T) {
			_, err := Parse([]byte(row.content))
			if err == nil {
				t.Fatal("it was accepted")
			}
			if strings.Contains(err.Error(), "hunter2") || strings.Contains(err.Error(), base64.StdEncoding.EncodeToString([]byte("hunter2"))) {
				t.Errorf("the error quotes a key: %v", err)
			}
			got := strings.Split(err.Error(), "\n")
			if len(got) != len(row.want) {
				t.Fatalf("got %q", got)
			}
			for i := range got {
				if !strings.Contains(got[i], row.want[i]) {
					t.Errorf("got %q, want %q", got[i], row.want[i])
				}
			}
		})
	}
	if _, err := Parse([]byte(key)); !errors.Is(err, ErrPrivateKey) {
		t.Errorf("a private key is not recognized: %v", err)
	}
	if list, err := Parse([]byte(key + good)); err == nil || len(list) != 1 {
		t.Errorf("what can be read is not returned beside the error: %d, %v", len(list), err)
	}
}

func TestMergedHasEachCertificateOnceAndNoneThatHasExpired(t *testing.T) {
	a, b := authority(t, "a"), armored("CERTIFICATE", der(t, "b", now.AddDate(0, 1, 0)))
	old := armored("CERTIFICATE", der(t, "old", now.AddDate(-1, 0, 0)))
	user, system := parsed(t, a+old+a), parsed(t, b+strings.ReplaceAll(a, "\n", "\r\n")+old)
	m := Merge(now, user, system)
	if diff := cmp.Diff(a+b, m.PEM); diff != "" || m.Count != 2 {
		t.Errorf("%d certificates:\n%s", m.Count, diff)
	}
	if !m.Next.Equal(now.AddDate(0, 1, 0)) || len(m.Skipped) != 1 {
		t.Errorf("the next one expires %v, skipped are %v", m.Next, m.Skipped)
	}
	if later := Merge(m.Next.Add(time.Second), user, system); later.PEM != a {
		t.Error("b is still there after it has expired")
	}
	if empty := Merge(now); empty.PEM != "" || !empty.Next.IsZero() {
		t.Errorf("nothing is %+v", empty)
	}
}

func TestRemarksNameNumberNameLineAndDate(t *testing.T) {
	leaf := func(c *x509.Certificate) { c.IsCA = false }
	future := func(c *x509.Certificate) { c.NotBefore = now.AddDate(0, 0, 3) }
	nameless := func(c *x509.Certificate) { c.Subject = pkix.Name{Organization: []string{"Example"}} }
	noSubject := func(c *x509.Certificate) { c.Subject, c.SerialNumber = pkix.Name{}, big.NewInt(255) }
	var all bytes.Buffer
	for _, raw := range [][]byte{
		der(t, "fine", now.AddDate(1, 0, 0)), der(t, "foo", now.AddDate(-1, 0, 0)), der(t, "leaf", now.AddDate(1, 0, 0), leaf),
		der(t, "early", now.AddDate(1, 0, 0), future), der(t, "", now.AddDate(-1, 0, 0), nameless), der(t, "", now.AddDate(-1, 0, 0), noSubject),
		der(t, strings.Repeat("ü\n", 200), now.AddDate(-1, 0, 0)),
	} {
		all.WriteString(armored("CERTIFICATE", raw))
	}
	list := parsed(t, all.String())
	got := Remarks(now, list)
	want := []string{
		fmt.Sprintf("certificate 2 of 7 (CN=foo, line %d): expired 2025-01-01; skipped, others used", list[1].Line),
		fmt.Sprintf("certificate 3 of 7 (CN=leaf, line %d): is not a CA certificate; it is used, but clients then trust only that certificate", list[2].Line),
		fmt.Sprintf("certificate 4 of 7 (CN=early, line %d): is not valid before 2026-01-04; used from then on", list[3].Line),
		fmt.Sprintf("certificate 5 of 7 (O=Example, line %d): expired 2025-01-01; skipped, others used", list[4].Line),
		fmt.Sprintf("certificate 6 of 7 (serial number ff, line %d): expired 2025-01-01; skipped, others used", list[5].Line),
		fmt.Sprintf("certificate 7 of 7 (CN=%sü..., line %d): expired 2025-01-01; skipped, others used", strings.Repeat("ü ", 48), list[6].Line),
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// FuzzParse holds that what is read can be written and read again, the same, and that no error quotes a block.
func FuzzParse(f *testing.F) {
	good := authority(f, "seed")
	for _, seed := range []string{"", good, good + good, "-----BEGIN CERTIFICATE-----\n-----END CERTIFICATE-----", "-----BEGIN X-----\n-----BEGIN ", strings.ReplaceAll(good, "\n", "\r\n"),
		armored("EC PRIVATE KEY", []byte("x")), good[:100] + good} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, content []byte) {
		list, err := Parse(content)
		if len(list) == 0 && err == nil {
			t.Fatal("neither a certificate nor an error")
		}
		if err == nil && bytes.Contains(content, []byte("-----BEGIN EC PRIVATE KEY-----\n")) && bytes.HasPrefix(content, []byte("-----BEGIN EC")) {
			t.Fatal("a private key is accepted")
		}
		m := Merge(now, list)
		again, err := Parse([]byte(m.PEM))
		if m.Count > 0 && err != nil || len(again) != m.Count {
			t.Fatalf("%d certificates became %d: %v", m.Count, len(again), err)
		}
		if twice := Merge(now, again, list); twice.PEM != m.PEM {
			t.Fatal("merging again changes something")
		}
		_ = Remarks(now, list)
	})
}

// BenchmarkMergeSystem is how long it takes to read and merge as many CAs as a system has.
func BenchmarkMergeSystem(b *testing.B) {
	var system strings.Builder
	for i := range 146 {
		system.WriteString(authority(b, fmt.Sprint(i)))
	}
	for b.Loop() {
		list, err := Parse([]byte(system.String()))
		if err != nil || Merge(now, list, list).Count != 146 {
			b.Fatal(err)
		}
	}
}
