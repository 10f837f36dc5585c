package facts

import "net/netip"

// Services is what the cluster has for Services apart from this operator's network. The zero value is one of which
// nothing is known.
type Services struct {
	// CIDRs are the ranges from which the API server allocates ClusterIPs, as the ServiceCIDR "kubernetes" has them; empty
	// if they are not known.
	CIDRs []netip.Prefix `json:",omitempty"`
	// Address is the ClusterIP of the Service default/kubernetes, which lies in the first of these ranges. It is known where
	// CIDRs are not, and invalid if neither is.
	Address netip.Addr `json:",omitzero"`
	// Proxies names the components that serve Services beside the kube-proxy of this operator, for example "DaemonSet
	// kube-system/kube-proxy".
	Proxies []string `json:",omitempty"`
}

// CIDR returns the API server's range of the IP family of a network. It is invalid if that is not known.
func (s Services) CIDR(network netip.Prefix) netip.Prefix {
	for _, c := range s.CIDRs {
		if network.IsValid() && c.Addr().Is4() == network.Addr().Is4() {
			return c
		}
	}
	return netip.Prefix{}
}
