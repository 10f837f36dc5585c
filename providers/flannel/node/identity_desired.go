package node

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/hex"
	"encoding/pem"
	"errors"
	"fmt"
	"time"

	"github.com/cluster-network-operator/cno/internal/certs"
	"github.com/cluster-network-operator/cno/providers/flannel/record"
)

// signingRequest is what a node asks the operator to sign.
type signingRequest struct {
	// Name is the name of the request: it follows from the key, so that an agent that starts again finds its own.
	Name string
	// PEM is the request.
	PEM []byte
}

// newKey returns a key, as PEM.
func newKey() ([]byte, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, fmt.Errorf("create key for etcd: %w", err)
	}
	der, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		return nil, fmt.Errorf("encode key for etcd: %w", err)
	}
	return pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der}), nil
}

func parseKey(text []byte) (crypto.Signer, error) {
	block, _ := pem.Decode(text)
	if block == nil {
		return nil, errors.New("decode key for etcd: it is not in PEM form")
	}
	key, err := x509.ParsePKCS8PrivateKey(block.Bytes)
	if err != nil {
		return nil, fmt.Errorf("decode key for etcd: %w", err)
	}
	signer, ok := key.(crypto.Signer)
	if !ok {
		return nil, errors.New("decode key for etcd: it cannot sign")
	}
	return signer, nil
}

// newRequest returns the request for a node's certificate with a key.
func newRequest(node string, key []byte) (signingRequest, error) {
	signer, err := parseKey(key)
	if err != nil {
		return signingRequest{}, err
	}
	template := &x509.CertificateRequest{Subject: pkix.Name{CommonName: record.Etcd.NodeUser(node)}}
	der, err := x509.CreateCertificateRequest(rand.Reader, template, signer)
	if err != nil {
		return signingRequest{}, fmt.Errorf("create request for a certificate: %w", err)
	}
	public, err := x509.MarshalPKIXPublicKey(signer.Public())
	if err != nil {
		return signingRequest{}, fmt.Errorf("encode key for etcd: %w", err)
	}
	sum := sha256.Sum256(public)
	return signingRequest{
		Name: "flannel-etcd-" + hex.EncodeToString(sum[:16]),
		PEM:  pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE REQUEST", Bytes: der}),
	}, nil
}

// checkIdentity returns the certificate in a pair if it is the node's, belongs to the key, is valid and is signed by
// one of the CAs.
func checkIdentity(node string, certificate, key []byte, trusted certs.Bundle, now time.Time) (*tls.Certificate, error) {
	pair, err := tls.X509KeyPair(certificate, key)
	if err != nil {
		return nil, fmt.Errorf("read the node's certificate: %w", err)
	}
	if pair.Leaf, err = x509.ParseCertificate(pair.Certificate[0]); err != nil {
		return nil, fmt.Errorf("read the node's certificate: %w", err)
	}
	switch {
	case pair.Leaf.Subject.CommonName != record.Etcd.NodeUser(node):
		return nil, fmt.Errorf("the node's certificate is for %q", pair.Leaf.Subject.CommonName)
	case now.After(pair.Leaf.NotAfter):
		return nil, fmt.Errorf("the node's certificate expired at %s", pair.Leaf.NotAfter.Format(time.RFC3339))
	case !trusted.Trusts(pair.Leaf, now):
		return nil, errors.New("the node's certificate is of a CA that is no longer trusted")
	}
	return &pair, nil
}

// dueIdentity reports whether it is time for a new certificate: there is none that is trusted, or half of its life is
// over. A CA is trusted for longer than that after another one has begun to sign.
func dueIdentity(pair *tls.Certificate, now time.Time) bool {
	return pair == nil || !now.Before(certs.HalfLife(pair.Leaf))
}
