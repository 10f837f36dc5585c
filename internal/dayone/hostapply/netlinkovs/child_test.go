package netlinkovs

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"os"
	"syscall"
	"testing"
	"time"

	"github.com/vishvananda/netlink"

	"github.com/cluster-network-operator/cno/internal/dayone/automatic"
	"github.com/cluster-network-operator/cno/internal/dayone/hostapply"
	"github.com/cluster-network-operator/cno/internal/dayone/hostapply/ovsbridge"
	"github.com/cluster-network-operator/cno/internal/dayone/hostapply/probe"
	"github.com/cluster-network-operator/cno/internal/dayone/livestate"
	"github.com/cluster-network-operator/cno/internal/dayone/nmstate"
)

func TestMain(m *testing.M) {
	if data := os.Getenv(childVariable); data != "" {
		if err := runChild([]byte(data)); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// runChild is one pass of a program with this backend.
func runChild(data []byte) error {
	var c child
	if err := json.Unmarshal(data, &c); err != nil {
		return err
	}
	handle, err := netlink.NewHandle()
	if err != nil {
		return err
	}
	log := slog.New(&mortal{Handler: slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelDebug}), dieAt: c.DieAt})
	limits := hostapply.DefaultLimits()
	limits.Verify, limits.Poll, limits.Restore, limits.Uplink = c.Verify, 50*time.Millisecond, time.Minute, time.Second
	limits.Apply, limits.Probe = c.Apply, 300*time.Millisecond
	limits.Tries = 5
	backend := &Backend{
		Netlink: handle, OVS: ovsbridge.Database{Socket: c.Socket}, ResolvConf: c.ResolvConf, Sys: os.DirFS("/sys/class/net"), Leases: c.Leases,
		Now: func() time.Time { return time.Now().Add(c.Later) }, Log: log,
	}
	if c.Keep {
		once := func(context.Context, time.Duration) error { return context.Canceled }
		if err := backend.Keep(context.Background(), time.Second, once); err != nil {
			return err
		}
		return json.NewEncoder(os.Stdout).Encode(hostapply.Report{})
	}
	e := hostapply.Engine{
		Backend:   backend,
		Documents: os.DirFS(c.Documents),
		Resolve: func(name string, data []byte, live livestate.State) (*nmstate.Document, error) {
			doc, problems := nmstate.Parse(name, data)
			if err := problems.Err(); err != nil {
				return nil, err
			}
			return livestate.Concrete(doc, live)
		},
		Prober: probe.Prober{Netlink: handle}, Dir: c.Dir, Report: c.Report, Applied: c.Marker, Boot: c.Boot,
		Hostname: func() (string, error) { return "master-0", nil }, Limits: limits, Now: time.Now, Wait: hostapply.Sleep, Log: log,
	}
	if c.Automatic {
		e.Automatic = func(live livestate.State) (*nmstate.Document, error) {
			made, err := automatic.Generate(live, automatic.Hints{})
			return made.Document, err
		}
	}
	report, _ := e.Run(context.Background())
	return json.NewEncoder(os.Stdout).Encode(report)
}

// mortal kills the process, as a power cut would, at one of the steps that are logged. Every step is logged before
// it is taken.
type mortal struct {
	slog.Handler
	dieAt, steps int
}

func (m *mortal) Handle(ctx context.Context, r slog.Record) error {
	if r.Level == slog.LevelDebug {
		if m.steps++; m.steps == m.dieAt {
			_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
			select {}
		}
	}
	return m.Handler.Handle(ctx, r)
}
