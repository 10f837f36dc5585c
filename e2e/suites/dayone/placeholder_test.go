package dayone

import (
	"strings"
	"syscall"
	"testing"
	"time"
)

const internalProfile = "/etc/NetworkManager/system-connections/br-ex-if.nmconnection"

// TestProfileOfTheBridgeIsMissingAtBoot tests that no profile on disk is for a device that Open vSwitch creates: it would make the boot a
// race between two daemons.
func TestProfileOfTheBridgeIsMissingAtBoot(t *testing.T) {
	s := newScene(t, "install-config.yml")
	s.give("machine-config.yml")
	s.apply("applied")
	if out := s.Run("ls", "/etc/NetworkManager/system-connections"); strings.Contains(out, "br-ex") {
		t.Errorf("NetworkManager reads at boot:\n%s", out)
	}
	s.reboot()
	if out := s.Run("nmcli", "--get-values", "NAME", "connection"); strings.Contains(out, "br-ex") {
		t.Errorf("NetworkManager has at boot:\n%s", out)
	}
	s.apply("applied")
	s.inBrEx()
}

// TestNetworkManagerActivatesABridgeItIgnored brings NetworkManager into the state in which it takes its own placeholder for
// the device: the device appears, and the profile is read, while NetworkManager does nothing.
func TestNetworkManagerActivatesABridgeItIgnored(t *testing.T) {
	s := newScene(t, "install-config.yml")
	s.give("machine-config.yml")
	s.apply("applied")
	profile := s.Run("cat", "/run/NetworkManager/system-connections/br-ex-if.nmconnection")
	// The order in which NetworkManager handles the two depends on its threads.
	for try := 0; !s.bootPassingOver(profile); try++ {
		if try == 20 {
			t.Fatal("NetworkManager did not skip the device in any attempt; the case was not tested")
		}
	}

	out := s.Run("/usr/local/bin/host-network", arguments()...)
	if !strings.Contains(out, "its bridge is recreated") {
		t.Errorf("the bridge was not recreated:\n%s", out)
	}
	s.inBrEx()
	s.apply("unchanged")
	if out := s.Run("ls", "/etc/NetworkManager/system-connections"); strings.Contains(out, "br-ex") {
		t.Errorf("NetworkManager reads at the next boot:\n%s", out)
	}
}

// bootPassingOver boots the host, and reports whether NetworkManager passed over br-ex.
func (s *scene) bootPassingOver(profile string) bool {
	s.t.Helper()
	s.PowerOff()
	s.Host.Boot()
	s.Run("rm", "-f", internalProfile)
	s.StartBus()
	s.StartDatabase()
	s.manager = s.StartManager(true)
	s.signal(syscall.SIGSTOP)
	s.StartSwitchDaemon()
	s.Eventually(time.Minute, "Open vSwitch has created br-ex", func() error {
		_, err := s.Try("ip", "link", "show", "br-ex")
		return err
	})
	s.Write(internalProfile, profile, 0o600)
	// It waits for the answer in the background: NetworkManager does nothing for callers who have left.
	reload := s.Start("dbus-send", "--system", "--print-reply", "--dest=org.freedesktop.NetworkManager",
		"/org/freedesktop/NetworkManager/Settings", "org.freedesktop.NetworkManager.Settings.ReloadConnections")
	time.Sleep(time.Second / 2) // until nothing changes: the request is queued in NetworkManager's socket
	s.signal(syscall.SIGCONT)
	reload.Wait()
	return !strings.Contains(s.Run("nmcli", "--get-values", "DEVICE", "device"), "br-ex")
}

func (s *scene) signal(signal syscall.Signal) {
	s.t.Helper()
	if err := s.manager.Signal(signal); err != nil {
		s.t.Fatal(err)
	}
}
