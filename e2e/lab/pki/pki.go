// Package pki creates the certificates of a cluster: one CA for servers and
// clients, one for the API server's aggregation layer. It is pure but for random
// numbers; callers pass the time and store the results.
package pki

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"fmt"
	"math/big"
	"net"
	"net/netip"
	"time"
)

// validity is the lifetime of certificates: longer than that of any lab, shorter
// than the maximum that clients accept.
const validity = 365 * 24 * time.Hour

// backdating allows for clocks that are set back later.
const backdating = time.Hour

// Pair is a certificate and its private key, both PEM.
type Pair struct {
	Cert, Key []byte
}

// Subject is the subject of a certificate.
type Subject struct {
	CommonName    string
	Organizations []string
	// DNSNames and Addresses are the subject alternative names of a server; a
	// certificate without them is for clients only.
	DNSNames  []string
	Addresses []netip.Addr
}

// CA is a certificate authority.
type CA struct {
	Pair
	cert *x509.Certificate
	key  crypto.Signer
}

// NewCA creates a self-signed CA.
func NewCA(name string, now time.Time) (*CA, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, fmt.Errorf("create the key of %s: %w", name, err)
	}
	tmpl, err := template(Subject{CommonName: name}, now)
	if err != nil {
		return nil, err
	}
	tmpl.IsCA = true
	tmpl.BasicConstraintsValid = true
	tmpl.KeyUsage |= x509.KeyUsageCertSign
	tmpl.ExtKeyUsage = nil
	der, err := x509.CreateCertificate(rand.Reader, tmpl, tmpl, key.Public(), key)
	if err != nil {
		return nil, fmt.Errorf("create CA %s: %w", name, err)
	}
	pair, err := encode(der, key)
	if err != nil {
		return nil, err
	}
	return LoadCA(pair)
}

// LoadCA decodes a CA that NewCA created.
func LoadCA(p Pair) (*CA, error) {
	certBlock, _ := pem.Decode(p.Cert)
	keyBlock, _ := pem.Decode(p.Key)
	if certBlock == nil || keyBlock == nil {
		return nil, errors.New("load a CA: certificate or key is not PEM")
	}
	cert, err := x509.ParseCertificate(certBlock.Bytes)
	if err != nil {
		return nil, fmt.Errorf("load a CA: %w", err)
	}
	key, err := x509.ParseECPrivateKey(keyBlock.Bytes)
	if err != nil {
		return nil, fmt.Errorf("load a CA: %w", err)
	}
	return &CA{Pair: p, cert: cert, key: key}, nil
}

// Issue creates a key and a certificate for the subject.
func (a *CA) Issue(s Subject, now time.Time) (Pair, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return Pair{}, fmt.Errorf("create the key of %s: %w", s.CommonName, err)
	}
	tmpl, err := template(s, now)
	if err != nil {
		return Pair{}, err
	}
	der, err := x509.CreateCertificate(rand.Reader, tmpl, a.cert, key.Public(), a.key)
	if err != nil {
		return Pair{}, fmt.Errorf("issue the certificate of %s: %w", s.CommonName, err)
	}
	return encode(der, key)
}

// NewKey creates a bare key pair, such as the one that signs service-account
// tokens: Cert holds the public key.
func NewKey() (Pair, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return Pair{}, fmt.Errorf("create a key: %w", err)
	}
	pub, err := x509.MarshalPKIXPublicKey(key.Public())
	if err != nil {
		return Pair{}, fmt.Errorf("encode a public key: %w", err)
	}
	p, err := encode(nil, key)
	p.Cert = pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: pub})
	return p, err
}

func template(s Subject, now time.Time) (*x509.Certificate, error) {
	serial, err := rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 127))
	if err != nil {
		return nil, fmt.Errorf("draw a serial number: %w", err)
	}
	c := &x509.Certificate{
		SerialNumber: serial,
		Subject:      pkix.Name{CommonName: s.CommonName, Organization: s.Organizations},
		NotBefore:    now.Add(-backdating),
		NotAfter:     now.Add(validity),
		KeyUsage:     x509.KeyUsageDigitalSignature,
		ExtKeyUsage:  []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth},
		DNSNames:     s.DNSNames,
	}
	for _, a := range s.Addresses {
		c.IPAddresses = append(c.IPAddresses, net.IP(a.AsSlice()))
	}
	if len(s.DNSNames)+len(s.Addresses) > 0 {
		c.ExtKeyUsage = append(c.ExtKeyUsage, x509.ExtKeyUsageServerAuth)
	}
	return c, nil
}

func encode(cert []byte, key *ecdsa.PrivateKey) (Pair, error) {
	der, err := x509.MarshalECPrivateKey(key)
	if err != nil {
		return Pair{}, fmt.Errorf("encode a private key: %w", err)
	}
	return Pair{
		Cert: pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: cert}),
		Key:  pem.EncodeToMemory(&pem.Block{Type: "EC PRIVATE KEY", Bytes: der}),
	}, nil
}
