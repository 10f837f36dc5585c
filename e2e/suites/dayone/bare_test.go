package dayone

import (
	"strings"
	"testing"
	"time"

	"github.com/cluster-network-operator/cno/e2e/kit"
	"github.com/cluster-network-operator/cno/e2e/suites/dayone/host"
)

// newBareScene boots a host with Open vSwitch and without NetworkManager: only host-network adds addresses.
func newBareScene(t *testing.T) *scene {
	t.Helper()
	s := &scene{t: t, segment: host.NewSegment(t, root, gateway+"/24", leases)}
	s.Host = host.New(t, root, "master-0")
	s.Plug(s.segment, card, "cable0", mac)
	s.Host.Boot()
	s.install()
	s.StartSwitch()
	return s
}

// bareReboot cuts the power and boots.
func (s *scene) bareReboot() {
	s.t.Helper()
	s.PowerOff()
	s.Host.Boot()
	s.StartSwitch()
}

func TestBareHostRollsBackABrokenConfiguration(t *testing.T) {
	s := newBareScene(t)
	s.give("install-config.yml")
	s.apply("applied")
	before := s.Run("sh", "-c", "ip -br address show enp2s0; ip route; ovs-vsctl list-br; cat /etc/resolv.conf")
	s.give("wrong-gateway.yml")
	out, err := s.Try("/usr/local/bin/host-network", arguments("--verify-timeout=2s")...)
	if err == nil || !strings.Contains(out, "does not answer") {
		t.Errorf("the output does not mention the gateway (%v):\n%s", err, out)
	}
	if s.applied() != document(t, "install-config.yml") {
		t.Errorf("the marker does not describe the live network:\n%s", s.applied())
	}
	if after := s.Run("sh", "-c", "ip -br address show enp2s0; ip route; ovs-vsctl list-br; cat /etc/resolv.conf"); after != before {
		t.Errorf("the network was\n%s\nand is\n%s", before, after)
	}
	s.reaches()
}

// TestBareHostSurvivesAKillAtEveryStep kills the program, or cuts the power, at each step of the way to br-ex.
func TestBareHostSurvivesAKillAtEveryStep(t *testing.T) {
	kit.Full(t)
	steps := []string{
		"msg=snapshot", "msg=journal stage=applying", "msg=apply", `msg=step do="change open vswitch +br-ex"`,
		`msg=step do="remove address enp2s0 192.168.111.110/24"`, `msg=step do="add address br-ex 192.168.111.110/24"`,
		`msg=step do="add route 0.0.0.0/0 via 192.168.111.1 dev br-ex"`, "msg=verify", "msg=journal stage=committing", "msg=commit",
		`msg="write marker"`, `msg="write state"`, `msg="close journal"`,
	}
	for name, recover := range map[string]func(*scene){"killed": func(*scene) {}, "power cut": (*scene).bareReboot} {
		t.Run(name, func(t *testing.T) {
			s := newBareScene(t)
			s.give("install-config.yml")
			s.apply("applied")
			for _, step := range steps {
				s.give("machine-config.yml")
				if !s.killAt(step) {
					t.Fatalf("the program did not reach the step %s", step)
				}
				recover(s)
				out, err := s.Try("/usr/local/bin/host-network", arguments("--log-level=debug")...)
				if err != nil {
					t.Fatalf("after a death at %s: %v", step, err)
				}
				s.inBrEx()
				if t.Failed() {
					t.Fatalf("after a death at %s:\n%s", step, out)
				}
				s.giveText(document(t, "back.yml"))
				s.apply("applied")
				s.has(card, address)
				s.reaches()
			}
		})
	}
}

// TestBareHostWithoutADocument has a lease on its card, and then br-ex with the same one, which is renewed.
func TestBareHostWithoutADocument(t *testing.T) {
	s := newBareScene(t)
	s.give("dhcp.yml")
	s.apply("applied")
	leased := s.addressOf(card)
	s.Run("rm", "/etc/nmstate/openshift/master-0.yml")
	for _, result := range []string{"applied", "unchanged"} {
		out := s.Run("/usr/local/bin/host-network", "run", "--apply-timeout=40s", "--verify-timeout=15s")
		if !strings.Contains(out, result) {
			t.Errorf("the result is not %s:\n%s", result, out)
		}
	}
	s.has("br-ex", leased)
	s.reaches()
	if out := s.Run("ip", "route", "show", "default"); !strings.Contains(out, "dev br-ex") || !strings.Contains(out, "metric 48") {
		t.Errorf("the default route is %s", out)
	}
	keeper := s.Start("/usr/local/bin/host-network", "leases")
	s.Eventually(time.Minute, "the gateway answers while the lease is current", func() error { return s.Ping(gateway) })
	keeper.Kill()
	s.has("br-ex", leased)
}
