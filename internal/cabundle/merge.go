package cabundle

import (
	"crypto/sha256"
	"encoding/pem"
	"fmt"
	"strings"
	"time"
)

// Merged is the result of merging bundles.
type Merged struct {
	// PEM has the certificates in the order of the bundles, without duplicates and comments.
	PEM string
	// Count is the number of certificates.
	Count int
	// Skipped are the expired certificates, in the order of the bundles.
	Skipped []Certificate
	// Next is the next expiry of a certificate; zero if there is none.
	Next time.Time
}

// Merge merges bundles. It skips expired certificates, which no client accepts.
func Merge(now time.Time, lists ...[]Certificate) Merged {
	var m Merged
	var out strings.Builder
	seen := map[[sha256.Size]byte]bool{}
	for _, list := range lists {
		for _, c := range list {
			sum := sha256.Sum256(c.Raw)
			if seen[sum] {
				continue
			}
			seen[sum] = true
			if now.After(c.NotAfter) {
				m.Skipped = append(m.Skipped, c)
				continue
			}
			if m.Next.IsZero() || c.NotAfter.Before(m.Next) {
				m.Next = c.NotAfter
			}
			m.Count++
			_ = pem.Encode(&out, &pem.Block{Type: typeCertificate, Bytes: c.Raw}) // writes to a strings.Builder never fail
		}
	}
	m.PEM = out.String()
	return m
}

// Remarks returns sentences about certificates of a merged bundle that have expired, are not valid yet, or are no CA.
func Remarks(now time.Time, list []Certificate) []string {
	const day = "2006-01-02"
	var remarks []string
	for _, c := range list {
		switch {
		case now.After(c.NotAfter):
			remarks = append(remarks, fmt.Sprintf("%s: expired %s; skipped, others used", c, c.NotAfter.UTC().Format(day)))
		case now.Before(c.NotBefore):
			remarks = append(remarks, fmt.Sprintf("%s: is not valid before %s; used from then on", c, c.NotBefore.UTC().Format(day)))
		case !c.IsCA && c.Version == 3:
			remarks = append(remarks, fmt.Sprintf("%s: is not a CA certificate; it is used, but clients then trust only that certificate", c))
		}
	}
	return remarks
}
