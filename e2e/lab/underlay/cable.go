package underlay

import (
	"fmt"
	"net"
	"net/netip"

	"github.com/cluster-network-operator/cno/e2e/lab/topology"
)

// cable is a pair of devices: one end is on a bridge of the underlay, the other one is a node's.
type cable struct {
	// name is the end's in the underlay, device the node's own name for its end.
	name, bridge, device string
	// hardwareAddr is that of the node's end. It stays the same after a reboot, because peers cache it.
	hardwareAddr net.HardwareAddr
	// addresses are those of the node's end, gateways its default routes; there may be none.
	addresses, gateways []netip.Addr
}

// cables returns the cables of a node or an outside host. On further links, pods have addresses but nodes have none.
func cables(t topology.Topology, n topology.Node) []cable {
	first := cable{
		name: n.Name, bridge: bridge, device: Device, hardwareAddr: hardwareAddr(0, n.Primary()),
		addresses: n.Addresses, gateways: t.Family.Gateways(),
	}
	if n.Role == topology.Outside {
		first.gateways = nil
		for _, l := range t.Links {
			if l.Outside().Name == n.Name {
				first.bridge = linkBridge(l)
			}
		}
		return []cable{first}
	}
	list := []cable{first}
	for _, l := range t.Links {
		list = append(list, cable{
			name: cableName(n.Name, l.Device()), bridge: linkBridge(l), device: l.Device(),
			hardwareAddr: hardwareAddr(byte(l.Number), n.Primary()),
		})
	}
	return list
}

// linkBridge returns the name of a link's bridge.
func linkBridge(l topology.Link) string { return fmt.Sprintf("link%d", l.Number) }

// cableName is short enough for a device, also for the node with the longest name.
func cableName(node, device string) string {
	if device == Device {
		return node
	}
	return node + "-" + device
}

// hardwareAddr is a locally administered one, made of a number that no other device of the node has and an address that no
// other node has.
func hardwareAddr(device byte, a netip.Addr) net.HardwareAddr {
	b := a.As16()
	return append(net.HardwareAddr{0x02, device}, b[12:]...)
}
