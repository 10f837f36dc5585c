package nodecert_test

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/cluster-network-operator/cno/internal/certs"
	"github.com/cluster-network-operator/cno/internal/nodecert"
)

const (
	life = 30 * 24 * time.Hour
	year = 365 * 24 * time.Hour
)

// start is when the node gets its first certificate.
var start = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

// operator signs requests. Its clock is right.
type operator struct {
	authority *certs.CA
	now       time.Time
	requests  []string
}

func (o *operator) Sign(_ context.Context, name string, request []byte) ([]byte, error) {
	o.requests = append(o.requests, name)
	block, _ := pem.Decode(request)
	parsed, err := x509.ParseCertificateRequest(block.Bytes)
	if err != nil {
		return nil, err
	}
	return o.authority.Certify(x509.Certificate{
		Subject: parsed.Subject, KeyUsage: x509.KeyUsageDigitalSignature, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth},
		NotBefore: o.now.Add(-certs.Skew), NotAfter: o.now.Add(life),
	}, parsed.PublicKey)
}

// node is an identity with a first certificate.
func node(t *testing.T) (nodecert.Identity, *operator) {
	t.Helper()
	authority, err := certs.NewCA("ca", start, 10*year)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	i := nodecert.Identity{
		For: "tests", Prefix: "node-", Dir: dir, Base: "client", CAFile: filepath.Join(dir, "ca.crt"),
		Template: x509.CertificateRequest{Subject: pkix.Name{CommonName: "node"}},
	}
	if err := os.WriteFile(i.CAFile, authority.Pair().Certificate, 0o600); err != nil {
		t.Fatal(err)
	}
	o := &operator{authority: authority, now: start}
	if err := i.Renew(t.Context(), o, func() time.Time { return start }); err != nil {
		t.Fatal(err)
	}
	return i, o
}

// step does what agents do regularly, at a time of the node's clock.
func step(t *testing.T, i nodecert.Identity, o *operator, now time.Time) (*tls.Certificate, error) {
	t.Helper()
	pair, err := i.Load(now)
	if !nodecert.Due(pair, now) {
		return pair, err
	}
	if err := i.Renew(t.Context(), o, func() time.Time { return now }); err != nil {
		return pair, err
	}
	return i.Load(now)
}

// TestClocksOfNodesJump: the clock of a node jumps and is corrected later. Its certificate is kept, or replaced by one that is valid.
func TestClocksOfNodesJump(t *testing.T) {
	for _, row := range []struct {
		why  string
		jump time.Duration
		// problem is reported while the clock is wrong; empty if the node has a certificate that it uses.
		problem string
		// renewed is true if the node has another certificate afterwards.
		renewed bool
	}{
		{"a minute ahead", time.Minute, "", false},
		{"a minute back", -time.Minute, "", false},
		{"back, but not before the certificate, which is made for an earlier time", -certs.Skew, "", false},
		{"ahead, to the second half of the certificate's life: it is renewed early", life/2 + time.Hour, "", true},
		{"ahead, and the new certificate has expired by that clock: it is not kept", year, "expired at 2026-03-31T12:00:00Z", false},
		{"back, and the new certificate is not valid yet by that clock: it is not kept", -year, "is not valid before 2026-03-01T11:00:00Z: the clock of the node is wrong", false},
	} {
		t.Run(row.why, func(t *testing.T) {
			i, o := node(t)
			before, err := i.Load(start)
			if err != nil {
				t.Fatal(err)
			}
			pair, err := step(t, i, o, start.Add(row.jump))
			switch {
			case row.problem == "" && (err != nil || pair == nil):
				t.Errorf("the node has no certificate: %v", err)
			case row.problem != "" && (pair != nil || !errors.Is(err, nodecert.ErrUnusable) || !strings.Contains(err.Error(), row.problem)):
				t.Errorf("the node uses %v, and reports %v", pair, err)
			}
			after, err := step(t, i, o, start)
			if err != nil {
				t.Fatalf("when the clock is right again: %v", err)
			}
			if renewed := !after.Leaf.Equal(before.Leaf); renewed != row.renewed {
				t.Errorf("another certificate: %t, from %s to %s", renewed, after.Leaf.NotBefore, after.Leaf.NotAfter)
			}
			if _, _, pending := i.Files(); exists(pending) {
				t.Error("a key is kept for a request that was answered")
			}
		})
	}
}

func exists(file string) bool { _, err := os.Stat(file); return err == nil }

// TestACertificateIsRenewedAtHalfItsLife also while the operator does not sign: the same request is repeated then, and the certificate is used until it expires.
func TestACertificateIsRenewedAtHalfItsLife(t *testing.T) {
	i, o := node(t)
	half := start.Add(life / 2)
	for _, now := range []time.Time{start, half.Add(-time.Second)} {
		if _, err := step(t, i, o, now); err != nil || len(o.requests) != 1 {
			t.Fatalf("at %s there were %d requests: %v", now, len(o.requests), err)
		}
	}
	a := &absent{}
	for _, now := range []time.Time{half, half.Add(time.Hour), start.Add(life)} {
		if err := i.Renew(t.Context(), a, func() time.Time { return now }); !errors.Is(err, errAbsent) {
			t.Errorf("without the operator: %v", err)
		}
		if pair, err := i.Load(now); err != nil || !nodecert.Due(pair, now) {
			t.Errorf("at %s there is a certificate that is due: %t, %v", now, nodecert.Due(pair, now), err)
		}
	}
	if len(a.names) != 3 || a.names[0] != a.names[1] || a.names[0] != a.names[2] {
		t.Errorf("the requests were %v", a.names)
	}
	o.now = start.Add(life + time.Second)
	if _, err := i.Load(o.now); err == nil {
		t.Error("a certificate is used that has expired")
	}
	if _, err := step(t, i, o, o.now); err != nil || o.requests[1] != a.names[0] {
		t.Errorf("the requests were %v: %v", o.requests, err)
	}
}

var errAbsent = errors.New("no operator signs")

// absent is a signer while no operator runs.
type absent struct{ names []string }

func (a *absent) Sign(_ context.Context, name string, _ []byte) ([]byte, error) {
	a.names = append(a.names, name)
	return nil, fmt.Errorf("request %s: %w", name, errAbsent)
}
