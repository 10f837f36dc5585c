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

// CA is a certificate authority: a certificate that signs others, and its key.
type CA struct {
	certificate *x509.Certificate
	key         crypto.Signer
	pair        Pair
}

// NewCA creates a CA that signs only for end entities. Its name contains the time, so that the names of successive
// CAs differ.
func NewCA(name string, now time.Time, life time.Duration) (*CA, error) {
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
	return ParseCA(pair)
}

// ParseCA parses the result of Pair.
func ParseCA(p Pair) (*CA, error) {
	certificate, key, err := p.Parse()
	if err != nil {
		return nil, fmt.Errorf("parse CA: %w", err)
	}
	if !certificate.IsCA {
		return nil, errors.New("parse CA: the certificate is not that of a CA")
	}
	return &CA{certificate: certificate, key: key, pair: p}, nil
}

// Pair returns the CA as PEM.
func (a *CA) Pair() Pair { return a.pair }

// Certificate returns the certificate of the CA.
func (a *CA) Certificate() *x509.Certificate { return a.certificate }

// Usage is the usage of a certificate.
type Usage int

// The usages of end entities.
const (
	// Client certificates authenticate clients.
	Client Usage = 1 << iota
	// Server certificates authenticate servers.
	Server
	// Peer certificates authenticate clients and servers, for members of a cluster.
	Peer = Client | Server
)

// Request describes a certificate of an end entity.
type Request struct {
	// CommonName is the name of the holder.
	CommonName string
	// Usage is its usage; Issue refuses the zero value.
	Usage Usage
	// Addresses and Names are those of the server.
	Addresses []netip.Addr
	Names     []string
	// Life is its validity from now. It ends at the latest with that of the CA.
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

// Issue creates a key and a certificate for a request.
func (a *CA) Issue(r Request, now time.Time) (Pair, error) {
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

// Certify signs the key of another holder and returns the certificate as PEM. The template has everything except the serial number; the
// certificate is never a CA, and its validity ends at the latest with that of this CA.
func (a *CA) Certify(template x509.Certificate, key crypto.PublicKey) ([]byte, error) {
	var err error
	if template.SerialNumber, err = serial(); err != nil {
		return nil, err
	}
	template.IsCA, template.BasicConstraintsValid = false, true
	template.KeyUsage &^= x509.KeyUsageCertSign | x509.KeyUsageCRLSign
	template.SignatureAlgorithm = x509.UnknownSignatureAlgorithm // that of the CA's key
	if template.NotAfter.After(a.certificate.NotAfter) {
		template.NotAfter = a.certificate.NotAfter
	}
	if !template.NotBefore.Before(template.NotAfter) {
		return nil, fmt.Errorf("the CA expires at %s", a.certificate.NotAfter.Format(time.RFC3339))
	}
	der, err := x509.CreateCertificate(rand.Reader, &template, a.certificate, key, a.key)
	if err != nil {
		return nil, fmt.Errorf("sign certificate: %w", err)
	}
	return pem.EncodeToMemory(&pem.Block{Type: blockCertificate, Bytes: der}), nil
}
