package pki

import (
	"testing"

	"github.com/cluster-network-operator/cno/internal/certs"
)

// FuzzDecide reads anything that somebody may have written into the Secrets and the ConfigMap. What comes of it is whole, and a
// second look leaves it alone.
func FuzzDecide(f *testing.F) {
	p, err := decide(quick(), state{}, start)
	if err != nil {
		f.Fatal(err)
	}
	f.Add(p.Authority["tls.crt"], p.Authority["tls.key"], p.Authority["tls.crt"], p.Authority["tls.key"], p.Authority["tls.crt"], p.Bundle, p.Certificate["tls.crt"], p.Certificate["tls.key"])
	f.Add([]byte("x"), []byte(""), []byte("x"), []byte("x"), p.Bundle, p.Bundle, p.Certificate["tls.crt"], p.Certificate["tls.key"])
	f.Fuzz(func(t *testing.T, crt, key, nextCrt, nextPrivate, before, bundle, leaf, leafKey []byte) {
		s := state{bundle: bundle, certificate: map[string][]byte{"tls.crt": leaf, "tls.key": leafKey},
			authority: map[string][]byte{"tls.crt": crt, "tls.key": key, nextCertificate: nextCrt, nextKey: nextPrivate, previous: before}}
		p, err := decide(quick(), s, start)
		if err != nil {
			t.Fatal(err)
		}
		if !certs.Salvage(p.Bundle).Trusts(p.Leaf, start) || !certs.Salvage(p.Bundle).Contains(certs.Bundle{p.Signs}) {
			t.Error("the certificate is not trusted by the bundle")
		}
		again, err := decide(quick(), state{}.after(p, 3), start)
		if err != nil {
			t.Fatal(err)
		}
		if len(again.Happened)+len(again.Issued) > 0 || string(again.Bundle) != string(p.Bundle) {
			t.Errorf("a second look changes something: %v", again.Happened)
		}
	})
}
