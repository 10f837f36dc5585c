package ovs

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/containernetworking/plugins/pkg/ns"
	"golang.org/x/sync/errgroup"

	"github.com/cluster-network-operator/cno/internal/agent"
)

// endLimit is how long a process may take to end after SIGTERM.
const endLimit = 5 * time.Second

// Switch is an Open vSwitch of a node: a database server and ovs-vswitchd. RunDir, DataDir, Schema and Log must be set.
type Switch struct {
	// RunDir has the sockets, DataDir the database.
	RunDir, DataDir string
	// Schema is the schema of the database; /usr/share/openvswitch/vswitch.ovsschema in images.
	Schema string
	// Namespace is the path of the network namespace of ovs-vswitchd; empty is the current one.
	Namespace string
	// Userspace is true if ovs-vswitchd must not use a datapath of the kernel, also not one that it finds.
	Userspace bool
	Log       *slog.Logger
}

// Socket is the socket of the database server.
func (s Switch) Socket() string { return filepath.Join(s.RunDir, "db.sock") }

// Control is the control socket of ovs-vswitchd.
func (s Switch) Control() Control { return Control(filepath.Join(s.RunDir, "ovs-vswitchd.ctl")) }

// Run runs the processes until the context ends: the database first, and each again when it has ended, with a growing pause. Bridges,
// ports and the addresses of interfaces survive the end of ovs-vswitchd.
func (s Switch) Run(ctx context.Context) error {
	if err := s.prepare(ctx); err != nil {
		return err
	}
	database := filepath.Join(s.DataDir, "conf.db")
	group, ctx := errgroup.WithContext(ctx)
	group.Go(func() error {
		return s.keep(ctx, "", "ovsdb-server", database, "--remote=punix:"+s.Socket(), "--unixctl="+filepath.Join(s.RunDir, "ovsdb-server.ctl"))
	})
	group.Go(func() error {
		arguments := []string{"unix:" + s.Socket(), "--unixctl=" + string(s.Control())}
		if s.Userspace {
			arguments = append(arguments, "--disable-system")
		}
		return s.keep(ctx, s.Namespace, "ovs-vswitchd", arguments...)
	})
	return group.Wait()
}

// prepare creates the database, or converts it to the schema.
func (s Switch) prepare(ctx context.Context) error {
	for _, dir := range []string{s.RunDir, s.DataDir} {
		if err := os.MkdirAll(dir, 0o755); err != nil {
			return fmt.Errorf("create directory of open vswitch: %w", err)
		}
	}
	database := filepath.Join(s.DataDir, "conf.db")
	if _, err := os.Stat(database); errors.Is(err, fs.ErrNotExist) {
		return tool(ctx, "create", database, s.Schema)
	} else if err != nil {
		return fmt.Errorf("read database of open vswitch: %w", err)
	}
	return tool(ctx, "convert", database, s.Schema)
}

func tool(ctx context.Context, arguments ...string) error {
	if out, err := exec.CommandContext(ctx, "ovsdb-tool", arguments...).CombinedOutput(); err != nil {
		return fmt.Errorf("ovsdb-tool %s: %w: %s", arguments[0], err, strings.TrimSpace(string(out)))
	}
	return nil
}

// keep runs a program inside a network namespace, and starts it again whenever it ends. It returns nil when the context ends.
func (s Switch) keep(ctx context.Context, namespace, name string, arguments ...string) error {
	var ends agent.Damper
	for ctx.Err() == nil {
		err := s.run(ctx, namespace, name, arguments)
		if ctx.Err() != nil {
			return nil
		}
		s.Log.Error("a process has ended and is started again", "process", name, "error", err)
		agent.Pause(ctx, ends.Next(time.Now()), nil)
	}
	return nil
}

func (s Switch) run(ctx context.Context, namespace, name string, arguments []string) error {
	cmd := exec.CommandContext(ctx, name, arguments...)
	cmd.Env = append(cmd.Environ(), "OVS_RUNDIR="+s.RunDir, "OVS_DBDIR="+s.DataDir)
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
	cmd.WaitDelay = endLimit
	output, err := cmd.StderrPipe()
	if err != nil {
		return fmt.Errorf("start %s: %w", name, err)
	}
	start := cmd.Start
	if namespace != "" {
		// A process gets the namespace of the thread that starts it.
		start = func() error { return ns.WithNetNSPath(namespace, func(ns.NetNS) error { return cmd.Start() }) }
	}
	if err := start(); err != nil {
		return fmt.Errorf("start %s: %w", name, err)
	}
	s.copyLog(name, output)
	return cmd.Wait()
}

// copyLog logs what a process writes, by its own levels, until it ends.
func (s Switch) copyLog(name string, output io.Reader) {
	lines := bufio.NewScanner(output)
	for lines.Scan() {
		level := slog.LevelDebug
		switch parts := strings.SplitN(lines.Text(), "|", 5); {
		case len(parts) == 5 && (parts[3] == "ERR" || parts[3] == "EMER"):
			level = slog.LevelError
		case len(parts) == 5 && parts[3] == "WARN":
			level = slog.LevelWarn
		}
		s.Log.Log(context.Background(), level, lines.Text(), "process", name)
	}
	_, _ = io.Copy(io.Discard, output) // a line that is too long must not block the process
}
