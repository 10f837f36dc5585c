package node

import (
	"context"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/cluster-network-operator/cno/internal/certs"
	"github.com/cluster-network-operator/cno/internal/nodecert"
	"github.com/cluster-network-operator/cno/providers/flannel/record"
)

// ca plays the operator: it signs what is requested, with the name that is requested.
type ca struct {
	t         *testing.T
	mu        sync.Mutex
	authority *certs.CA
	life      time.Duration
	refuse    bool
	asked     []string
}

func (c *ca) Sign(_ context.Context, name string, request []byte) ([]byte, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.asked = append(c.asked, name)
	if c.refuse {
		return nil, fmt.Errorf("%w: by the test", nodecert.ErrRefused)
	}
	block, _ := pem.Decode(request)
	parsed, err := x509.ParseCertificateRequest(block.Bytes)
	if err != nil {
		return nil, err
	}
	return c.authority.Certify(x509.Certificate{
		Subject: parsed.Subject, KeyUsage: x509.KeyUsageDigitalSignature, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth},
		NotBefore: time.Now().Add(-time.Minute), NotAfter: time.Now().Add(c.life),
	}, parsed.PublicKey)
}

func (c *ca) requests() []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return append([]string(nil), c.asked...)
}

func newCA(t *testing.T) *ca {
	t.Helper()
	a, err := certs.NewCA("flannel-etcd", time.Now(), 24*time.Hour)
	if err != nil {
		t.Fatal(err)
	}
	return &ca{t: t, authority: a, life: time.Hour}
}

// identityAgent is an agent of node1 that keeps an identity, and trusts a CA.
func identityAgent(t *testing.T, dir string, c *ca) *flanneld {
	t.Helper()
	config := single()
	config.StateDir, config.Etcd.CAFile, config.Etcd.OwnCertificate = dir, filepath.Join(dir, "ca.crt"), true
	if err := os.WriteFile(config.Etcd.CAFile, c.authority.Pair().Certificate, 0o600); err != nil {
		t.Fatal(err)
	}
	a, err := newAgent(Options{Config: config, Node: "node1", Log: slog.New(slog.NewTextHandler(t.Output(), nil)), Sign: c})
	if err != nil {
		t.Fatal(err)
	}
	return a
}

func TestAgentGetsAndKeepsItsOwnCertificate(t *testing.T) {
	dir, c := t.TempDir(), newCA(t)
	a := identityAgent(t, dir, c)
	if pair, _ := a.identity.Get(); pair != nil {
		t.Fatal("there is a certificate before any was requested")
	}
	_, renewed := a.identity.Get()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	done := make(chan error, 1)
	go func() { done <- a.keepIdentity(ctx) }()
	select {
	case <-renewed:
	case <-time.After(2 * time.Minute):
		t.Fatal("the agent gets no certificate")
	}
	pair, _ := a.identity.Get()
	if pair.Leaf.Subject.CommonName != record.Etcd.NodeUser("node1") {
		t.Errorf("the certificate is for %s", pair.Leaf.Subject)
	}
	cancel()
	if err := <-done; err != nil {
		t.Error(err)
	}
	if n := len(c.requests()); n != 1 {
		t.Errorf("there were %d requests", n)
	}
	for _, name := range []string{"etcd-client.crt", "etcd-client.key"} {
		if info, err := os.Stat(filepath.Join(dir, name)); err != nil || info.Mode().Perm() != 0o600 {
			t.Errorf("%s: %v, %v", name, info, err)
		}
	}
	if _, err := os.Stat(filepath.Join(dir, "etcd-client.key.pending")); err == nil {
		t.Error("the key of a request that is signed is still pending")
	}
	// It starts again, without the operator.
	if pair, _ := identityAgent(t, dir, c).identity.Get(); pair == nil {
		t.Error("after a restart the certificate is not used")
	}
	// With the node's name, but of a CA that is not trusted any more.
	if pair, _ := identityAgent(t, dir, newCA(t)).identity.Get(); pair != nil {
		t.Error("a certificate of a removed CA is used")
	}
}

func TestRequestIsKeptAcrossRestartsUntilRefused(t *testing.T) {
	dir, c := t.TempDir(), newCA(t)
	c.authority, c.refuse = newCA(t).authority, false
	a := identityAgent(t, dir, newCA(t)) // trusts another CA than the one that signs
	a.Sign = c
	if err := a.renewIdentity(t.Context()); err == nil {
		t.Error("a certificate of another CA is taken")
	}
	c.refuse = true
	slow := identityAgent(t, dir, newCA(t))
	slow.Sign = unanswered{c}
	for range 2 {
		if err := slow.renewIdentity(t.Context()); err == nil {
			t.Error("there is a certificate although no one answers")
		}
	}
	asked := c.requests()
	if len(asked) != 3 || asked[1] != asked[2] || asked[0] == asked[1] {
		t.Errorf("requests were %v: an unanswered one is to be waited for, an answered one not", asked)
	}
}

// unanswered is an operator that does not run.
type unanswered struct{ *ca }

func (u unanswered) Sign(ctx context.Context, name string, request []byte) ([]byte, error) {
	_, _ = u.ca.Sign(ctx, name, request)
	return nil, context.DeadlineExceeded
}

func TestCertificateIsRenewedAtHalfItsLifetime(t *testing.T) {
	c := newCA(t)
	own := identity(single(), "node1")
	key, err := own.NewKey()
	if err != nil {
		t.Fatal(err)
	}
	request, err := own.Request(key)
	if err != nil {
		t.Fatal(err)
	}
	certificate, err := c.Sign(t.Context(), request.Name, request.PEM)
	if err != nil {
		t.Fatal(err)
	}
	trusted := certs.Bundle{c.authority.Certificate()}
	now := time.Now()
	pair, err := own.Check(certificate, key, trusted, now)
	if err != nil {
		t.Fatal(err)
	}
	if nodecert.Due(pair, now) || !nodecert.Due(pair, now.Add(45*time.Minute)) || !nodecert.Due(nil, now) {
		t.Error("an hour's certificate is due at a wrong time")
	}
	if _, err := identity(single(), "node2").Check(certificate, key, trusted, now); err == nil {
		t.Error("another node's certificate is used")
	}
	if _, err := own.Check(certificate, key, trusted, now.Add(2*time.Hour)); err == nil {
		t.Error("an expired certificate is used")
	}
	other, err := own.NewKey()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := own.Check(certificate, other, trusted, now); err == nil {
		t.Error("a certificate of another key is used")
	}
}
