package underlay

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/netip"
	"os"
	"syscall"

	"golang.org/x/sync/errgroup"

	"github.com/cluster-network-operator/cno/e2e/lab/cgroup"
	"github.com/cluster-network-operator/cno/e2e/lab/process"
	"github.com/cluster-network-operator/cno/e2e/lab/topology"
)

// Files that Hold's process inherits, by descriptor.
const (
	ListenerFD = 3
	ReadyFD    = 4
)

// Spec has the parameters of Hold. It is passed as a command-line argument.
type Spec struct {
	Family topology.Family `json:"family"`
	// Links are the networks in addition to the underlay.
	Links []topology.Link `json:"links,omitempty"`
	// MTU is that of all bridges in bytes; 0 is the kernel's default.
	MTU int `json:"mtu,omitempty"`
	// Servers are the API servers. They are reached through the machine's
	// loopback address and, on the port given, through the underlay's own.
	Servers []string `json:"servers"`
	Port    int      `json:"port"`
	// Cgroup is the branch of control groups that the process joins, Cgroups
	// are the mounted hierarchies.
	Cgroup  string             `json:"cgroup"`
	Cgroups []cgroup.Hierarchy `json:"cgroups"`
}

// Hold creates the underlay in the current network namespace and forwards
// connections until the context is done. It closes ready when the bridges exist.
func Hold(ctx context.Context, s Spec, l net.Listener, ready io.WriteCloser, log *slog.Logger) error {
	for _, file := range cgroup.JoinFiles(s.Cgroup, s.Cgroups) {
		if err := os.WriteFile(file, []byte("0"), 0); err != nil {
			return fmt.Errorf("join the lab's control group: %w", err)
		}
	}
	if err := build(s); err != nil {
		_, _ = fmt.Fprint(ready, err)
		return err
	}
	if _, err := ready.Write([]byte{0}); err != nil {
		return fmt.Errorf("report that the underlay is ready: %w", err)
	}
	if err := ready.Close(); err != nil {
		return fmt.Errorf("report that the underlay is ready: %w", err)
	}
	return serve(ctx, s, l, log)
}

// serve forwards connections to the listener and to the bridge's addresses.
func serve(ctx context.Context, s Spec, l net.Listener, log *slog.Logger) error {
	forwarder := Forwarder{Servers: s.Servers, Log: log}
	carriers, ctx := errgroup.WithContext(ctx)
	carriers.Go(func() error { return forwarder.Serve(ctx, l) })
	for _, a := range s.Family.Gateways() {
		inner, err := net.Listen("tcp", netip.AddrPortFrom(a, uint16(s.Port)).String())
		if err != nil {
			return fmt.Errorf("listen for the nodes: %w", err)
		}
		carriers.Go(func() error { return forwarder.Serve(ctx, inner) })
	}
	return carriers.Wait()
}

// Start runs Hold in a process of its own, by way of the program and arguments
// given, with the spec as one more argument. The listener belongs to the
// machine's own network namespace, regardless of that of the process; its
// address, on the loopback device, is returned.
func Start(program string, args []string, log string, s Spec) (process.Process, string, error) {
	if err := cgroup.Create(s.Cgroup, s.Cgroups); err != nil {
		return process.Process{}, "", err
	}
	l, err := net.ListenTCP("tcp4", &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1)})
	if err != nil {
		return process.Process{}, "", fmt.Errorf("listen for clients of the API server: %w", err)
	}
	defer l.Close()
	listener, err := l.File()
	if err != nil {
		return process.Process{}, "", fmt.Errorf("listen for clients of the API server: %w", err)
	}
	defer listener.Close()
	spec, err := json.Marshal(s)
	if err != nil {
		return process.Process{}, "", fmt.Errorf("encode the underlay: %w", err)
	}
	readyR, readyW, err := os.Pipe()
	if err != nil {
		return process.Process{}, "", fmt.Errorf("create a pipe: %w", err)
	}
	defer readyR.Close()
	p, err := process.Spawn(process.Command{
		Program: program, Args: append(args, string(spec)), Log: log,
		Files:      []*os.File{listener, readyW},
		Namespaces: syscall.CLONE_NEWNET | syscall.CLONE_NEWUTS,
	})
	readyW.Close()
	if err != nil {
		return p, "", fmt.Errorf("start the underlay: %w", err)
	}
	return p, l.Addr().String(), awaitReady(readyR)
}

func awaitReady(r io.Reader) error {
	report, err := io.ReadAll(r)
	if err != nil {
		return fmt.Errorf("wait for the underlay: %w", err)
	}
	if len(report) == 0 {
		return errors.New("the process of the underlay ended during its start: see its log")
	}
	if report[0] != 0 {
		return fmt.Errorf("create the underlay: %s", report)
	}
	return nil
}
