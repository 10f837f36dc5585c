package certs

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"math/big"
	"time"
)

// Skew is how far the validity of certificates begins in the past, for machines whose clocks are slow. For a life of less
// than two hours, it is half of that life.
const Skew = time.Hour

// made returns the time at which a certificate was created.
func made(c *x509.Certificate) time.Time {
	return c.NotBefore.Add(min(Skew, c.NotAfter.Sub(c.NotBefore)/3))
}

const (
	blockCertificate = "CERTIFICATE"
	blockKey         = "PRIVATE KEY"
	blockParameters  = "EC PARAMETERS"
)

// Pair is a certificate and its private key, each as PEM. The zero value is no certificate.
type Pair struct {
	Certificate []byte
	Key         []byte
}

// Empty reports whether both parts are empty.
func (p Pair) Empty() bool { return len(p.Certificate) == 0 && len(p.Key) == 0 }

// KeyError is the error of an unusable private key of a pair.
type KeyError struct{ Err error }

func (e *KeyError) Error() string { return e.Err.Error() }

// Unwrap returns the cause.
func (e *KeyError) Unwrap() error { return e.Err }

// Parse returns the certificate and the key of a pair after checking that they match. The key may have any algorithm and any of the
// usual encodings, since pairs may have another origin. Errors of the key are KeyErrors.
func (p Pair) Parse() (*x509.Certificate, crypto.Signer, error) {
	list, err := ParseBundle(p.Certificate)
	if err != nil {
		return nil, nil, err
	}
	if len(list) == 0 {
		return nil, nil, errors.New("no certificate in PEM form")
	}
	key, err := parseKey(p.Key)
	if err != nil {
		return nil, nil, &KeyError{err}
	}
	public, ok := key.Public().(interface{ Equal(crypto.PublicKey) bool })
	if !ok || !public.Equal(list[0].PublicKey) {
		return nil, nil, &KeyError{errors.New("certificate and private key do not belong together")}
	}
	return list[0], key, nil
}

// parseKey parses a private key. OpenSSL writes the parameters of the curve before the key.
func parseKey(content []byte) (crypto.Signer, error) {
	for {
		block, rest := pem.Decode(content)
		if block == nil {
			return nil, fmt.Errorf("no PEM block %q for the private key", blockKey)
		}
		var key any
		var err error
		switch block.Type {
		case blockParameters:
			content = rest
			continue
		case blockKey:
			key, err = x509.ParsePKCS8PrivateKey(block.Bytes)
		case "RSA PRIVATE KEY":
			key, err = x509.ParsePKCS1PrivateKey(block.Bytes)
		case "EC PRIVATE KEY":
			key, err = x509.ParseECPrivateKey(block.Bytes)
		default:
			return nil, fmt.Errorf("a PEM block %q where the private key belongs", block.Type)
		}
		if err != nil {
			return nil, fmt.Errorf("parse private key: %w", err)
		}
		signer, ok := key.(crypto.Signer)
		if !ok {
			return nil, fmt.Errorf("private key is a %T, which cannot sign", key)
		}
		return signer, nil
	}
}

// sign creates a certificate from a template, signed by parent, or self-signed if parent is nil.
func sign(template *x509.Certificate, parent *CA, now time.Time, life time.Duration) (Pair, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return Pair{}, fmt.Errorf("create key: %w", err)
	}
	if template.SerialNumber, err = serial(); err != nil {
		return Pair{}, err
	}
	signer, signerKey := template, crypto.Signer(key)
	if parent != nil {
		signer, signerKey = parent.certificate, parent.key
		if left := signer.NotAfter.Sub(now); life > left {
			life = left
		}
	}
	if life <= 0 {
		return Pair{}, fmt.Errorf("the CA expired at %s", signer.NotAfter.Format(time.RFC3339))
	}
	template.NotBefore, template.NotAfter = now.Add(-min(Skew, life/2)).UTC(), now.Add(life).UTC()
	der, err := x509.CreateCertificate(rand.Reader, template, signer, key.Public(), signerKey)
	if err != nil {
		return Pair{}, fmt.Errorf("sign certificate: %w", err)
	}
	keyDER, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		return Pair{}, fmt.Errorf("encode key: %w", err)
	}
	return Pair{
		Certificate: pem.EncodeToMemory(&pem.Block{Type: blockCertificate, Bytes: der}),
		Key:         pem.EncodeToMemory(&pem.Block{Type: blockKey, Bytes: keyDER}),
	}, nil
}

// serial returns a random serial number, which RFC 5280 requires to be positive and of at most 20 bytes.
func serial() (*big.Int, error) {
	n, err := rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 128))
	if err != nil {
		return nil, fmt.Errorf("create serial number: %w", err)
	}
	return n.Add(n, big.NewInt(1)), nil
}
