package etcdmanager

import (
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/cluster-network-operator/cno/internal/certs"
	"github.com/cluster-network-operator/cno/internal/etcdcluster"
)

// Policy returns the certificate policy of a managed etcd. CAs are replaced every five years, other certificates every half year.
func Policy(c etcdcluster.Cluster) certs.Policy {
	const day = 24 * time.Hour
	return certs.Policy{Name: c.App, CALife: 10 * 365 * day, LeafLife: etcdcluster.CertificateLife, Overlap: day}
}

// The keys of the CA's Secret in addition to tls.crt and tls.key, which are those of the current CA.
const (
	nextCertificate = "next.crt"
	nextKey         = "next.key"
	previous        = "previous.crt"
)

// DecodeRotation reads the CA's Secret. Invalid data is an error, because a new CA would lock the operator out of the etcd.
func DecodeRotation(data map[string][]byte) (certs.Rotation, error) {
	var r certs.Rotation
	var err error
	if r.Current, err = certs.ParseCA(certs.Pair{Certificate: data[corev1.TLSCertKey], Key: data[corev1.TLSPrivateKeyKey]}); err != nil {
		return certs.Rotation{}, err
	}
	next := certs.Pair{Certificate: data[nextCertificate], Key: data[nextKey]}
	if !next.Empty() {
		if r.Next, err = certs.ParseCA(next); err != nil {
			return certs.Rotation{}, fmt.Errorf("next CA: %w", err)
		}
	}
	if r.Previous, err = certs.ParseBundle(data[previous]); err != nil {
		return certs.Rotation{}, fmt.Errorf("previous CAs: %w", err)
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
	// spread reports whether all running members have started with the rotation's bundle. It is called only for certificates that can wait.
	spread func() (bool, error)
}

// refresh returns the desired data of a Secret with a certificate, and the reason if the certificate is new. It keeps a valid certificate.
func (i issuer) refresh(data map[string][]byte, want certs.Request) (fresh map[string][]byte, why string, err error) {
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

// keeps reports whether a certificate of an earlier CA is kept. Members read their bundle at their start and reject certificates of other CAs. After the
// loss of a CA, its successor therefore signs only after all members have started with the new bundle, and agents have had the overlap to do so.
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
