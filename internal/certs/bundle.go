package certs

import (
	"bytes"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
)

// Bundle is a list of certificates, usually of trusted CAs.
type Bundle []*x509.Certificate

// ParseBundle parses all certificates of a PEM file. Any other block, in particular a private key, is an error with the
// number of the block.
func ParseBundle(content []byte) (Bundle, error) {
	var out Bundle
	for n := 1; ; n++ {
		block, rest := pem.Decode(content)
		if block == nil {
			break
		}
		content = rest
		if strings.Contains(block.Type, "PRIVATE KEY") {
			return nil, fmt.Errorf("block %d is a private key, where only certificates belong", n)
		}
		if block.Type != blockCertificate {
			return nil, fmt.Errorf("block %d is a %q, not a certificate", n, block.Type)
		}
		c, err := x509.ParseCertificate(block.Bytes)
		if err != nil {
			return nil, fmt.Errorf("block %d: %w", n, err)
		}
		out = append(out, c)
	}
	if len(bytes.TrimSpace(content)) > 0 {
		return nil, errors.New("there is text that is not a certificate in PEM form")
	}
	return out, nil
}

// Salvage parses the CA certificates of a text and skips everything else: a damaged or edited file may still be the only
// record of trusted CAs.
func Salvage(content []byte) Bundle {
	var out Bundle
	for {
		block, rest := pem.Decode(content)
		if block == nil {
			return out
		}
		content = rest
		if block.Type != blockCertificate {
			continue
		}
		if c, err := x509.ParseCertificate(block.Bytes); err == nil && c.IsCA {
			out = out.With(c)
		}
	}
}

// With returns a bundle that also has the given certificates, without duplicates.
func (b Bundle) With(more ...*x509.Certificate) Bundle {
	out := slices.Clone(b)
	for _, c := range more {
		if !out.has(c) {
			out = append(out, c)
		}
	}
	return out
}

func (b Bundle) has(c *x509.Certificate) bool {
	return slices.ContainsFunc(b, func(o *x509.Certificate) bool { return o.Equal(c) })
}

// Live returns the certificates that have not expired.
func (b Bundle) Live(now time.Time) Bundle {
	var out Bundle
	for _, c := range b {
		if now.Before(c.NotAfter) {
			out = append(out, c)
		}
	}
	return out
}

// Contains reports whether every certificate of other is in the bundle.
func (b Bundle) Contains(other Bundle) bool {
	return !slices.ContainsFunc(other, func(c *x509.Certificate) bool { return !b.has(c) })
}

// Trusts reports whether a certificate is signed by one of the bundle and valid for every usage it names.
func (b Bundle) Trusts(c *x509.Certificate, now time.Time) bool {
	roots := x509.NewCertPool()
	for _, ca := range b {
		roots.AddCert(ca)
	}
	for _, usage := range c.ExtKeyUsage {
		options := x509.VerifyOptions{Roots: roots, CurrentTime: now, KeyUsages: []x509.ExtKeyUsage{usage}}
		if _, err := c.Verify(options); err != nil {
			return false
		}
	}
	return len(c.ExtKeyUsage) > 0
}

// PEM returns the bundle as PEM, in its order.
func (b Bundle) PEM() []byte {
	var out bytes.Buffer
	for _, c := range b {
		_ = pem.Encode(&out, &pem.Block{Type: blockCertificate, Bytes: c.Raw}) // writes to a bytes.Buffer never fail
	}
	return out.Bytes()
}
