package controller

import (
	"fmt"
	"net/netip"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/cluster-network-operator/cno/internal/certs"
	"github.com/cluster-network-operator/cno/providers/flannel/record"
)

// policy is how long the certificates of the managed etcd live. An authority is replaced every five years, what it
// signs every half year.
func policy() certs.Policy {
	const day = 24 * time.Hour
	return certs.Policy{Name: "flannel-etcd", AuthorityLife: 10 * 365 * day, LeafLife: 365 * day, Overlap: day}
}

// The keys of the authority's Secret beside tls.crt and tls.key, which sign now.
const (
	nextCertificate = "next.crt"
	nextKey         = "next.key"
	previous        = "previous.crt"
)

// decodeRotation reads the authority's Secret. What cannot be read is an error: a new authority would lock the
// operator out of its own etcd.
func decodeRotation(data map[string][]byte) (certs.Rotation, error) {
	var r certs.Rotation
	var err error
	if r.Current, err = certs.ParseAuthority(certs.Pair{Certificate: data[corev1.TLSCertKey], Key: data[corev1.TLSPrivateKeyKey]}); err != nil {
		return certs.Rotation{}, err
	}
	next := certs.Pair{Certificate: data[nextCertificate], Key: data[nextKey]}
	if !next.Empty() {
		if r.Next, err = certs.ParseAuthority(next); err != nil {
			return certs.Rotation{}, fmt.Errorf("the one that follows: %w", err)
		}
	}
	if r.Previous, err = certs.ParseBundle(data[previous]); err != nil {
		return certs.Rotation{}, fmt.Errorf("the ones before: %w", err)
	}
	return r, nil
}

func encodeRotation(r certs.Rotation) map[string][]byte {
	out := pairData(r.Current.Pair())
	if r.Next != nil {
		out[nextCertificate], out[nextKey] = r.Next.Pair().Certificate, r.Next.Pair().Key
	}
	if len(r.Previous) > 0 {
		out[previous] = r.Previous.PEM()
	}
	return out
}

func pairData(p certs.Pair) map[string][]byte {
	return map[string][]byte{corev1.TLSCertKey: p.Certificate, corev1.TLSPrivateKeyKey: p.Key}
}

// memberRequest is what the certificate of a member holds. Members connect to one another, hence both usages.
func memberRequest(m record.Member) certs.Request {
	r := certs.Request{CommonName: m.Name, Usage: certs.Peer, Names: []string{"localhost"}, Life: policy().LeafLife}
	if a, err := netip.ParseAddr(m.Address); err == nil {
		r.Addresses = []netip.Addr{a, netip.MustParseAddr("127.0.0.1")}
	}
	return r
}

func clientRequest() certs.Request {
	return certs.Request{CommonName: "flannel", Usage: certs.Client, Life: policy().LeafLife}
}

// refreshed returns what a Secret with a certificate is to hold: what it holds, as long as that is good.
func refreshed(data map[string][]byte, want certs.Request, r certs.Rotation, now time.Time) (fresh map[string][]byte, why string, err error) {
	pair := certs.Pair{Certificate: data[corev1.TLSCertKey], Key: data[corev1.TLSPrivateKeyKey]}
	if why = certs.Stale(pair, want, r.Current, now); why != "" {
		if pair, err = r.Current.Issue(want, now); err != nil {
			return nil, "", err
		}
	}
	fresh = pairData(pair)
	fresh[record.BundleKey] = r.Bundle().PEM()
	return fresh, why, nil
}
