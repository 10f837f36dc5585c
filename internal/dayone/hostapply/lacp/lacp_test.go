package lacp

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"strings"
	"testing"
	"testing/fstest"
	"time"
)

// kernel has the files of one bond. Ports are written as link/this side/the switch.
func kernel(mode string, ports ...string) fstest.MapFS {
	files := fstest.MapFS{"bond0/bonding/mode": {Data: []byte(mode + "\n")}, "eth9/address": {}}
	var names []string
	for n, port := range ports {
		name := fmt.Sprintf("p%d", n)
		names = append(names, name)
		for at, file := range []string{"mii_status", "ad_actor_oper_port_state", "ad_partner_oper_port_state"} {
			files[name+"/bonding_slave/"+file] = &fstest.MapFile{Data: []byte(strings.Split(port, "/")[at] + "\n")}
		}
	}
	files["bond0/bonding/slaves"] = &fstest.MapFile{Data: []byte(strings.Join(names, " ") + "\n")}
	return files
}

// await returns how long was waited, and what was warned of.
func await(t *testing.T, files fstest.MapFS, passes func(waited time.Duration)) (time.Duration, string) {
	t.Helper()
	var log strings.Builder
	waited := time.Duration(0)
	wait := func(_ context.Context, d time.Duration) error { waited += d; passes(waited); return nil }
	if err := Await(t.Context(), files, []string{"bond0", "eth9", "gone"}, wait, slog.New(slog.NewTextHandler(&log, nil))); err != nil {
		t.Fatal(err)
	}
	return waited, log.String()
}

func TestABondIsReadyWhenBothSidesCollectAndDistribute(t *testing.T) {
	for _, c := range []struct {
		why   string
		files fstest.MapFS
		warns string
	}{
		{"61 is active, aggregated, in step, collecting and distributing", kernel("802.3ad 4", "up/61/61", "up/63/60"), ""},
		{"a port without a link cannot agree with anyone", kernel("802.3ad 4", "up/61/61", "down/7/1"), ""},
		{"other modes have no LACP", kernel("active-backup 1", "up/N/A/N/A"), ""},
		{"the switch collects, and does not distribute yet", kernel("802.3ad 4", "up/61/29"), "the switch does not send and receive on p0"},
		{"this side does not yet", kernel("802.3ad 4", "up/61/61", "up/7/61"), "this host does not send and receive on p1"},
		{"a switch without LACP", kernel("802.3ad 4", "up/77/1"), "this host does not"},
		{"a port that just joined", kernel("802.3ad 4", "up/N//"), "this host does not"},
		{"no link at all", kernel("802.3ad 4", "down/61/61"), "no port has a link"},
		{"no port yet", kernel("802.3ad 4"), "no port has a link"},
	} {
		waited, log := await(t, c.files, func(time.Duration) {})
		if c.warns == "" && (waited != 0 || log != "") || c.warns != "" && (waited != limit || !strings.Contains(log, c.warns)) {
			t.Errorf("%s: waited %s, warned %q", c.why, waited, log)
		}
	}
}

func TestWhatIsAgreedOnLaterIsWaitedForAndNoLonger(t *testing.T) {
	files := kernel("802.3ad 4", "up/61/1")
	waited, log := await(t, files, func(waited time.Duration) {
		if waited >= 2*time.Second {
			maps.Copy(files, kernel("802.3ad 4", "up/61/61"))
		}
	})
	if waited != 2*time.Second || log != "" {
		t.Errorf("waited %s, warned %q", waited, log)
	}
}

func TestAnEndOfTheContextEndsTheWait(t *testing.T) {
	stop := errors.New("stopped")
	err := Await(t.Context(), kernel("802.3ad 4", "up/61/1"), []string{"bond0"}, func(context.Context, time.Duration) error { return stop }, slog.New(slog.DiscardHandler))
	if !errors.Is(err, stop) {
		t.Errorf("got %v", err)
	}
}
