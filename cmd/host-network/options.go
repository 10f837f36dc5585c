package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/spf13/pflag"
	"github.com/vishvananda/netlink"

	"github.com/cluster-network-operator/cno/internal/cli/exit"
	"github.com/cluster-network-operator/cno/internal/dayone/hostapply"
	"github.com/cluster-network-operator/cno/internal/dayone/hostapply/backends"
	"github.com/cluster-network-operator/cno/internal/dayone/hostapply/conflict"
	"github.com/cluster-network-operator/cno/internal/dayone/hostapply/probe"
)

// options are the flags.
type options struct {
	documents, state, report string

	applied, bus, ovsdb, leases string
	backend                     backends.Kind
	automatic                   bool
	probe                       []string
	limits                      hostapply.Limits

	log *slog.Logger
}

func (o *options) addFlags(flags *pflag.FlagSet) {
	o.backend, o.limits = backends.Auto, hostapply.DefaultLimits()
	flags.Var(&o.backend, "backend", "auto, networkmanager or netlink; auto is networkmanager where it runs")
	flags.BoolVar(&o.automatic, "automatic", true, "without a document, put the interface of the default route into br-ex")
	flags.StringVar(&o.applied, "applied", "/etc/nmstate/openshift/applied",
		"a copy of the document goes here when it was verified, for programs that look for it; empty for none")
	flags.StringSliceVar(&o.probe, "probe", nil, "host:port that must accept connections after a change if it did before")
	flags.StringVar(&o.bus, "bus", "", "address of the message bus that NetworkManager is on (default the system's)")
	flags.DurationVar(&o.limits.Name, "wait-for-name", o.limits.Name, "how long to wait for a host name that may choose a document")
	flags.DurationVar(&o.limits.Apply, "apply-timeout", o.limits.Apply, "how long applying may take")
	flags.DurationVar(&o.limits.Verify, "verify-timeout", o.limits.Verify, "how long the network may take to become what was applied")
}

// host is this host's state for a run.
type host struct {
	engine  *hostapply.Engine
	closers []func() error
	// uplink is the interface that automatic mode chose; empty without automatic mode.
	uplink string
}

func (h *host) close() error {
	var errs []error
	for _, c := range slices.Backward(h.closers) {
		errs = append(errs, c())
	}
	return errors.Join(errs...)
}

// open waits for the lock, and creates the engine.
func (o *options) open(ctx context.Context) (*host, error) {
	unlock, err := lock(ctx, o.state)
	if err != nil {
		return nil, err
	}
	h := &host{closers: []func() error{unlock}}
	if err := conflict.Enabled(os.DirFS("/")); err != nil {
		return nil, &exit.Code{Status: exit.Refused, Err: errors.Join(err, h.close())}
	}
	kernel, err := netlink.NewHandle()
	if err != nil {
		return nil, errors.Join(fmt.Errorf("open netlink: %w", err), h.close())
	}
	h.closers = append(h.closers, func() error { kernel.Close(); return nil })
	backend, err := o.openBackend(ctx, h, kernel)
	if err != nil {
		return nil, &exit.Code{Status: exit.Refused, Err: errors.Join(err, h.close())}
	}
	boot, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if err != nil {
		return nil, errors.Join(fmt.Errorf("read boot id: %w", err), h.close())
	}
	h.engine = &hostapply.Engine{
		Backend: backend, Documents: os.DirFS(o.documents), Resolve: resolve, Prober: probe.Prober{Netlink: kernel},
		Dir: o.state, Report: o.report, Applied: o.applied, Boot: strings.TrimSpace(string(boot)),
		Hostname: os.Hostname, Limits: o.limits, Now: time.Now, Wait: hostapply.Sleep, Log: o.log,
	}
	if o.automatic {
		h.engine.Automatic = h.automatic
	}
	for _, address := range o.probe {
		h.engine.Targets = append(h.engine.Targets, hostapply.Target{Kind: hostapply.TCP, Address: address})
	}
	return h, nil
}
