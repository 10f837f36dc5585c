package nmdbus

import (
	"errors"
	"fmt"
	"path/filepath"
	"testing"

	"github.com/godbus/dbus/v5"
)

func TestErrorsOfMissingObjects(t *testing.T) {
	for name, want := range map[string]bool{
		"org.freedesktop.DBus.Error.UnknownMethod":        true, // what godbus and GLib return for an object that no longer exists
		"org.freedesktop.DBus.Error.ServiceUnknown":       true,
		"org.freedesktop.NetworkManager.Device.NotActive": true,
		"org.freedesktop.NetworkManager.PermissionDenied": false,
		"org.freedesktop.DBus.Error.NoReply":              false,
		"org.freedesktop.NetworkManager.UnknownDevice":    true,
		"org.freedesktop.NetworkManager.Settings.Other.":  false,
	} {
		if got := Gone(fmt.Errorf("read a device: %w", dbus.Error{Name: name})); got != want {
			t.Errorf("%s: %t", name, got)
		}
	}
	if Gone(errors.New("other")) || Gone(nil) {
		t.Error("an error that is not of the bus, or no error, is reported as a missing object")
	}
}

func TestSettings(t *testing.T) {
	s := Settings{"connection": {
		"id": variant("enp2s0"), "timestamp": variant(uint64(1)), "autoconnect": variant(true), "mode": variant(int32(-1)), "mtu": variant(uint32(1400)),
	}}
	if s.Text("connection", "id") != "enp2s0" || s.Text("connection", "mtu") != "" || s.Text("bond", "id") != "" {
		t.Error("texts are not read as they are")
	}
	if v, ok := s.Integer("connection", "mode"); !ok || v != -1 {
		t.Error("numbers are not read as they are")
	}
	if v, ok := s.Integer("connection", "mtu"); !ok || v != 1400 {
		t.Error("numbers are not read as they are")
	}
	if _, ok := s.Integer("connection", "id"); ok {
		t.Error("a text is a number")
	}
	if !s.Flag("connection", "autoconnect") || s.Flag("connection", "none") {
		t.Error("truth values are not read as they are")
	}
	other := Settings{"connection": {
		"id": variant("enp2s0"), "timestamp": variant(uint64(2)), "autoconnect": variant(true), "mode": variant(int32(-1)), "mtu": variant(uint32(1400)),
	}}
	if s.Equal(other) || !s.normal().Equal(other.normal()) {
		t.Error("the time of the last activation must not count, and everything else must")
	}
}

func TestMissingBusIsAnError(t *testing.T) {
	if _, err := Dial("unix:path=" + filepath.Join(t.TempDir(), "none")); err == nil {
		t.Error("no error")
	}
}
