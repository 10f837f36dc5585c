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

// resolvConf is where NetworkManager, or the backend without it, names the DNS servers.
const resolvConf = "/etc/resolv.conf"

// devices is where the kernel says how bonds get on with their switch.
const devices = "/sys/class/net"

// openBackend chooses the backend, remembers the choice, and makes it.
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
		return nil, fmt.Errorf("remember the backend: %w", err)
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
