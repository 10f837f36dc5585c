package node

import (
	"errors"
	"fmt"
	"net"
	"slices"
	"strings"

	"github.com/flannel-io/flannel/pkg/backend"
	"github.com/flannel-io/flannel/pkg/ip"

	"github.com/cluster-network-operator/cno/providers/flannel/agentconfig"
)

// externalInterface returns the interface for traffic to other nodes, with its addresses. A previously used address is kept while the interface has it, so
// that an additional address changes nothing. previous may be nil.
func externalInterface(config agentconfig.Config, previous *backend.ExternalInterface) (*backend.ExternalInterface, error) {
	link, err := chosenInterface(config.Interface, config.CNI.Bridge)
	if err != nil {
		return nil, err
	}
	v4, err := ip.GetInterfaceIP4Addrs(link)
	if err != nil {
		return nil, fmt.Errorf("read IPv4 addresses of interface %s: %w", link.Name, err)
	}
	if len(v4) == 0 {
		return nil, fmt.Errorf("interface %s has no IPv4 address", link.Name)
	}
	out := &backend.ExternalInterface{Iface: link, IfaceName: link.Name, IfaceAddr: v4[0]}
	if previous != nil && contains(v4, previous.IfaceAddr) {
		out.IfaceAddr = previous.IfaceAddr
	}
	out.ExtAddr = out.IfaceAddr
	if !config.Network.DualStack() {
		return out, nil
	}
	v6, err := ip.GetInterfaceIP6Addrs(link)
	if err != nil || len(v6) == 0 {
		return nil, errors.Join(fmt.Errorf("interface %s has no IPv6 address, which the IPv6 network needs", link.Name), err)
	}
	out.IfaceV6Addr = v6[0]
	if previous != nil && contains(v6, previous.IfaceV6Addr) {
		out.IfaceV6Addr = previous.IfaceV6Addr
	}
	out.ExtV6Addr = out.IfaceV6Addr
	return out, nil
}

// chosenInterface returns the interface with a name, or that of the default route if name is empty. The error for an unknown name lists the node's interfaces
// except the pods' bridge.
func chosenInterface(name, bridge string) (*net.Interface, error) {
	if name == "" {
		link, err := ip.GetDefaultGatewayInterface()
		if err != nil {
			return nil, fmt.Errorf("find the interface of the default route (name one in the configuration if there is none): %w", err)
		}
		return link, nil
	}
	link, err := net.InterfaceByName(name)
	if err == nil {
		return link, nil
	}
	all, listing := net.Interfaces()
	if listing != nil || slices.ContainsFunc(all, func(i net.Interface) bool { return i.Name == name }) {
		return nil, errors.Join(fmt.Errorf("find interface %s: %w", name, err), listing)
	}
	return nil, fmt.Errorf("this node has no interface %q; set spec.defaultNetwork.flannelConfig.interface to one that every node has (this one has %s), or leave it out for the interface of the default route",
		name, usable(all, bridge, (*net.Interface).Addrs))
}

// usable lists the interfaces over which other nodes may be reachable: they are up, and have a global address.
func usable(all []net.Interface, bridge string, addresses func(*net.Interface) ([]net.Addr, error)) string {
	var names []string
	for _, i := range all {
		addrs, err := addresses(&i)
		if err != nil || i.Flags&net.FlagLoopback != 0 || i.Flags&net.FlagUp == 0 || i.Name == bridge || strings.HasPrefix(i.Name, "flannel") {
			continue
		}
		global := slices.IndexFunc(addrs, func(a net.Addr) bool {
			n, ok := a.(*net.IPNet)
			return ok && n.IP.IsGlobalUnicast()
		})
		if global >= 0 {
			names = append(names, fmt.Sprintf("%s with %s", i.Name, addrs[global].(*net.IPNet).IP))
		}
	}
	if len(names) == 0 {
		return "none with an address"
	}
	return strings.Join(names, ", ")
}

func contains(list []net.IP, addr net.IP) bool {
	return addr != nil && slices.ContainsFunc(list, addr.Equal)
}

// sameInterface reports whether a backend that was set up on a is valid for b.
func sameInterface(a, b *backend.ExternalInterface) bool {
	return a.Iface.Index == b.Iface.Index && a.Iface.Name == b.Iface.Name && a.Iface.MTU == b.Iface.MTU &&
		a.IfaceAddr.Equal(b.IfaceAddr) && a.IfaceV6Addr.Equal(b.IfaceV6Addr)
}
