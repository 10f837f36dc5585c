package pki

import (
	"crypto/x509"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/cluster-network-operator/cno/internal/certs"
)

// bundleKey is the key of the ConfigMap with the authorities to trust.
const bundleKey = "ca-bundle.crt"

// The keys of the authority's Secret beside tls.crt and tls.key, which sign now.
const (
	nextCertificate = "next.crt"
	nextKey         = "next.key"
	previous        = "previous.crt"
)

// state is what there is of an OperatorPKI. Nil is what does not exist.
type state struct {
	// authority is the data of the Secret <name>-ca, certificate that of <name>-cert.
	authority, certificate map[string][]byte
	// bundle is the text of the ConfigMap.
	bundle []byte
}

// pairOf reads the pair of a Secret.
func pairOf(data map[string][]byte) certs.Pair {
	return certs.Pair{Certificate: data[corev1.TLSCertKey], Key: data[corev1.TLSPrivateKeyKey]}
}

func pairData(p certs.Pair) map[string][]byte {
	return map[string][]byte{corev1.TLSCertKey: p.Certificate, corev1.TLSPrivateKeyKey: p.Key}
}

// recovered is a rotation as it was found. Lost says why there is no authority that signs, although there was one; it is
// empty if all is well, and for a new OperatorPKI.
type recovered struct {
	certs.Rotation
	lost string
}

// recover reads where a rotation was. Whatever is missing or torn, those that were trusted stay trusted: others may hold
// what they have signed.
func (s state) recover(name string, now time.Time) recovered {
	var out recovered
	published := ours(certs.Salvage(s.bundle), name).Live(now)
	next, nextErr := certs.ParseAuthority(certs.Pair{Certificate: s.authority[nextCertificate], Key: s.authority[nextKey]})
	// A successor that is not published (any more) is not on its way to being trusted. It has signed nothing.
	if nextErr == nil && !published.Contains(certs.Bundle{next.Certificate()}) {
		next = nil
	}
	out.Previous = certs.Salvage(s.authority[previous])
	current, err := certs.ParseAuthority(pairOf(s.authority))
	if err == nil {
		out.Current, out.Next = current, next
		return out
	}
	out.Previous = out.Previous.With(ours(certs.Salvage(s.authority[corev1.TLSCertKey]), name)...).With(published...)
	if len(s.authority) > 0 {
		out.lost = "cannot be read: " + err.Error()
	} else if len(out.Previous) > 0 {
		out.lost = "has gone"
	}
	if next != nil { // it was made for this, only not so soon
		out.Current = next
		out.Previous = without(out.Previous, next.Certificate())
	}
	return out
}

// ours returns those of a bundle that were made for an OperatorPKI, and not written into it by someone.
func ours(b certs.Bundle, name string) certs.Bundle {
	return slices.DeleteFunc(b, func(c *x509.Certificate) bool { return !strings.HasPrefix(c.Subject.CommonName, name+"@") })
}

func without(b certs.Bundle, c *x509.Certificate) certs.Bundle {
	return slices.DeleteFunc(b, func(o *x509.Certificate) bool { return o.Equal(c) })
}

// encode returns the data of the authority's Secret.
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
