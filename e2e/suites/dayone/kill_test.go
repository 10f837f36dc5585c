package dayone

import (
	"testing"

	"github.com/cluster-network-operator/cno/e2e/kit"
)

// steps are the log messages of the program before each step of a change that moves the address of a card to br-ex, in order.
func steps() []string {
	return []string{
		"msg=snapshot", `msg=journal stage=applying`, "msg=apply", `msg="stage profiles"`, "msg=reapply device=" + card,
		`msg="set up bridges"`, "msg=activate device=br-ex", "msg=verify", "msg=journal stage=committing", "msg=commit",
		`msg="disarm checkpoint"`, `msg="keep profiles"`, `msg="write marker"`, `msg="write state"`, `msg="close journal"`,
	}
}

// TestKilledProgramIsFollowedByTheNewState kills the program at each step, and starts it again.
func TestKilledProgramIsFollowedByTheNewState(t *testing.T) {
	afterDeath(t, func(*scene) {})
}

// TestPowerCutIsFollowedByTheNewState cuts the power at each step, and boots again.
func TestPowerCutIsFollowedByTheNewState(t *testing.T) {
	kit.Full(t)
	afterDeath(t, (*scene).reboot)
}

// afterDeath alternates between two documents, and ends the program at each step of the change to the second one.
func afterDeath(t *testing.T, recover func(*scene)) {
	s := newScene(t, "install-config.yml")
	s.give("install-config.yml")
	s.apply("applied")
	for _, step := range steps() {
		s.give("machine-config.yml")
		if !s.killAt(step) {
			t.Fatalf("the program did not reach the step %s", step)
		}
		recover(s)
		if _, err := s.Try("/usr/local/bin/host-network", arguments("--log-level=debug")...); err != nil {
			t.Fatalf("after a death at %s: %v", step, err)
		}
		s.has("br-ex", address)
		s.hasNone(card)
		s.reaches()
		if s.applied() != document(t, "machine-config.yml") {
			t.Errorf("after a death at %s the marker is\n%s", step, s.applied())
		}
		s.giveText(document(t, "back.yml"))
		s.apply("applied")
		s.has(card, address)
		s.reaches()
	}
}

// TestKilledRollbackIsFinished kills the program while it rolls a change back, and starts it again.
func TestKilledRollbackIsFinished(t *testing.T) {
	kit.Full(t)
	s := newScene(t, "install-config.yml")
	before := s.profiles()
	for _, step := range []string{"msg=journal stage=restoring", "msg=restore", `msg="restore bridges"`, `msg="roll back"`, `msg="restore profiles"`} {
		s.give("wrong-gateway.yml")
		if !s.killAt(step, "--verify-timeout=1s") {
			t.Fatalf("the program did not reach the step %s", step)
		}
		s.Run("/usr/local/bin/host-network", "restore")
		s.isBack(before)
	}
}
