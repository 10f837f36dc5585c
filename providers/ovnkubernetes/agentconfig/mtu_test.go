package agentconfig

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/cluster-network-operator/cno/internal/agent/agentfile"
)

func TestMTURoundTrip(t *testing.T) {
	for _, m := range []MTU{{MTU: 1400}, {MTU: 1400, Migration: &agentfile.MTUMigration{Step: 1, RoutableMTU: 1350}}} {
		text, err := m.Encode()
		if err != nil {
			t.Fatal(err)
		}
		if got, err := DecodeMTU([]byte(text)); err != nil || cmp.Diff(m, got) != "" {
			t.Errorf("%+v, %v", got, err)
		}
	}
	for _, tc := range []struct{ why, text, want string }{
		{"nothing", ``, "decode"},
		{"no MTU", `{}`, "mtu: Invalid value: 0"},
		{"more is sent than taken", `{"mtu":1400,"migration":{"step":1,"routableMTU":1450}}`, "migration.routableMTU"},
		{"all that is wrong", `{"mtu":100,"migration":{"step":0}}`, "migration.step"},
		{"a field of a newer version", `{"mtu":1400,"more":1}`, "more"},
	} {
		if _, err := DecodeMTU([]byte(tc.text)); err == nil || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%s: %v, want %q", tc.why, err, tc.want)
		}
	}
}
