package dayone

import (
	"strings"
	"testing"
)

// TestInstallConfigHostIsReachableAfterTheFirstBoot tests the network that a host has before any binary of this project runs on it: its image
// contains the keyfiles of the install-config's document.
func TestInstallConfigHostIsReachableAfterTheFirstBoot(t *testing.T) {
	s := newScene(t, "install-config.yml")
	s.has(card, address)
	if out := s.Run("cat", "/etc/resolv.conf"); !strings.Contains(out, "nameserver "+gateway) {
		t.Errorf("names are resolved by\n%s", out)
	}
	if out := s.Run("ip", "-4", "route", "show", "default"); !strings.Contains(out, "via "+gateway+" dev "+card) {
		t.Errorf("the default route is %s", out)
	}
}

// TestMachineConfigMovesTheAddressToBrEx applies the document of the machine-config to the host of the install-config.
func TestMachineConfigMovesTheAddressToBrEx(t *testing.T) {
	s := newScene(t, "install-config.yml")
	s.Run("mkdir", "-p", "/run/nodeip-configuration")
	s.give("machine-config.yml")
	s.apply("applied")
	s.inBrEx()
	s.Run("ls", "/run/nodeip-configuration/br-ex-up") // what services after this one wait for
	if s.applied() != document(t, "machine-config.yml") {
		t.Errorf("the marker is\n%s", s.applied())
	}
	profiles := s.profiles()
	s.apply("unchanged")
	if after := s.profiles(); after != profiles {
		t.Errorf("a second run changed profiles\n%s\nto\n%s", profiles, after)
	}
	s.reboot()
	s.Run("/usr/local/bin/host-network", arguments()...)
	s.inBrEx()
}

func TestStaticAddressBridgeAndLease(t *testing.T) {
	s := newScene(t, "install-config.yml")
	s.give("other-address.yml")
	s.apply("applied")
	s.has(card, "192.168.111.120/24")
	if out := s.Run("cat", "/etc/resolv.conf"); !strings.Contains(out, "search example.com") {
		t.Errorf("names are resolved by\n%s", out)
	}
	s.reaches()

	s.give("bridge.yml")
	s.apply("applied")
	s.has("lan", address)
	s.hasNone(card)
	s.reaches()

	s.give("dhcp.yml")
	s.apply("applied")
	s.reaches()
	if out := s.Run("ip", "-4", "-brief", "address", "show", "dev", card); !strings.Contains(out, " 192.168.111.") ||
		strings.Contains(out, address) {
		t.Errorf("the card has no lease: %s", out)
	}
	s.reboot()
	s.reaches()
	s.apply("unchanged")
}
