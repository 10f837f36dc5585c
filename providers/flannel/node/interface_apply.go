package node

import (
	"errors"
	"fmt"
	"net"
	"slices"

	"github.com/flannel-io/flannel/pkg/backend"
	"github.com/flannel-io/flannel/pkg/ip"

	"github.com/cluster-network-operator/cno/providers/flannel/agentconfig"
)

// externalInterface finds the interface that carries traffic to other nodes, and its addresses. An address that
// was in use before stays in use while the interface has it, so that another one that appears beside it changes
// nothing. previous may be nil.
func externalInterface(config agentconfig.Config, previous *backend.ExternalInterface) (*backend.ExternalInterface, error) {
	link, err := chosenInterface(config.Interface)
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

func chosenInterface(name string) (*net.Interface, error) {
	if name == "" {
		link, err := ip.GetDefaultGatewayInterface()
		if err != nil {
			return nil, fmt.Errorf("find the interface of the default route (name one in the configuration if there is none): %w", err)
		}
		return link, nil
	}
	link, err := net.InterfaceByName(name)
	if err != nil {
		return nil, fmt.Errorf("find interface %s: %w", name, err)
	}
	return link, nil
}

func contains(list []net.IP, addr net.IP) bool {
	return addr != nil && slices.ContainsFunc(list, addr.Equal)
}

// sameInterface reports whether a backend that was set up on a still fits b.
func sameInterface(a, b *backend.ExternalInterface) bool {
	return a.Iface.Index == b.Iface.Index && a.Iface.Name == b.Iface.Name && a.Iface.MTU == b.Iface.MTU &&
		a.IfaceAddr.Equal(b.IfaceAddr) && a.IfaceV6Addr.Equal(b.IfaceV6Addr)
}
