package etcdcluster

import (
	"net/netip"
	"time"

	"github.com/cluster-network-operator/cno/internal/certs"
)

// CertificateLife is the validity of the certificates of members, of the operator, and of the shared certificate of agents.
const CertificateLife = 365 * 24 * time.Hour

// CertificateRequest returns the request for a member's certificate. It is for servers and clients, since members connect to each other.
func (m Member) CertificateRequest() certs.Request {
	r := certs.Request{CommonName: m.Name, Usage: certs.Peer, Names: []string{"localhost"}, Life: CertificateLife}
	if a, err := netip.ParseAddr(m.Address); err == nil {
		r.Addresses = []netip.Addr{a, netip.MustParseAddr("127.0.0.1")}
	}
	return r
}

// RootRequest returns the request for the operator's certificate, whose user has all permissions in etcd.
func RootRequest() certs.Request {
	return certs.Request{CommonName: RootUser, Usage: certs.Client, Life: CertificateLife}
}

// ClientRequest returns the request for the certificate that agents share until each node has its own.
func (c Cluster) ClientRequest() certs.Request {
	return certs.Request{CommonName: c.Network, Usage: certs.Client, Life: CertificateLife}
}
