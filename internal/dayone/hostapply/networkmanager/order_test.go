package networkmanager

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// bondUnderBridge is in the order of activation: the bond, its ports, and what has the addresses.
func bondUnderBridge() []profile {
	return []profile{
		{device: "br-ex", kind: kindBridgeOVS, active: true}, {device: "bond0", kind: kindBond, active: true},
		{device: "p1", bond: "bond0", active: true}, {device: "p2", bond: "bond0", active: true}, {device: "off"},
		{device: "br-ex", kind: kindInterfaceOVS, internal: true, active: true},
	}
}

func TestABridgeTakesAddressesOverWhenTheBondBelowPassesPackets(t *testing.T) {
	for _, c := range []struct {
		why   string
		fails string
		want  string
		err   string
	}{
		{"the bond has agreed with its switch first", "", "br-ex bond0 p1 p2 agree(bond0) br-ex", ""},
		{"a port without a cable is what a bond is for", "p1", "br-ex bond0 p1 p2 agree(bond0) br-ex", ""},
		{"a bond without any port passes nothing", "p1 p2", "br-ex bond0 p1 p2 agree(bond0) br-ex", "no port of bond0 comes up"},
		{"what is no port has to come up", "bond0", "br-ex bond0", "no bond0"},
	} {
		var did []string
		up := activation{
			activate: func(_ context.Context, _, device string) error {
				did = append(did, device)
				if strings.Contains(c.fails, device) {
					return errors.New("no " + device)
				}
				return nil
			},
			awaitLACP: func(_ context.Context, bonds []string) error {
				did = append(did, "agree("+strings.Join(bonds, ",")+")")
				return nil
			},
			log: slog.New(slog.DiscardHandler),
		}
		err := up.all(t.Context(), bondUnderBridge())
		if (err == nil) != (c.err == "") || err != nil && !strings.Contains(err.Error(), c.err) {
			t.Errorf("%s: %v", c.why, err)
		}
		if diff := cmp.Diff(c.want, strings.Join(did, " ")); diff != "" {
			t.Errorf("%s:\n%s", c.why, diff)
		}
	}
}

func TestProfilesKnowTheirBond(t *testing.T) {
	text := "[connection]\ninterface-name=p1\nmaster=bond0\nslave-type=bond\ntype=802-3-ethernet\nuuid=u\n"
	if got := newProfile("p1.nmconnection", text, parseKeyfile(text)); got.bond != "bond0" {
		t.Errorf("%+v", got)
	}
}
