// Package cabundle parses and merges CA bundles that users write: PEM files with comments, any line ends, duplicate or
// expired certificates, and invalid blocks.
//
// Parse reports all errors at once, with block number and line. Merge merges bundles without duplicates and expired
// certificates.
//
// It is pure.
package cabundle

import (
	"crypto/x509"
	"fmt"
	"strings"
)

// Key is the conventional key of a CA bundle in a ConfigMap.
const Key = "ca-bundle.crt"

// Limit is the maximum total size of the values of a ConfigMap in bytes.
// https://kubernetes.io/docs/concepts/configuration/configmap/
const Limit = 1 << 20

// Certificate is one certificate of a bundle.
type Certificate struct {
	*x509.Certificate
	// Number is its index among the blocks of the file, Of the number of blocks, and Line the number of its first line; all
	// start at 1.
	Number, Of, Line int
}

// String returns block number, line and name of the certificate.
func (c Certificate) String() string {
	return fmt.Sprintf("certificate %d of %d (%s, line %d)", c.Number, c.Of, name(c.Certificate), c.Line)
}

// longestName is the maximum length of a subject in messages.
const longestName = 100

// name returns the common name of a certificate, or its whole subject if it has none.
func name(c *x509.Certificate) string {
	s := "CN=" + c.Subject.CommonName
	if c.Subject.CommonName == "" {
		s = c.Subject.String()
	}
	if s == "" {
		s = "serial number " + c.SerialNumber.Text(16)
	}
	s = strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f {
			return ' '
		}
		return r
	}, strings.ToValidUTF8(s, "?"))
	if short := []rune(s); len(short) > longestName {
		s = string(short[:longestName]) + "..."
	}
	return s
}
