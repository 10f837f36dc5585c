package machine

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"net"
	"net/http"
	"os"
	"path/filepath"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"

	"github.com/cluster-network-operator/cno/e2e/lab/cgroup"
	"github.com/cluster-network-operator/cno/e2e/lab/supervisor"
)

// sysctls are the settings that Kubernetes requires of a machine, and those for a
// static underlay. Settings that the kernel does not have are skipped.
var sysctls = map[string]string{
	"net/ipv4/ip_forward":                 "1",
	"net/ipv6/conf/all/forwarding":        "1",
	"net/ipv6/conf/all/accept_ra":         "0",
	"net/ipv6/conf/default/accept_ra":     "0",
	"net/bridge/bridge-nf-call-iptables":  "1",
	"net/bridge/bridge-nf-call-ip6tables": "1",
}

// Init runs the first process of a node. The caller starts it in new namespaces.
// Init sets them up, writes one byte, or the error of the setup, to ready, and then
// supervises the node's units for clients of the listener, until it is killed or
// the context is done.
func Init(ctx context.Context, s Spec, listener net.Listener, ready *os.File, log *slog.Logger) error {
	if err := setUp(s); err != nil {
		_, _ = fmt.Fprint(ready, err)
		return err
	}
	if _, err := ready.Write([]byte{readyByte}); err != nil {
		return fmt.Errorf("report that the node is ready: %w", err)
	}
	if err := ready.Close(); err != nil {
		return fmt.Errorf("report that the node is ready: %w", err)
	}
	units := supervisor.New(log, supervisor.RestartDelay)
	server := &http.Server{Handler: units.Handler()} //nolint:gosec // a unix socket that only root may open
	stop := context.AfterFunc(ctx, func() { _ = server.Close() })
	defer stop()
	go units.Reap(ctx)
	if err := server.Serve(listener); err != nil && !errors.Is(err, http.ErrServerClosed) {
		return fmt.Errorf("serve the node's units: %w", err)
	}
	return nil
}

func setUp(s Spec) error {
	for _, file := range cgroup.JoinFiles(s.Cgroup, s.Cgroups) {
		if err := os.WriteFile(file, []byte("0"), 0); err != nil {
			return fmt.Errorf("join the node's control group: %w", err)
		}
	}
	if err := furnish(s); err != nil {
		return fmt.Errorf("mount the file systems of the node: %w", err)
	}
	if err := unix.Sethostname([]byte(s.Name)); err != nil {
		return fmt.Errorf("set the host name: %w", err)
	}
	return setUpNetwork()
}

func setUpNetwork() error {
	lo, err := netlink.LinkByName("lo")
	if err != nil {
		return fmt.Errorf("find the loopback device: %w", err)
	}
	if err := netlink.LinkSetUp(lo); err != nil {
		return fmt.Errorf("set the loopback device up: %w", err)
	}
	for name, value := range sysctls {
		err := os.WriteFile(filepath.Join("/proc/sys", name), []byte(value), 0)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("set %s: %w", name, err)
		}
	}
	return nil
}
