// Package cabundle reads and merges lists of certificate authorities as people write them: PEM files with comments,
// line ends of any kind, certificates that are there twice or have expired, and things that do not belong there at all.
//
// Parse names every mistake at once, with its number in the file and its line. Merge puts lists together, each
// certificate once, and leaves out what has expired.
//
// It is pure.
package cabundle

import (
	"crypto/x509"
	"fmt"
	"strings"
)

// Key is the key of a ConfigMap under which everybody looks for certificate authorities.
const Key = "ca-bundle.crt"

// Limit is how many bytes the values of a ConfigMap may have together.
// https://kubernetes.io/docs/concepts/configuration/configmap/
const Limit = 1 << 20

// Certificate is one certificate of a bundle.
type Certificate struct {
	*x509.Certificate
	// Number is its place among the blocks of the file, Of how many there are, and Line that of its first line; all count
	// from 1.
	Number, Of, Line int
}

// String names the certificate as a person can find it.
func (c Certificate) String() string {
	return fmt.Sprintf("certificate %d of %d (%s, line %d)", c.Number, c.Of, name(c.Certificate), c.Line)
}

// longestName is how much of a subject is shown.
const longestName = 100

// name is the common name of a certificate, or its whole subject if it has none.
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
