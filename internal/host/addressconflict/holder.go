package addressconflict

import (
	"fmt"
	"net"
	"net/netip"
	"time"

	"github.com/vishvananda/netlink"

	"github.com/cluster-network-operator/cno/internal/neighbor"
)

// How another machine is asked for an address before it is used: for 0.7 seconds, if no machine has it.
const (
	questions     = 3
	questionEvery = 200 * time.Millisecond
	lastWait      = 300 * time.Millisecond
)

// Holder returns the other machine that has the address. No machine learns anything from the questions.
func (l *Listener) Holder() (holder net.HardwareAddr, found bool, err error) {
	return l.Ask(netip.Addr{}, questions, questionEvery, lastWait)
}

// Holder returns the machine that has an address on the link of an interface of this network namespace, besides the interface itself. On links
// without Ethernet addresses there is none. It asks for up to 0.7 seconds, and no machine learns anything from the questions.
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
