package main

import (
	"context"
	"fmt"
	"os"
	"time"

	"github.com/vishvananda/netlink"

	"github.com/cluster-network-operator/cno/internal/dayone/hostapply"
	"github.com/cluster-network-operator/cno/internal/dayone/hostapply/backends"
	"github.com/cluster-network-operator/cno/internal/dayone/hostapply/kernelstate"
	"github.com/cluster-network-operator/cno/internal/dayone/hostapply/netlinkovs"
	"github.com/cluster-network-operator/cno/internal/dayone/hostapply/networkmanager"
	"github.com/cluster-network-operator/cno/internal/dayone/hostapply/ovsbridge"
	"github.com/cluster-network-operator/cno/internal/host/nmdbus"
)

// resolvConf is the file to which NetworkManager, or the backend without it, writes the DNS servers.
const resolvConf = "/etc/resolv.conf"

// devices is the directory in which the kernel reports the LACP state of bonds.
const devices = "/sys/class/net"

// openBackend chooses a backend, stores the choice, and opens the backend.
func (o *options) openBackend(ctx context.Context, h *host, kernel *netlink.Handle) (hostapply.Backend, error) {
	// A host without a bus has no NetworkManager.
	bus, err := nmdbus.Dial(o.bus)
	runs := false
	if err == nil {
		h.closers = append(h.closers, bus.Close)
		if runs, err = bus.Running(ctx); err != nil {
			return nil, err
		}
	}
	kind, err := backends.Choose(o.backend, o.state, runs)
	if err != nil {
		return nil, err
	}
	if err := backends.Remember(o.state, kind); err != nil {
		return nil, fmt.Errorf("store the choice of backend: %w", err)
	}
	o.log.Info("backend chosen", "backend", kind)
	reader := kernelstate.Reader{Netlink: kernel, ResolvConf: resolvConf}
	if kind == backends.Netlink {
		return o.netlink(kernel), nil
	}
	return &networkmanager.Backend{
		Sys: os.DirFS(devices), Bus: bus, Kernel: reader.Read, Netlink: kernel, OVS: o.database(), Etc: networkmanager.DefaultEtc, Run: networkmanager.DefaultRun,
		Now: time.Now, Log: o.log,
	}, nil
}

func (o *options) netlink(kernel *netlink.Handle) *netlinkovs.Backend {
	return &netlinkovs.Backend{
		Netlink: kernel, OVS: o.database(), ResolvConf: resolvConf, Sys: os.DirFS(devices), Leases: o.leases, Now: time.Now, Log: o.log,
	}
}

func (o *options) database() ovsbridge.Database { return ovsbridge.Database{Socket: o.ovsdb} }
