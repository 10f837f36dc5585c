package certs

import (
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

// Skew is how far in the past certificates begin to be valid, for machines whose clocks are late.
const Skew = time.Hour

const (
	blockCertificate = "CERTIFICATE"
	blockKey         = "PRIVATE KEY"
)

// Pair is a certificate and its private key, each as PEM. The zero value is no certificate.
type Pair struct {
	Certificate []byte
	Key         []byte
}

// Empty reports whether neither half is there.
func (p Pair) Empty() bool { return len(p.Certificate) == 0 && len(p.Key) == 0 }

// Parse returns the certificate and the key of a pair, after checking that they belong together.
func (p Pair) Parse() (*x509.Certificate, *ecdsa.PrivateKey, error) {
	list, err := ParseBundle(p.Certificate)
	if err != nil {
		return nil, nil, err
	}
	if len(list) == 0 {
		return nil, nil, errors.New("no certificate in PEM form")
	}
	block, _ := pem.Decode(p.Key)
	if block == nil || block.Type != blockKey {
		return nil, nil, fmt.Errorf("no PEM block %q for the private key", blockKey)
	}
	parsed, err := x509.ParsePKCS8PrivateKey(block.Bytes)
	if err != nil {
		return nil, nil, fmt.Errorf("parse private key: %w", err)
	}
	key, ok := parsed.(*ecdsa.PrivateKey)
	if !ok {
		return nil, nil, fmt.Errorf("private key is a %T, not ECDSA", parsed)
	}
	if !key.PublicKey.Equal(list[0].PublicKey) {
		return nil, nil, errors.New("certificate and private key do not belong together")
	}
	return list[0], key, nil
}

// sign makes a certificate of a template, signed by parent, or by itself when parent is nil.
func sign(template *x509.Certificate, parent *Authority, now time.Time, life time.Duration) (Pair, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return Pair{}, fmt.Errorf("make key: %w", err)
	}
	// RFC 5280 wants serials that nobody can guess, positive and of at most 20 bytes.
	template.SerialNumber, err = rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 128))
	if err != nil {
		return Pair{}, fmt.Errorf("make serial number: %w", err)
	}
	template.NotBefore, template.NotAfter = now.Add(-Skew).UTC(), now.Add(life).UTC()
	signer, signerKey := template, key
	if parent != nil {
		signer, signerKey = parent.certificate, parent.key
		if template.NotAfter.After(signer.NotAfter) {
			template.NotAfter = signer.NotAfter
		}
	}
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
