package dhcp

import (
	"encoding/binary"
	"fmt"
	"hash/fnv"
	"net"
	"net/netip"
	"slices"
	"strings"
	"time"

	"github.com/containernetworking/cni/pkg/types"
	current "github.com/containernetworking/cni/pkg/types/100"
	"github.com/insomniacslk/dhcp/dhcpv4"
	"github.com/vishvananda/netlink"

	"github.com/cluster-network-operator/cno/internal/cniserver"
	hostdhcp "github.com/cluster-network-operator/cno/internal/dayone/hostapply/dhcp"
)

// Lease is a lease of a server. Its Routes are the routes to install: the classless ones, or else the static ones and the default route through the
// first router (RFC 3442).
type Lease struct {
	hostdhcp.Lease
	// Server is the server's identifier.
	Server netip.Addr `json:"server"`
	// Rebind is T2, after which the client asks any server.
	Rebind time.Duration `json:"rebind"`
	// Gateway is the next hop of the default route; the zero address if there is none.
	Gateway netip.Addr `json:"gateway,omitzero"`
	// Domain is the DNS domain.
	Domain string `json:"domain,omitempty"`
}

// Route is a route of a lease. Via is unspecified for a destination on the link.
type Route = hostdhcp.Route

// readLease returns the lease of an acknowledgement that arrived at a time. A lease that a pod cannot use is an error.
func readLease(ack *dhcpv4.DHCPv4, now time.Time) (Lease, error) {
	read, err := hostdhcp.Read(ack, now)
	if err != nil {
		return Lease{}, err
	}
	l := Lease{Lease: read}
	l.Server, _ = netip.AddrFromSlice(ack.ServerIdentifier().To4())
	addr := read.Prefix.Addr()
	switch {
	case !l.Server.IsValid():
		return Lease{}, fmt.Errorf("the server that gave %s has no identifier", addr)
	case !addr.IsGlobalUnicast() || read.Prefix.Bits() < 1:
		return Lease{}, fmt.Errorf("the server %s gave %s, which is no address of a host", l.Server, read.Prefix)
	}
	l.Domain = strings.TrimRight(ack.DomainName(), "\x00")
	l.Renew, l.Rebind = renewal(read.Valid, ack.IPAddressRenewalTime(0), ack.IPAddressRebindingTime(0))
	if len(l.Routes) == 0 {
		l.Routes = staticRoutes(ack.Options.Get(dhcpv4.OptionStaticRoutingTable))
		if len(l.Routers) > 0 {
			l.Routes = append(l.Routes, Route{Destination: defaultDestination, Via: l.Routers[0]})
		}
	}
	if i := slices.IndexFunc(l.Routes, func(r Route) bool { return r.Destination == defaultDestination }); i >= 0 && !l.Routes[i].Via.IsUnspecified() {
		l.Gateway = l.Routes[i].Via
	}
	return l, nil
}

var defaultDestination = netip.PrefixFrom(netip.IPv4Unspecified(), 0)

// renewal returns T1 and T2 of a lease. Missing or unordered values are replaced by the defaults of RFC 2131.
func renewal(valid, t1, t2 time.Duration) (renew, rebind time.Duration) {
	if t2 <= 0 || t2 >= valid {
		t2 = valid / 8 * 7
	}
	if t1 <= 0 || t1 >= t2 {
		t1 = min(valid/2, t2)
	}
	return t1, t2
}

// staticRoutes reads option 33: pairs of a destination, whose prefix length follows from its class, and a router. The option cannot have a default
// route.
func staticRoutes(option []byte) (routes []Route) {
	for ; len(option) >= 8; option = option[8:] {
		destination, via := netip.AddrFrom4([4]byte(option[:4])), netip.AddrFrom4([4]byte(option[4:8]))
		mask := net.IP(option[:4]).DefaultMask()
		if bits, size := mask.Size(); size > 0 && !destination.IsUnspecified() {
			routes = append(routes, Route{Destination: netip.PrefixFrom(destination, bits).Masked(), Via: via})
		}
	}
	return routes
}

// result returns the CNI result of ADD for a lease.
func (l Lease) result(priority int) *current.Result {
	r := &current.Result{CNIVersion: current.ImplementedSpecVersion, DNS: types.DNS{Domain: l.Domain, Search: l.Search}}
	ip := &current.IPConfig{Address: ipNet(l.Prefix)}
	if l.Gateway.IsValid() {
		ip.Gateway = l.Gateway.AsSlice()
	}
	r.IPs = []*current.IPConfig{ip}
	for _, route := range l.Routes {
		out := &types.Route{Dst: ipNet(route.Destination), GW: route.Via.AsSlice(), Priority: priority}
		if route.Via.IsUnspecified() {
			scope := int(netlink.SCOPE_LINK)
			out.Scope = &scope
		}
		r.Routes = append(r.Routes, out)
	}
	for _, server := range l.DNS {
		r.DNS.Nameservers = append(r.DNS.Nameservers, server.String())
	}
	return r
}

func ipNet(p netip.Prefix) net.IPNet {
	return net.IPNet{IP: p.Addr().AsSlice(), Mask: net.CIDRMask(p.Bits(), p.Addr().BitLen())}
}

// clientID returns option 61 of an attachment in the form of containernetworking, so that reservations on servers stay valid: type 0, the container, the
// network's name and the interface.
func clientID(c cniserver.Call) []byte {
	const most = 254 // with the type as long as an option can be
	id := c.ContainerID + "/" + c.Network + "/" + c.IfName
	return append([]byte{0}, id[:min(len(id), most)]...)
}

// spread returns the time before T1 at which a client renews its lease: up to a sixteenth of T1, and constant for each client. It spreads the requests
// of pods that started at the same time.
func spread(clientID []byte, renew time.Duration) time.Duration {
	h := fnv.New32a()
	_, _ = h.Write(clientID)
	share := binary.BigEndian.Uint16(h.Sum(nil))
	return time.Duration(float64(renew) / 16 * float64(share) / (1 << 16))
}
