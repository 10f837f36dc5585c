package node

import (
	"net"
	"net/netip"

	"github.com/cluster-network-operator/cno/internal/mtumigration"
	"github.com/cluster-network-operator/cno/providers/ovnkubernetes/topology"
)

// management is the desired state of the management port.
type management struct {
	mac       net.HardwareAddr
	mtu       mtumigration.State
	addresses []netip.Prefix
	// routes are the next hops by destination: pods of all nodes, and Services that the node's kernel does not translate.
	routes map[netip.Prefix]netip.Addr
}

// desiredManagement returns the desired state for the node's blocks. It omits destinations of a family without a block.
func desiredManagement(blocks, destinations []netip.Prefix, mtu mtumigration.State) management {
	m := management{mtu: mtu, routes: map[netip.Prefix]netip.Addr{}}
	for _, block := range blocks {
		address := topology.ManagementAddress(block)
		m.addresses = append(m.addresses, address)
		if m.mac == nil {
			m.mac = topology.MAC(address.Addr())
		}
		for _, to := range destinations {
			if to.Addr().Is4() == block.Addr().Is4() {
				m.routes[to] = topology.RouterAddress(block).Addr()
			}
		}
	}
	return m
}
