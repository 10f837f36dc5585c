package etcdmanager

import (
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/cluster-network-operator/cno/internal/certs"
	"github.com/cluster-network-operator/cno/internal/etcdcluster"
)

// Policy is how long the certificates of a managed etcd are valid. A CA is replaced every five years, what it
// signs every half year.
func Policy(c etcdcluster.Cluster) certs.Policy {
	const day = 24 * time.Hour
	return certs.Policy{Name: c.App, AuthorityLife: 10 * 365 * day, LeafLife: etcdcluster.CertificateLife, Overlap: day}
}

// The keys of the authority's Secret beside tls.crt and tls.key, which sign now.
const (
	nextCertificate = "next.crt"
	nextKey         = "next.key"
	previous        = "previous.crt"
)

// DecodeRotation reads the authority's Secret. What cannot be read is an error: a new authority would lock the
// operator out of its own etcd.
func DecodeRotation(data map[string][]byte) (certs.Rotation, error) {
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

// issuer issues the certificates of one reconcile.
type issuer struct {
	policy   certs.Policy
	rotation certs.Rotation
	now      time.Time
	// spread reports whether every running member has started with the rotation's bundle. It is called only for a
	// certificate that can wait.
	spread func() (bool, error)
}

// refreshed returns the data that a Secret with a certificate should hold: what it holds, as long as that is good.
func (i issuer) refreshed(data map[string][]byte, want certs.Request) (fresh map[string][]byte, why string, err error) {
	pair := certs.Pair{Certificate: data[corev1.TLSCertKey], Key: data[corev1.TLSPrivateKeyKey]}
	if why = certs.Stale(pair, want, i.rotation.Current, i.now); why != "" {
		keep, err := i.keeps(pair, want)
		if err != nil {
			return nil, "", err
		}
		if keep {
			why = ""
		} else if pair, err = i.rotation.Current.Issue(want, i.now); err != nil {
			return nil, "", err
		}
	}
	fresh = pairData(pair)
	fresh[etcdcluster.BundleKey] = i.rotation.Bundle().PEM()
	return fresh, why, nil
}

// keeps reports whether a certificate that was signed by an earlier CA stays. Members read their bundle when they
// start and reject what a CA signs that is not in it. After the loss of a CA, its successor therefore signs only when
// every member has started with the new bundle, and agents have had the overlap to do so.
func (i issuer) keeps(pair certs.Pair, want certs.Request) (bool, error) {
	serves := func(until time.Time) bool { return certs.Serves(pair, want, i.rotation.Previous, i.now, until) }
	if !serves(i.now) {
		return false, nil
	}
	if alone := i.rotation.SignsAlone(i.policy); i.now.Before(alone) && serves(alone) {
		return true, nil
	}
	spread, err := i.spread()
	return !spread, err
}
