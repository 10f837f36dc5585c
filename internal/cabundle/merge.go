package cabundle

import (
	"crypto/sha256"
	"encoding/pem"
	"fmt"
	"strings"
	"time"
)

// Merged is several lists of certificates as one.
type Merged struct {
	// PEM has each certificate once, in the order of the lists, and nothing else.
	PEM string
	// Count is how many it has.
	Count int
	// Skipped are those that have expired, in the order of the lists.
	Skipped []Certificate
	// Next is when the next one of them expires; zero is never.
	Next time.Time
}

// Merge puts lists together. What has expired is left out: no client accepts it, and it takes room.
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
			_ = pem.Encode(&out, &pem.Block{Type: typeCertificate, Bytes: c.Raw}) // a strings.Builder takes everything
		}
	}
	m.PEM = out.String()
	return m
}

// Remarks says what a person should know of a list that was merged, though it was taken: what has expired, what is not
// valid yet, and what is no authority.
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
