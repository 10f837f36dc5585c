package nodecert

import (
	"context"
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"encoding/hex"
	"encoding/pem"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/cluster-network-operator/cno/internal/certs"
	"github.com/cluster-network-operator/cno/internal/host/durable"
)

// Identity describes a certificate of a node and its files. All fields must be set.
type Identity struct {
	// For is the purpose in messages: "etcd".
	For string
	// Prefix is the prefix of the names of requests.
	Prefix string
	// Template is the template of the request. Its common name is that of the certificate.
	Template x509.CertificateRequest
	// Dir and Base determine the files: Base.crt, Base.key, and Base.key.pending, the key of a request that is not signed yet.
	Dir, Base string
	// CAFile is the bundle of trusted CAs.
	CAFile string
}

// ErrUnusable means that a signed certificate cannot be used.
var ErrUnusable = errors.New("the certificate that the operator has signed cannot be used")

// Files returns the paths of the certificate, its key, and the key of a request that is not signed yet.
func (i Identity) Files() (certificate, key, pending string) {
	in := func(end string) string { return filepath.Join(i.Dir, i.Base+end) }
	return in(".crt"), in(".key"), in(".key.pending")
}

// Load returns the certificate of the node. It returns an error if there is no usable one.
func (i Identity) Load(now time.Time) (*tls.Certificate, error) {
	certificateFile, keyFile, _ := i.Files()
	certificate, err := os.ReadFile(certificateFile)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("the node has no certificate for %s yet", i.For)
	}
	if err != nil {
		return nil, fmt.Errorf("read certificate for %s: %w", i.For, err)
	}
	key, err := os.ReadFile(keyFile)
	if err != nil {
		return nil, fmt.Errorf("read key for %s: %w", i.For, err)
	}
	bundle, err := i.Trusted()
	if err != nil {
		return nil, err
	}
	return i.Check(certificate, key, bundle, now)
}

// Trusted returns the trusted CAs.
func (i Identity) Trusted() (certs.Bundle, error) {
	content, err := os.ReadFile(i.CAFile)
	if err != nil {
		return nil, fmt.Errorf("read CA certificates: %w", err)
	}
	bundle, err := certs.ParseBundle(content)
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", i.CAFile, err)
	}
	return bundle, nil
}

// Check returns the certificate in a pair if it is the node's, belongs to the key, is valid and is signed by one of the CAs.
func (i Identity) Check(certificate, key []byte, trusted certs.Bundle, now time.Time) (*tls.Certificate, error) {
	pair, err := tls.X509KeyPair(certificate, key)
	if err != nil {
		return nil, fmt.Errorf("read the node's certificate: %w", err)
	}
	if pair.Leaf, err = x509.ParseCertificate(pair.Certificate[0]); err != nil {
		return nil, fmt.Errorf("read the node's certificate: %w", err)
	}
	switch {
	case pair.Leaf.Subject.CommonName != i.Template.Subject.CommonName:
		return nil, fmt.Errorf("the node's certificate is for %q", pair.Leaf.Subject.CommonName)
	case now.Before(pair.Leaf.NotBefore):
		return nil, fmt.Errorf("the node's certificate for %s is not valid before %s: the clock of the node is wrong", i.For, pair.Leaf.NotBefore.Format(time.RFC3339))
	case now.After(pair.Leaf.NotAfter):
		return nil, fmt.Errorf("the node's certificate for %s expired at %s", i.For, pair.Leaf.NotAfter.Format(time.RFC3339))
	case !trusted.Trusts(pair.Leaf, now):
		return nil, errors.New("the node's certificate is of a CA that is no longer trusted")
	}
	return &pair, nil
}

// Due reports whether a new certificate is due: there is no trusted one, or half of its life is over. A CA is trusted for longer than that
// after another one has begun to sign.
func Due(pair *tls.Certificate, now time.Time) bool {
	return pair == nil || !now.Before(certs.HalfLife(pair.Leaf))
}

// Renew requests a certificate and writes it to disk. It writes the key first, so that a restarted agent waits for the same request.
func (i Identity) Renew(ctx context.Context, signer Signer, now func() time.Time) error {
	_, _, pending := i.Files()
	key, err := os.ReadFile(pending)
	if errors.Is(err, fs.ErrNotExist) {
		if key, err = i.NewKey(); err == nil {
			err = durable.WriteFile(pending, key, 0o600)
		}
	}
	if err != nil {
		return fmt.Errorf("keep key for %s: %w", i.For, err)
	}
	request, err := i.Request(key)
	if err == nil {
		var certificate []byte
		if certificate, err = signer.Sign(ctx, request.Name, request.PEM); err == nil {
			err = i.take(certificate, key, now())
		}
	}
	if err == nil || errors.Is(err, ErrRefused) || errors.Is(err, ErrUnusable) {
		// The key has been used, or its request will never be signed.
		err = errors.Join(err, os.Remove(pending))
	}
	return err
}

func (i Identity) take(certificate, key []byte, now time.Time) error {
	certificateFile, keyFile, _ := i.Files()
	bundle, err := i.Trusted()
	if err != nil {
		return err
	}
	if _, err := i.Check(certificate, key, bundle, now); err != nil {
		return fmt.Errorf("%w: %w", ErrUnusable, err)
	}
	if err := durable.WriteFile(keyFile, key, 0o600); err != nil {
		return fmt.Errorf("keep key for %s: %w", i.For, err)
	}
	if err := durable.WriteFile(certificateFile, certificate, 0o600); err != nil {
		return fmt.Errorf("keep certificate for %s: %w", i.For, err)
	}
	return nil
}

// Request is a certificate request of a node.
type Request struct {
	// Name is the name of the request, which is derived from the key, so that a restarted agent finds its own.
	Name string
	// PEM is the request.
	PEM []byte
}

// NewKey returns a key, as PEM.
func (i Identity) NewKey() ([]byte, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, fmt.Errorf("create key for %s: %w", i.For, err)
	}
	der, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		return nil, fmt.Errorf("encode key for %s: %w", i.For, err)
	}
	return pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der}), nil
}

func (i Identity) parseKey(text []byte) (crypto.Signer, error) {
	block, _ := pem.Decode(text)
	if block == nil {
		return nil, fmt.Errorf("decode key for %s: it is not in PEM form", i.For)
	}
	key, err := x509.ParsePKCS8PrivateKey(block.Bytes)
	if err != nil {
		return nil, fmt.Errorf("decode key for %s: %w", i.For, err)
	}
	signer, ok := key.(crypto.Signer)
	if !ok {
		return nil, fmt.Errorf("decode key for %s: it cannot sign", i.For)
	}
	return signer, nil
}

// Request returns the request for a certificate with a key.
func (i Identity) Request(key []byte) (Request, error) {
	signer, err := i.parseKey(key)
	if err != nil {
		return Request{}, err
	}
	der, err := x509.CreateCertificateRequest(rand.Reader, &i.Template, signer)
	if err != nil {
		return Request{}, fmt.Errorf("create request for a certificate: %w", err)
	}
	public, err := x509.MarshalPKIXPublicKey(signer.Public())
	if err != nil {
		return Request{}, fmt.Errorf("encode key for %s: %w", i.For, err)
	}
	sum := sha256.Sum256(public)
	return Request{
		Name: i.Prefix + hex.EncodeToString(sum[:16]),
		PEM:  pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE REQUEST", Bytes: der}),
	}, nil
}
