package node

import (
	"net/netip"

	"github.com/flannel-io/flannel/pkg/ip"
	"github.com/flannel-io/flannel/pkg/lease"
	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/cluster-network-operator/cno/providers/flannel/node/store"
)

// tenure is the node's hold on its subnet, as the goroutine that talks to etcd and the one that talks to the
// kernel share it.
type tenure struct {
	// wanted is what the node's lease is to say; nil until the backend is up.
	wanted *lease.LeaseAttrs
	// ipv4 and ipv6 are the subnets that the node works with; zero before it has any.
	ipv4, ipv6 netip.Prefix
	// id is etcd's lease; 0 while etcd has not confirmed the hold.
	id clientv3.LeaseID
	// key is the lease's key, revision the store's when it was last confirmed.
	key      string
	revision int64
}

func (t tenure) confirmed() bool { return t.id != 0 }

// hold returns the tenure after etcd confirmed a lease.
func (t tenure) hold(h store.Held) tenure {
	return tenure{wanted: t.wanted, ipv4: h.IPv4, ipv6: h.IPv6, id: h.ID, key: h.Key, revision: h.AsOf}
}

// flannelLease is the hold in the form that flannel's packages want.
func flannelLease(v4, v6 netip.Prefix, attrs lease.LeaseAttrs) *lease.Lease {
	l := &lease.Lease{EnableIPv4: v4.IsValid(), EnableIPv6: v6.IsValid(), Subnet: flannelNet4(v4), Attrs: attrs}
	if v6.IsValid() {
		l.IPv6Subnet = flannelNet6(v6)
	}
	return l
}

// flannelNet4 turns a prefix into flannel's type; the zero prefix into an empty net.
func flannelNet4(p netip.Prefix) ip.IP4Net {
	if !p.IsValid() {
		return ip.IP4Net{}
	}
	return ip.IP4Net{IP: ip.FromIP(p.Addr().AsSlice()), PrefixLen: uint(p.Bits())}
}

// flannelNet6 is flannelNet4 for IPv6.
func flannelNet6(p netip.Prefix) ip.IP6Net {
	if !p.IsValid() {
		return ip.IP6Net{}
	}
	return ip.IP6Net{IP: ip.FromIP6(p.Addr().AsSlice()), PrefixLen: uint(p.Bits())}
}
