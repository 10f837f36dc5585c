package main

import (
	"context"
	"errors"
	"testing"

	"github.com/cluster-network-operator/cno/internal/dayone/hostapply/ovsbridge"
)

func TestOVNStateIsClearedOncePerBoot(t *testing.T) {
	dir, broken := t.TempDir(), errors.New("no answer")
	for _, c := range []struct {
		why, boot string
		answer    error
		asked     bool
	}{
		{"without Open vSwitch there is nothing to forget, yet", "one", ovsbridge.ErrAbsent, true},
		{"what failed is tried again", "one", broken, true},
		{"the first time that it runs", "one", nil, true},
		{"OVN may work by now", "one", nil, false},
		{"a reboot", "two", nil, true},
	} {
		asked := false
		err := oncePerBoot(t.Context(), dir, c.boot, func(context.Context) error { asked = true; return c.answer })
		if asked != c.asked || errors.Is(err, broken) != (c.answer == broken) {
			t.Errorf("%s: asked %v, %v", c.why, asked, err)
		}
	}
}
