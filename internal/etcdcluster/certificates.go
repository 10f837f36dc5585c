package etcdcluster

import (
	"net/netip"
	"time"

	"github.com/cluster-network-operator/cno/internal/certs"
)

// CertificateLife is how long the certificates of members, of the operator and of agents that share one are valid.
const CertificateLife = 365 * 24 * time.Hour

// CertificateRequest is what the certificate of a member holds. Members connect to one another, hence both usages.
func (m Member) CertificateRequest() certs.Request {
	r := certs.Request{CommonName: m.Name, Usage: certs.Peer, Names: []string{"localhost"}, Life: CertificateLife}
	if a, err := netip.ParseAddr(m.Address); err == nil {
		r.Addresses = []netip.Addr{a, netip.MustParseAddr("127.0.0.1")}
	}
	return r
}

// RootRequest is what the operator presents: it may do everything in etcd.
func RootRequest() certs.Request {
	return certs.Request{CommonName: RootUser, Usage: certs.Client, Life: CertificateLife}
}

// ClientRequest is what agents share as long as nodes have no certificates of their own.
func (c Cluster) ClientRequest() certs.Request {
	return certs.Request{CommonName: c.Network, Usage: certs.Client, Life: CertificateLife}
}
