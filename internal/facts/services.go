package facts

import "net/netip"

// Services describes the cluster's support for Services apart from this operator's network. The zero value means that
// nothing is known.
type Services struct {
	// CIDRs are the ranges from which the API server allocates ClusterIPs, those of the ServiceCIDR "kubernetes"; empty if
	// unknown.
	CIDRs []netip.Prefix `json:",omitempty"`
	// Address is the ClusterIP of the Service default/kubernetes, which is in the first of these ranges. It may be known if
	// CIDRs are not; it is invalid if neither is.
	Address netip.Addr `json:",omitzero"`
	// Proxies names the components that serve Services in addition to the kube-proxy of this operator, for example "DaemonSet
	// kube-system/kube-proxy".
	Proxies []string `json:",omitempty"`
}

// CIDR returns the API server's range of the IP family of a network; invalid if unknown.
func (s Services) CIDR(network netip.Prefix) netip.Prefix {
	for _, c := range s.CIDRs {
		if network.IsValid() && c.Addr().Is4() == network.Addr().Is4() {
			return c
		}
	}
	return netip.Prefix{}
}
