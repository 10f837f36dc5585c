package daemon

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/cluster-network-operator/cno/internal/host/ovs"
	"github.com/cluster-network-operator/cno/providers/ovnkubernetes/agentconfig"
	"github.com/cluster-network-operator/cno/providers/ovnkubernetes/config"
)

// switchSchema is the path of the database schema of Open vSwitch in the image.
const switchSchema = "/usr/share/openvswitch/vswitch.ovsschema"

// Switch runs ovsdb-server and ovs-vswitchd. With the userspace datapath, ovs-vswitchd runs in its own network namespace. The namespace, bridges and ports
// stay when the context ends.
func Switch(ctx context.Context, c config.Config, log *slog.Logger) error {
	d := c.Directories
	s := ovs.Switch{RunDir: d.SwitchRun, DataDir: d.SwitchData, Schema: switchSchema, Log: log}
	underlay, userspace, err := Underlay(c)
	if err != nil {
		return err
	}
	if userspace {
		log.Info("Open vSwitch uses its userspace datapath", "namespace", underlay.Namespace)
		s.Userspace, s.Namespace = true, underlay.Path()
		if err := wait(ctx, log, "the underlay of Open vSwitch", func(ctx context.Context) error {
			if underlay.MTU, err = ovs.MTUOf(c.TunnelAddress); err != nil {
				return err
			}
			return underlay.Prepare(ctx)
		}); err != nil {
			return err
		}
	}
	return s.Run(ctx)
}

// North runs the server of the northbound database, which only processes of the node use. It first creates the database, or converts it to the schema of the
// image.
func North(ctx context.Context, c config.Config, log *slog.Logger) error {
	return database(ctx, c, c.Directories.NorthDatabase(), log)
}

// South runs the server of the southbound database in the same way. Masters add the address for nodes, with TLS unless nodes use tcp endpoints.
func South(ctx context.Context, c config.Config, log *slog.Logger) error {
	if err := waitForTLS(ctx, c, log); err != nil {
		return err
	}
	return database(ctx, c, c.Directories.SouthDatabase(), log, tls(c)...)
}

func database(ctx context.Context, c config.Config, d config.Database, log *slog.Logger, more ...string) error {
	if err := os.MkdirAll(c.Directories.Run, 0o755); err != nil {
		return fmt.Errorf("create directory of sockets: %w", err)
	}
	if err := ovs.PrepareDatabase(ctx, d.File, d.Schema, log); err != nil {
		return err
	}
	return ovs.Daemon{
		Name: "ovsdb-server", Log: log, Environment: environment(c),
		Arguments: append([]string{d.File, "--remote=punix:" + d.Socket, "--unixctl=" + d.Control}, more...),
	}.Run(ctx)
}

// Northd runs ovn-northd between the two databases of this node.
func Northd(ctx context.Context, c config.Config, log *slog.Logger) error {
	north, south := c.Directories.NorthDatabase(), c.Directories.SouthDatabase()
	for _, database := range []config.Database{north, south} {
		if err := wait(ctx, log, "the server of "+database.Name, listening(database.Socket)); err != nil {
			return err
		}
	}
	return ovs.Daemon{
		Name: "ovn-northd", Log: log, Environment: environment(c),
		Arguments: []string{"--ovnnb-db=unix:" + north.Socket, "--ovnsb-db=unix:" + south.Socket, "--unixctl=" + c.Directories.NorthdControl()},
	}.Run(ctx)
}

// Controller runs ovn-controller. It reads its configuration from Open vSwitch's database, where the node's agent writes it. When the context ends, the node's
// flows and its row in the southbound database stay, so that pods keep their network.
func Controller(ctx context.Context, c config.Config, log *slog.Logger) error {
	if err := os.MkdirAll(c.Directories.Run, 0o755); err != nil {
		return fmt.Errorf("create directory of sockets: %w", err)
	}
	// Without its configuration ovn-controller 23.03 crashes with a segmentation fault.
	if err := wait(ctx, log, "the node's agent to configure ovn-controller", configured(c.Directories.SwitchSocket())); err != nil {
		return err
	}
	if err := waitForTLS(ctx, c, log); err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(c.Directories.AuditLog), 0o755); err != nil {
		return fmt.Errorf("create directory of audit messages: %w", err)
	}
	for ctx.Err() == nil {
		audit, err := Audit(c)
		if err != nil {
			log.Warn("audit messages are written by the defaults", "error", err)
		}
		if err := controller(ctx, c, audit, log); err != nil {
			return err
		}
	}
	return nil
}

// controller runs ovn-controller until the context ends or the settings of audit messages require a restart.
func controller(ctx context.Context, c config.Config, audit agentconfig.Audit, log *slog.Logger) error {
	ctx, cancel := context.WithCancel(ctx)
	var watching sync.WaitGroup
	defer func() { cancel(); watching.Wait() }()
	watching.Go(func() {
		defer cancel()
		watchAudit(ctx, c, audit, log)
	})
	control := c.Directories.ControllerControl()
	return ovs.Daemon{
		Name: "ovn-controller", Log: log, Environment: environment(c),
		Arguments: slices.Concat([]string{"unix:" + c.Directories.SwitchSocket()}, auditArguments(c, audit), tls(c)),
		Started:   func(pid int) error { return linkControl(control, pid) },
		End: func(ctx context.Context) error {
			_, err := ovs.Control(control).Call(ctx, "exit", "--restart")
			return err
		},
	}.Run(ctx)
}

// linkControl creates a link with a fixed name to the control socket of ovn-controller, whose name has the process ID, and removes the sockets of earlier
// processes.
func linkControl(fixed string, pid int) error {
	name := strings.TrimSuffix(fixed, ".ctl")
	target := fmt.Sprintf("%s.%d.ctl", name, pid)
	old, err := filepath.Glob(name + ".*.ctl")
	if err != nil {
		return fmt.Errorf("find control sockets: %w", err)
	}
	for _, o := range append(old, fixed) {
		if o == target {
			continue
		}
		if err := os.Remove(o); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("remove control socket of an earlier process: %w", err)
		}
	}
	if err := os.Symlink(filepath.Base(target), fixed); err != nil {
		return fmt.Errorf("link control socket: %w", err)
	}
	return nil
}

// waitForTLS waits for the TLS files if nodes use an ssl endpoint. The processes reload renewed files themselves.
func waitForTLS(ctx context.Context, c config.Config, log *slog.Logger) error {
	if !c.UsesTLS() {
		return nil
	}
	return wait(ctx, log, "the certificate", present(c.PrivateKey, c.Certificate, c.CA))
}

func tls(c config.Config) []string {
	if !c.UsesTLS() {
		return nil
	}
	return []string{"--private-key=" + c.PrivateKey, "--certificate=" + c.Certificate, "--ca-cert=" + c.CA}
}

// environment returns the environment in which ovn-controller finds the control socket of ovs-vswitchd's bridges, and all processes store other files next to
// the sockets.
func environment(c config.Config) []string {
	return []string{"OVS_RUNDIR=" + c.Directories.SwitchRun, "OVN_RUNDIR=" + c.Directories.Run, "OVN_DBDIR=" + c.Directories.Data}
}
