package dayone

import (
	"strings"
	"testing"

	"github.com/cluster-network-operator/cno/e2e/suites/dayone/host"
)

// TestHostWithoutNetworkManager applies the machine-config's document on a host that has only Open vSwitch.
func TestHostWithoutNetworkManager(t *testing.T) {
	s := &scene{t: t, segment: host.NewSegment(t, root, gateway+"/24", leases)}
	s.Host = host.New(t, root, "master-0")
	s.Plug(s.segment, card, "cable0", mac)
	s.Host.Boot()
	s.install()
	s.StartSwitch()
	s.Run("ip", "address", "add", address, "dev", card)
	s.Run("ip", "link", "set", card, "up")
	s.Run("ip", "route", "add", "default", "via", gateway)
	s.reaches()

	s.give("wrong-gateway.yml")
	s.refuse("does not answer")
	s.has(card, address)
	s.reaches()

	s.give("machine-config.yml")
	s.apply("applied")
	s.inBrEx()
	s.apply("unchanged")

	// A reboot clears the kernel's configuration, but not the database of Open vSwitch.
	s.PowerOff()
	s.Host.Boot()
	s.StartSwitch()
	s.apply("applied")
	s.inBrEx()
}

// inBrEx fails if the host's network is not that of the machine-config.
func (s *scene) inBrEx() {
	s.t.Helper()
	s.has("br-ex", address)
	s.hasNone(card)
	s.reaches()
	if out := s.Run("ip", "-brief", "link", "show", "dev", "br-ex"); !strings.Contains(out, mac) {
		s.t.Errorf("br-ex does not have the address of the card: %s", out)
	}
	if out := s.Run("ip", "-4", "route", "show", "default"); !strings.Contains(out, "via "+gateway+" dev br-ex") {
		s.t.Errorf("the default route is %s", out)
	}
	if out := strings.Fields(s.Run("ovs-vsctl", "list-ports", "br-ex")); len(out) != 1 || out[0] != card {
		s.t.Errorf("br-ex has the ports %v", out)
	}
	if out := s.Run("cat", "/etc/resolv.conf"); !strings.Contains(out, "nameserver "+gateway) {
		s.t.Errorf("names are resolved by\n%s", out)
	}
}
