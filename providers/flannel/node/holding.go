package node

import (
	"net/netip"

	"github.com/flannel-io/flannel/pkg/ip"
	"github.com/flannel-io/flannel/pkg/lease"
	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/cluster-network-operator/cno/providers/flannel/node/store"
)

// holding is the node's hold on its subnet. The etcd goroutine and the kernel goroutine share it.
type holding struct {
	// desired is the desired value of the node's lease; nil until the backend needs one.
	desired *lease.LeaseAttrs
	// ipv4 and ipv6 are the subnets in use; zero before there are any.
	ipv4, ipv6 netip.Prefix
	// id is the etcd lease; 0 until etcd has confirmed the holding.
	id clientv3.LeaseID
	// key is the lease's key. revision is the store's revision of the last confirmation.
	key      string
	revision int64
}

func (t holding) confirmed() bool { return t.id != 0 }

// with returns the holding after etcd has confirmed a lease.
func (t holding) with(h store.Held) holding {
	return holding{desired: t.desired, ipv4: h.IPv4, ipv6: h.IPv6, id: h.ID, key: h.Key, revision: h.AsOf}
}

// flannelLease returns a lease in the form of flannel's packages.
func flannelLease(v4, v6 netip.Prefix, attrs lease.LeaseAttrs) *lease.Lease {
	l := &lease.Lease{EnableIPv4: v4.IsValid(), EnableIPv6: v6.IsValid(), Subnet: flannelNet4(v4), Attrs: attrs}
	if v6.IsValid() {
		l.IPv6Subnet = flannelNet6(v6)
	}
	return l
}

// flannelNet4 converts a prefix to flannel's type; the zero prefix to an empty network.
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
