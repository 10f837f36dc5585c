package pki

import (
	"testing"

	"github.com/cluster-network-operator/cno/internal/certs"
)

// FuzzRecover recovers from arbitrary content of the Secret and the ConfigMap. The signing CA has its key, a successor is published, and
// without a signing CA all published ones stay trusted.
func FuzzRecover(f *testing.F) {
	p, err := decide(quick(), state{}, start)
	if err != nil {
		f.Fatal(err)
	}
	f.Add(p.CA["tls.crt"], p.CA["tls.key"], p.CA["tls.crt"], p.CA["tls.key"], p.CA["tls.crt"], p.Bundle)
	f.Add([]byte("x"), []byte(""), p.CA["tls.crt"], p.CA["tls.key"], p.Bundle, p.Bundle)
	f.Fuzz(func(t *testing.T, crt, key, nextCrt, nextPrivate, before, bundle []byte) {
		s := state{bundle: bundle, ca: map[string][]byte{"tls.crt": crt, "tls.key": key, nextCertificate: nextCrt, nextKey: nextPrivate, previous: before}}
		r := s.recover("ns_ovn-ca", start)
		published := issuedFor(certs.Salvage(bundle), "ns_ovn-ca").Live(start)
		if r.Next != nil && !published.Contains(certs.Bundle{r.Next.Certificate()}) {
			t.Error("a successor that was never published would sign")
		}
		if r.lost != "" && !r.Rotation.Bundle().Contains(published) {
			t.Error("one that was trusted is not any more")
		}
		if r.Current == nil && r.lost == "" {
			t.Error("nothing is signed, and nothing is reported")
		}
		if r.Current != nil {
			if _, _, err := r.Current.Pair().Parse(); err != nil {
				t.Errorf("who signs cannot: %v", err)
			}
		}
	})
}
