package certs

import (
	"crypto/x509"
	"fmt"
	"slices"
	"time"
)

// Stale returns the reason why a pair has to be issued again, as the predicate of "the certificate"; "" for a valid pair. A
// pair is valid if it can be parsed, matches the request, is not valid for longer than requested, is signed by signer, and
// half of its life has not passed.
func Stale(p Pair, want Request, signer *CA, now time.Time) string {
	if p.Empty() {
		return "is missing"
	}
	c, _, err := p.Parse()
	switch {
	case err != nil:
		return "cannot be read: " + err.Error()
	case now.Before(c.NotBefore):
		return fmt.Sprintf("is not valid before %s", c.NotBefore.Format(time.RFC3339))
	case !now.Before(c.NotAfter):
		return fmt.Sprintf("expired at %s", c.NotAfter.Format(time.RFC3339))
	case !now.Before(HalfLife(c)):
		return "has passed half of its life"
	case c.Subject.CommonName != want.CommonName:
		return fmt.Sprintf("is one for %q", c.Subject.CommonName)
	case !covers(c, want):
		return "lacks a name, an address or a usage"
	case c.NotAfter.After(now.Add(want.Life + Skew)):
		return "is valid for longer than it should be"
	case c.CheckSignatureFrom(signer.certificate) != nil:
		return "is signed by a CA that is being replaced"
	}
	return ""
}

// HalfLife returns the time at which half of a certificate's life has passed, and it is to be replaced.
func HalfLife(c *x509.Certificate) time.Time {
	return made(c).Add(c.NotAfter.Sub(made(c)) / 2)
}

// Serves reports whether a pair matches a request, is signed by one of several CAs, and is valid from one time to another,
// so that it can be used until it is issued again.
func Serves(p Pair, want Request, by Bundle, from, until time.Time) bool {
	c, _, err := p.Parse()
	return err == nil && !from.Before(c.NotBefore) && until.Before(c.NotAfter) && c.Subject.CommonName == want.CommonName && covers(c, want) &&
		slices.ContainsFunc(by, func(a *x509.Certificate) bool { return c.CheckSignatureFrom(a) == nil })
}

func covers(c *x509.Certificate, want Request) bool {
	for _, usage := range want.usages() {
		if !slices.Contains(c.ExtKeyUsage, usage) {
			return false
		}
	}
	for _, name := range want.Names {
		if !slices.Contains(c.DNSNames, name) {
			return false
		}
	}
	for _, address := range want.Addresses {
		raw := address.Unmap()
		found := false
		for _, ip := range c.IPAddresses {
			found = found || ip.Equal(raw.AsSlice())
		}
		if !found {
			return false
		}
	}
	return true
}
