package pki

import (
	"crypto/x509"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/cluster-network-operator/cno/internal/certs"
)

// bundleKey is the key of the ConfigMap with the trusted CAs.
const bundleKey = "ca-bundle.crt"

// Keys of the CA's Secret in addition to tls.crt and tls.key, which are those of the signing CA.
const (
	nextCertificate = "next.crt"
	nextKey         = "next.key"
	previous        = "previous.crt"
)

// state is the observed state of an OperatorPKI. Nil means that the object does not exist.
type state struct {
	// ca is the data of the Secret <name>-ca, certificate that of <name>-cert.
	ca, certificate map[string][]byte
	// bundle is the text of the ConfigMap.
	bundle []byte
}

// pairOf returns the key pair in a Secret.
func pairOf(data map[string][]byte) certs.Pair {
	return certs.Pair{Certificate: data[corev1.TLSCertKey], Key: data[corev1.TLSPrivateKeyKey]}
}

func pairData(p certs.Pair) map[string][]byte {
	return map[string][]byte{corev1.TLSCertKey: p.Certificate, corev1.TLSPrivateKeyKey: p.Key}
}

// recovered is the rotation as found in the objects. lost describes why the signing CA is missing; it is empty if it exists, and for a new
// OperatorPKI.
type recovered struct {
	certs.Rotation
	lost string
}

// recover reads the state of a rotation. Whichever data is missing or damaged, trusted CAs stay trusted, because clients may hold
// certificates that they signed.
func (s state) recover(name string, now time.Time) recovered {
	var out recovered
	published := issuedFor(certs.Salvage(s.bundle), name).Live(now)
	next, nextErr := certs.ParseCA(certs.Pair{Certificate: s.ca[nextCertificate], Key: s.ca[nextKey]})
	// A successor that is not published is not trusted. It has signed nothing and is dropped.
	if nextErr == nil && !published.Contains(certs.Bundle{next.Certificate()}) {
		next = nil
	}
	out.Previous = certs.Salvage(s.ca[previous])
	current, err := certs.ParseCA(pairOf(s.ca))
	if err == nil {
		out.Current, out.Next = current, next
		return out
	}
	out.Previous = out.Previous.With(issuedFor(certs.Salvage(s.ca[corev1.TLSCertKey]), name)...).With(published...)
	if len(s.ca) > 0 {
		out.lost = "is unreadable: " + err.Error()
	} else if len(out.Previous) > 0 {
		out.lost = "is missing"
	}
	if next != nil { // the successor signs earlier than planned
		out.Current = next
		out.Previous = without(out.Previous, next.Certificate())
	}
	return out
}

// issuedFor returns the certificates in a bundle that were issued for an OperatorPKI, without those that another client added.
func issuedFor(b certs.Bundle, name string) certs.Bundle {
	return slices.DeleteFunc(b, func(c *x509.Certificate) bool { return !strings.HasPrefix(c.Subject.CommonName, name+"@") })
}

func without(b certs.Bundle, c *x509.Certificate) certs.Bundle {
	return slices.DeleteFunc(b, func(o *x509.Certificate) bool { return o.Equal(c) })
}

// encode returns the data of the CA's Secret.
func encode(r certs.Rotation) map[string][]byte {
	out := pairData(r.Current.Pair())
	if r.Next != nil {
		out[nextCertificate], out[nextKey] = r.Next.Pair().Certificate, r.Next.Pair().Key
	}
	if len(r.Previous) > 0 {
		out[previous] = r.Previous.PEM()
	}
	return out
}
