package dayone

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"
)

func TestBrokenConfigurationIsRolledBack(t *testing.T) {
	for name, tt := range map[string]struct{ document, because string }{
		"a gateway that does not answer, on a new bridge": {"wrong-gateway.yml", "does not answer"},
		"a bond, which this kernel cannot make":           {"bond.yml", "activate bond0"},
	} {
		t.Run(name, func(t *testing.T) {
			s := newScene(t, "install-config.yml")
			before := s.profiles()
			s.give(tt.document)
			s.refuse(tt.because)
			s.isBack(before)
		})
	}
}

// TestAddressesWithoutAProfileAreRestored tests a host whose network was configured manually, or by another program.
func TestAddressesWithoutAProfileAreRestored(t *testing.T) {
	s := newScene(t, "")
	s.Run("ip", "address", "add", address, "dev", card)
	s.Run("ip", "link", "set", card, "up")
	s.Run("ip", "route", "add", "default", "via", gateway)
	s.reaches()
	before := s.profiles()
	s.give("wrong-gateway.yml")
	s.refuse("does not answer")
	s.isBack(before, card+".nmconnection")
	if out := s.Run("ip", "route", "show", "default"); !strings.Contains(out, "via "+gateway) {
		t.Errorf("the default route is %q", out)
	}
}

// TestProgramAndNetworkManagerAreKilled loses the checkpoint: the record on disk must be sufficient to restore the network.
func TestProgramAndNetworkManagerAreKilled(t *testing.T) {
	s := newScene(t, "install-config.yml")
	before := s.profiles()
	for _, step := range []string{`msg="stage profiles"`, "msg=verify"} {
		s.give("machine-config.yml")
		if !s.killAt(step) {
			t.Fatalf("the program did not reach the step %s", step)
		}
		s.manager.Kill()
		s.manager = s.StartManager(true)
		s.Run("/usr/local/bin/host-network", "restore")
		s.isBack(before)
	}
}

// isBack fails if the host does not have the network of the install-config's document. inMemory are the profiles that NetworkManager
// itself keeps in memory.
func (s *scene) isBack(profiles string, inMemory ...string) {
	s.t.Helper()
	s.has(card, address)
	s.reaches()
	if out := s.Run("ovs-vsctl", "list-br"); out != "" {
		s.t.Errorf("bridges are left: %s", out)
	}
	for _, device := range []string{"br-ex", "bond0", "lan"} {
		if out, err := s.Try("ip", "link", "show", "dev", device); err == nil {
			s.t.Errorf("a device is left: %s", out)
		}
	}
	if out := s.profiles(); out != profiles {
		s.t.Errorf("profiles are\n%s\nand were\n%s", out, profiles)
	}
	staged, err := os.ReadDir(s.Path("/run/NetworkManager/system-connections"))
	if err != nil && !os.IsNotExist(err) {
		s.t.Fatal(err)
	}
	for _, f := range staged {
		if !slices.Contains(append(inMemory, "lo.nmconnection"), f.Name()) {
			s.t.Errorf("a profile is left in memory: %s", f.Name())
		}
	}
	if out := s.applied(); out != "" {
		s.t.Errorf("a marker is left:\n%s", out)
	}
}

// TestHostIsRolledBackWhenTheProgramIsNotRestarted relies on the checkpoint alone.
func TestHostIsRolledBackWhenTheProgramIsNotRestarted(t *testing.T) {
	s := newScene(t, "install-config.yml")
	s.give("other-address.yml")
	if !s.killAt("msg=verify", "--apply-timeout=5s", "--verify-timeout=3s") {
		t.Fatal("the program did not begin to verify the applied network")
	}
	s.has(card, "192.168.111.120/24")
	s.Eventually(time.Minute, "NetworkManager rolls back to its checkpoint", func() error {
		return contains(s.Run("ip", "-4", "address", "show", "dev", card), address)
	})
	s.reaches()
	s.apply("applied")
	s.has(card, "192.168.111.120/24")
}

// TestHostWithoutItsCableIsNotConfigured tests that a valid document alone is not reported as applied.
func TestHostWithoutItsCableIsNotConfigured(t *testing.T) {
	s := newScene(t, "install-config.yml")
	s.give("machine-config.yml")
	s.segment.Unplug("cable0", true)
	out, err := s.Try("/usr/local/bin/host-network", arguments("--verify-timeout=3s")...)
	if err == nil {
		t.Fatalf("host-network succeeds on a host without a cable:\n%s", out)
	}
	s.segment.Unplug("cable0", false)
	s.apply("applied")
	s.has("br-ex", address)
	s.reaches()
}

func contains(text, part string) error {
	if !strings.Contains(text, part) {
		return fmt.Errorf("%s is missing in %s", part, text)
	}
	return nil
}
