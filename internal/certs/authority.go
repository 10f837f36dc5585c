package certs

import (
	"crypto"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"fmt"
	"net/netip"
	"time"
)

// Authority is a certificate that signs others, and its key.
type Authority struct {
	certificate *x509.Certificate
	key         crypto.Signer
	pair        Pair
}

// NewAuthority makes an authority that signs for end entities only. Its name carries the time, so that two that
// follow one another can be told apart.
func NewAuthority(name string, now time.Time, life time.Duration) (*Authority, error) {
	pair, err := sign(&x509.Certificate{
		Subject:               pkix.Name{CommonName: fmt.Sprintf("%s@%d", name, now.Unix())},
		IsCA:                  true,
		BasicConstraintsValid: true,
		MaxPathLenZero:        true,
		KeyUsage:              x509.KeyUsageCertSign | x509.KeyUsageCRLSign,
	}, nil, now, life)
	if err != nil {
		return nil, fmt.Errorf("create CA %s: %w", name, err)
	}
	return ParseAuthority(pair)
}

// ParseAuthority reads an authority that was written out with Pair.
func ParseAuthority(p Pair) (*Authority, error) {
	certificate, key, err := p.Parse()
	if err != nil {
		return nil, fmt.Errorf("parse authority: %w", err)
	}
	if !certificate.IsCA {
		return nil, errors.New("parse authority: the certificate is not one of an authority")
	}
	return &Authority{certificate: certificate, key: key, pair: p}, nil
}

// Pair returns the authority as PEM.
func (a *Authority) Pair() Pair { return a.pair }

// Certificate returns the authority's own certificate.
func (a *Authority) Certificate() *x509.Certificate { return a.certificate }

// Usage is what a certificate is good for.
type Usage int

// The usages of end entities.
const (
	// Client certificates prove who connects.
	Client Usage = 1 << iota
	// Server certificates prove who answers.
	Server
	// Peer certificates do both, for programs that connect to their own kind.
	Peer = Client | Server
)

// Request says what a certificate of an end entity is to hold.
type Request struct {
	// CommonName is the name of the holder.
	CommonName string
	// Usage is what it is good for; the zero value is nothing, which Issue refuses.
	Usage Usage
	// Addresses and Names are what a server may be reached as.
	Addresses []netip.Addr
	Names     []string
	// Life is how long it is valid from now. It never outlives its authority.
	Life time.Duration
}

func (r Request) usages() []x509.ExtKeyUsage {
	var out []x509.ExtKeyUsage
	if r.Usage&Client != 0 {
		out = append(out, x509.ExtKeyUsageClientAuth)
	}
	if r.Usage&Server != 0 {
		out = append(out, x509.ExtKeyUsageServerAuth)
	}
	return out
}

// Issue signs a new key for the holder that a request describes.
func (a *Authority) Issue(r Request, now time.Time) (Pair, error) {
	if r.Usage == 0 || r.CommonName == "" || r.Life <= 0 {
		return Pair{}, fmt.Errorf("issue certificate for %q: name, usage and life must be given", r.CommonName)
	}
	template := &x509.Certificate{
		Subject:               pkix.Name{CommonName: r.CommonName},
		BasicConstraintsValid: true,
		KeyUsage:              x509.KeyUsageDigitalSignature,
		ExtKeyUsage:           r.usages(),
		DNSNames:              r.Names,
	}
	for _, a := range r.Addresses {
		template.IPAddresses = append(template.IPAddresses, a.Unmap().AsSlice())
	}
	pair, err := sign(template, a, now, r.Life)
	if err != nil {
		return Pair{}, fmt.Errorf("issue certificate for %s: %w", r.CommonName, err)
	}
	return pair, nil
}

// Certify signs a key that a third party holds. The template says everything but the serial number; the certificate is never
// one of an authority, and never outlives this one. It comes as PEM.
func (a *Authority) Certify(template x509.Certificate, key crypto.PublicKey) ([]byte, error) {
	var err error
	if template.SerialNumber, err = serial(); err != nil {
		return nil, err
	}
	template.IsCA, template.BasicConstraintsValid = false, true
	template.KeyUsage &^= x509.KeyUsageCertSign | x509.KeyUsageCRLSign
	template.SignatureAlgorithm = x509.UnknownSignatureAlgorithm // that of the authority's key
	if template.NotAfter.After(a.certificate.NotAfter) {
		template.NotAfter = a.certificate.NotAfter
	}
	if !template.NotBefore.Before(template.NotAfter) {
		return nil, fmt.Errorf("the authority expires at %s", a.certificate.NotAfter.Format(time.RFC3339))
	}
	der, err := x509.CreateCertificate(rand.Reader, &template, a.certificate, key, a.key)
	if err != nil {
		return nil, fmt.Errorf("sign certificate: %w", err)
	}
	return pem.EncodeToMemory(&pem.Block{Type: blockCertificate, Bytes: der}), nil
}
