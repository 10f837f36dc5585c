package dayone

import (
	"strings"
	"testing"
)

// TestHostWithoutADocumentGetsBrEx is the automatic mode over a lease: the card's address, kept in the lease of br-ex.
func TestHostWithoutADocumentGetsBrEx(t *testing.T) {
	s := newScene(t, "dhcp.yml")
	leased := s.addressOf(card)
	for _, result := range []string{"applied", "unchanged"} {
		s.Run("ovs-vsctl", "--no-wait", "set", "Open_vSwitch", ".", "external_ids:ovn-remote=ssl:192.0.2.1:6642")
		out := s.Run("/usr/local/bin/host-network", automatically()...)
		if !strings.Contains(out, result+" the automatic configuration") {
			t.Fatalf("the result is not %s:\n%s", result, out)
		}
		s.has("br-ex", leased)
		s.hasNone(card)
		s.reaches()
		// The setting of an earlier boot is removed; one of this boot is kept.
		left := map[string]string{"applied": "\" \"\n", "unchanged": "\"ssl:192.0.2.1:6642\"\n"}[result]
		if out := s.Run("ovs-vsctl", "get", "Open_vSwitch", ".", "external_ids:ovn-remote"); out != left {
			t.Errorf("after %s, ovn-remote is %s, want %s", result, out, left)
		}
		if out := s.Run("ip", "-4", "route", "show", "default"); !strings.Contains(out, "dev br-ex") || !strings.Contains(out, "metric 48") {
			t.Errorf("the default route is %s", out)
		}
	}
	if out := s.Run("ls", "/etc/NetworkManager/system-connections"); strings.Contains(out, "br-ex") {
		t.Errorf("a configuration that is recreated at each boot is on disk:\n%s", out)
	}
	if out := s.Run("cat", "/var/lib/ovnk/iface_default_hint"); out != card+"\n" {
		t.Errorf("the interface for the next boot is %q", out)
	}
	s.reboot()
	out := s.Run("/usr/local/bin/host-network", automatically()...)
	if !strings.Contains(out, "applied the automatic configuration") {
		t.Errorf("after a reboot:\n%s", out)
	}
	s.has("br-ex", leased)
	s.reaches()
}

func automatically() []string {
	return []string{"run", "--apply-timeout=40s", "--verify-timeout=15s"}
}

// addressOf is the address of a device, which has one.
func (s *scene) addressOf(device string) string {
	s.t.Helper()
	fields := strings.Fields(s.Run("ip", "-4", "-brief", "address", "show", "dev", device))
	if len(fields) != 3 {
		s.t.Fatalf("%s has the addresses %v", device, fields)
	}
	return fields[2]
}

// TestDocumentWithCaptures moves the address of the interface that has the default route.
func TestDocumentWithCaptures(t *testing.T) {
	s := newScene(t, "dhcp.yml")
	leased := s.addressOf(card)
	s.give("captured.yml")
	s.apply("applied")
	s.has("br-ex", leased)
	s.hasNone(card)
	s.reaches()
	// The default route is on br-ex now, which the capture must not find.
	s.apply("unchanged")
}
