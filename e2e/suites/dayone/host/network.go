package host

import (
	"errors"
	"fmt"
	"net"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/vishvananda/netlink"
	"github.com/vishvananda/netns"
)

// Segment is a switch with a router on it, which is a host of its own: it answers pings, leases addresses and resolves
// names, and stays when the hosts on the segment lose power.
type Segment struct {
	*Host
	// Router is its address on the segment.
	Router string
}

// NewSegment makes a segment. router is the address and prefix of the router, for example 192.168.111.1/24; leases, if
// not empty, is a range of addresses to lease, in dnsmasq's form.
func NewSegment(t testing.TB, root, router, leases string) *Segment {
	t.Helper()
	s := &Segment{Host: New(t, root, "router"), Router: strings.Split(router, "/")[0]}
	s.Boot()
	s.Run("ip", "link", "add", "lan0", "type", "bridge", "forward_delay", "0")
	s.Run("ip", "address", "add", router, "dev", "lan0")
	s.Run("ip", "link", "set", "lan0", "up")
	if leases != "" {
		s.Run("dnsmasq", "--interface=lan0", "--bind-interfaces", "--conf-file=/dev/null", "--user=root", "--dhcp-authoritative",
			"--no-resolv", "--no-hosts", "--address=/router.example.com/"+s.Router,
			"--dhcp-range="+leases+",1h", "--dhcp-leasefile=/run/leases", "--pid-file=/run/dnsmasq.pid")
	}
	return s
}

// Unplug takes a cable out of the switch, or puts it back.
func (s *Segment) Unplug(cable string, out bool) {
	s.t.Helper()
	direction := "up"
	if out {
		direction = "down"
	}
	s.Run("ip", "link", "set", cable, direction)
}

// Plug gives a host, each time it boots, a network card with its cable in the segment. cable names the end in the switch.
func (h *Host) Plug(s *Segment, card, cable, mac string) {
	before := h.wire
	h.wire = func() {
		if before != nil {
			before()
		}
		if err := h.plug(s, card, cable, mac); err != nil {
			h.t.Fatalf("plug %s of %s into the segment: %v", card, h.Name, err)
		}
	}
}

func (h *Host) plug(s *Segment, card, cable, mac string) error {
	address, err := net.ParseMAC(mac)
	if err != nil {
		return err
	}
	switchNS, err := netns.GetFromPid(s.pid)
	if err != nil {
		return err
	}
	defer switchNS.Close()
	inSwitch, err := netlink.NewHandleAt(switchNS)
	if err != nil {
		return err
	}
	defer inSwitch.Close()
	// The kernel takes down the pair of the life before when it comes to it; no one waits for that.
	h.Eventually(time.Minute, "the old end of "+cable+" is gone", func() error {
		old, err := inSwitch.LinkByName(cable)
		if err != nil {
			return nil
		}
		return errors.Join(fmt.Errorf("%s is there", cable), inSwitch.LinkDel(old))
	})
	lan, err := inSwitch.LinkByName("lan0")
	if err != nil {
		return err
	}
	pair := &netlink.Veth{
		LinkAttrs: netlink.LinkAttrs{Name: cable, MasterIndex: lan.Attrs().Index, Flags: net.FlagUp},
		PeerName:  card, PeerHardwareAddr: address, PeerNamespace: netlink.NsPid(h.pid),
	}
	if err := inSwitch.LinkAdd(pair); err != nil {
		return fmt.Errorf("create the cable: %w", err)
	}
	if err := inSwitch.LinkSetUp(pair); err != nil {
		return fmt.Errorf("set the cable up: %w", err)
	}
	// A user space switch gets packets whose checksum a real card would have filled in.
	_, err = s.Try("ethtool", "--offload", cable, "tx", "off")
	return err
}

// Ping sends one packet from the host.
func (h *Host) Ping(to string) error {
	_, err := h.Try("ping", "-n", "-c", "1", "-W", "1", to)
	return err
}

// NetworkID distinguishes the network namespace of the host from that of the machine.
func (h *Host) NetworkID() (string, error) {
	return os.Readlink("/proc/" + strconv.Itoa(h.pid) + "/ns/net")
}
