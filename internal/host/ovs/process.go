package ovs

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"golang.org/x/sync/errgroup"

	"github.com/cluster-network-operator/cno/internal/host/durable"
)

// Switch runs Open vSwitch on a node: a database server and ovs-vswitchd. RunDir, DataDir, Schema and Log must be set.
type Switch struct {
	// RunDir is the directory of sockets, DataDir that of the database.
	RunDir, DataDir string
	// Schema is the schema of the database; /usr/share/openvswitch/vswitch.ovsschema in images.
	Schema string
	// Namespace is the path of the network namespace of ovs-vswitchd; empty is the current one.
	Namespace string
	// Userspace is true if ovs-vswitchd must use neither the kernel's datapath nor its routes. Tunnels then need the route of Underlay.Connect.
	Userspace bool
	Log       *slog.Logger
}

// Socket is the socket of the database server.
func (s Switch) Socket() string { return filepath.Join(s.RunDir, "db.sock") }

// Control is the control socket of ovs-vswitchd.
func (s Switch) Control() Control { return Control(filepath.Join(s.RunDir, "ovs-vswitchd.ctl")) }

// Run runs the processes until the context ends, and restarts them with back-off. It starts the database server first. Bridges, ports and the addresses of
// interfaces survive the end of ovs-vswitchd. A database that was deleted or damaged is replaced by an empty one when its server starts.
func (s Switch) Run(ctx context.Context) error {
	if err := socketDirectory(s.RunDir); err != nil {
		return err
	}
	database := filepath.Join(s.DataDir, "conf.db")
	environment := []string{"OVS_RUNDIR=" + s.RunDir, "OVS_DBDIR=" + s.DataDir}
	server := Daemon{
		Name: "ovsdb-server", Environment: environment, Log: s.Log,
		Prepare:   func(ctx context.Context) error { return PrepareDatabase(ctx, database, s.Schema, s.Log) },
		Arguments: []string{database, "--remote=punix:" + s.Socket(), "--unixctl=" + filepath.Join(s.RunDir, "ovsdb-server.ctl")},
	}
	vswitchd := Daemon{
		Name: "ovs-vswitchd", Environment: environment, Log: s.Log, Namespace: s.Namespace,
		Arguments: []string{"unix:" + s.Socket(), "--unixctl=" + string(s.Control())},
	}
	if s.Userspace {
		// ovs-vswitchd rebuilds its copy of the kernel's routes whenever an interface of its namespace is added or removed, as for each pod, and drops
		// tunnel packets meanwhile. Underlay.Connect adds the only route instead.
		vswitchd.Arguments = append(vswitchd.Arguments, "--disable-system", "--disable-system-route")
	}
	group, ctx := errgroup.WithContext(ctx)
	group.Go(func() error { return server.Keep(ctx) })
	group.Go(func() error { return vswitchd.Keep(ctx) })
	return group.Wait()
}

// socketDirectory creates a directory for sockets that only its owner may use: their clients can change everything.
func socketDirectory(path string) error {
	if err := os.MkdirAll(path, 0o700); err != nil {
		return fmt.Errorf("create directory of sockets: %w", err)
	}
	// The kubelet creates directories of the host with mode 0755.
	if err := os.Chmod(path, 0o700); err != nil {
		return fmt.Errorf("restrict directory of sockets: %w", err)
	}
	return nil
}

// unreadableSuffix is appended to the name of a database file that ovsdb-tool cannot read.
const unreadableSuffix = ".unreadable"

// PrepareDatabase creates the file of a standalone database with a schema, and its directory, or converts an existing file to the schema. A file that is not
// a complete database, as after a power failure, is renamed, and a new one is created: the clients of the database restore its content. No server may be using
// the file.
func PrepareDatabase(ctx context.Context, database, schema string, log *slog.Logger) error {
	if err := os.MkdirAll(filepath.Dir(database), 0o755); err != nil {
		return fmt.Errorf("create directory of database: %w", err)
	}
	if _, err := os.Stat(database); errors.Is(err, fs.ErrNotExist) {
		return tool(ctx, "create", database, schema)
	} else if err != nil {
		return fmt.Errorf("read database: %w", err)
	}
	// A conversion that was interrupted leaves this file, and the next one refuses to overwrite it.
	if err := os.Remove(database + ".tmp"); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("remove the remains of a conversion: %w", err)
	}
	err := tool(ctx, "convert", database, schema)
	if err == nil || ctx.Err() != nil {
		return err
	}
	// The conversion also fails if the disk is full. A query reads the whole file, and writes nothing.
	unreadable := tool(ctx, "query", database, "[]")
	if unreadable == nil {
		return err
	}
	log.Error("replacing an unreadable database by an empty one", "file", database, "renamed", database+unreadableSuffix, "error", unreadable)
	if err := durable.Rename(database, database+unreadableSuffix); err != nil {
		return fmt.Errorf("set aside unreadable database: %w", err)
	}
	return tool(ctx, "create", database, schema)
}

func tool(ctx context.Context, arguments ...string) error {
	if out, err := exec.CommandContext(ctx, "ovsdb-tool", arguments...).CombinedOutput(); err != nil {
		return fmt.Errorf("ovsdb-tool %s %s: %w: %s", arguments[0], arguments[1], err, strings.TrimSpace(string(out)))
	}
	return nil
}
