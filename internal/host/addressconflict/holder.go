package addressconflict

import (
	"fmt"
	"net"
	"net/netip"
	"time"

	"github.com/vishvananda/netlink"

	"github.com/cluster-network-operator/cno/internal/neighbor"
)

// The number and intervals of the probes before an address is used. They take 0.7 seconds if no machine has the address.
const (
	probes           = 3
	probeInterval    = 200 * time.Millisecond
	lastProbeTimeout = 300 * time.Millisecond
)

// Holder returns the MAC address of another machine that has the address. Its probes do not change other machines' neighbor tables.
func (l *Listener) Holder() (holder net.HardwareAddr, found bool, err error) {
	return l.Probe(netip.Addr{}, probes, probeInterval, lastProbeTimeout)
}

// Holder returns the MAC address of another machine that has an address on the link of an interface of this network namespace. On links without Ethernet
// addresses it finds none. It takes up to 0.7 seconds, and its probes do not change other machines' neighbor tables.
func Holder(name string, address netip.Addr) (holder net.HardwareAddr, found bool, err error) {
	link, err := netlink.LinkByName(name)
	if err != nil {
		return nil, false, fmt.Errorf("find interface %s: %w", name, err)
	}
	if link.Attrs().Flags&net.FlagBroadcast == 0 || len(link.Attrs().HardwareAddr) != len(neighbor.MAC{}) {
		return nil, false, nil
	}
	l, err := Listen(link, address)
	if err != nil {
		return nil, false, err
	}
	defer l.Close()
	return l.Holder()
}
