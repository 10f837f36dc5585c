// Package ovntest runs OVN's databases and ovn-northd for tests, as on a control-plane node. It is for test code only.
package ovntest

import (
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/cluster-network-operator/cno/internal/testing/eventually"
)

// Central has a northbound and a southbound database with ovn-northd between them. Its processes end with the test.
type Central struct {
	tb  testing.TB
	dir string

	northbound, southbound, northd *exec.Cmd
}

// Start starts all processes with empty databases.
func Start(tb testing.TB) *Central {
	tb.Helper()
	dir, err := os.MkdirTemp("", "ovn") //nolint:usetesting // paths of sockets are limited to 107 characters
	if err != nil {
		tb.Fatal(err)
	}
	c := &Central{tb: tb, dir: dir}
	tb.Cleanup(func() {
		for _, p := range []*exec.Cmd{c.northd, c.southbound, c.northbound} {
			kill(p)
		}
		if err := os.RemoveAll(dir); err != nil {
			tb.Error(err)
		}
	})
	c.create("nb")
	c.create("sb")
	c.StartNorthbound()
	c.StartSouthbound()
	c.StartNorthd()
	return c
}

// NorthboundSocket returns the socket of the northbound database.
func (c *Central) NorthboundSocket() string { return c.path("ovnnb_db.sock") }

// SouthboundSocket returns the socket of the southbound database.
func (c *Central) SouthboundSocket() string { return c.path("ovnsb_db.sock") }

// SouthboundControl returns the control socket of the southbound database's server.
func (c *Central) SouthboundControl() string { return c.path("ovnsb_db.ctl") }

func (c *Central) path(name string) string { return filepath.Join(c.dir, name) }

// create creates an empty database, and replaces an existing one.
func (c *Central) create(name string) {
	c.tb.Helper()
	file := c.path("ovn" + name + "_db.db")
	if err := os.RemoveAll(file); err != nil {
		c.tb.Fatal(err)
	}
	if out, err := exec.Command("ovsdb-tool", "create", file, "/usr/share/ovn/ovn-"+name+".ovsschema").CombinedOutput(); err != nil {
		c.tb.Fatalf("create a database (needs the package ovn-central): %v: %s", err, out)
	}
}

// StartNorthbound starts the server of the northbound database.
func (c *Central) StartNorthbound() { c.tb.Helper(); c.northbound = c.server("nb") }

// StartSouthbound starts the server of the southbound database.
func (c *Central) StartSouthbound() { c.tb.Helper(); c.southbound = c.server("sb") }

// StartNorthd starts ovn-northd.
func (c *Central) StartNorthd() {
	c.tb.Helper()
	c.northd = c.start("ovn-northd", "--ovnnb-db=unix:"+c.NorthboundSocket(), "--ovnsb-db=unix:"+c.SouthboundSocket(),
		"--unixctl="+c.path("northd.ctl"), "--log-file="+c.path("northd.log"))
}

// LoseNorthbound kills the server of the northbound database, and starts one with an empty database.
func (c *Central) LoseNorthbound() {
	c.tb.Helper()
	kill(c.northbound)
	c.create("nb")
	c.StartNorthbound()
}

// LoseSouthbound does the same with the southbound database.
func (c *Central) LoseSouthbound() {
	c.tb.Helper()
	kill(c.southbound)
	c.create("sb")
	c.StartSouthbound()
}

// StopNorthd kills ovn-northd.
func (c *Central) StopNorthd() { kill(c.northd) }

func (c *Central) server(name string) *exec.Cmd {
	c.tb.Helper()
	socket := c.path("ovn" + name + "_db.sock")
	cmd := c.start("ovsdb-server", c.path("ovn"+name+"_db.db"), "--remote=punix:"+socket, "--unixctl="+c.path("ovn"+name+"_db.ctl"),
		"--log-file="+c.path(name+".log"))
	eventually.Holds(c.tb, "ovsdb-server accepts connections", func() (string, bool) {
		conn, err := net.Dial("unix", socket)
		if err != nil {
			return err.Error(), false
		}
		return "", conn.Close() == nil
	})
	return cmd
}

func (c *Central) start(program string, arguments ...string) *exec.Cmd {
	c.tb.Helper()
	cmd := exec.Command(program, arguments...)
	cmd.Env = append(os.Environ(), "OVN_RUNDIR="+c.dir, "OVS_RUNDIR="+c.dir)
	if err := cmd.Start(); err != nil {
		c.tb.Fatalf("start %s: %v", program, err)
	}
	return cmd
}

func kill(cmd *exec.Cmd) {
	if cmd != nil && cmd.ProcessState == nil {
		_ = cmd.Process.Kill()
		_ = cmd.Wait() // it was killed
	}
}

// Northbound runs ovn-nbctl and returns its output.
func (c *Central) Northbound(arguments ...string) string {
	c.tb.Helper()
	return c.run("ovn-nbctl", append([]string{"--db=unix:" + c.NorthboundSocket()}, arguments...)...)
}

// Southbound runs ovn-sbctl and returns its output.
func (c *Central) Southbound(arguments ...string) string {
	c.tb.Helper()
	return c.run("ovn-sbctl", append([]string{"--db=unix:" + c.SouthboundSocket()}, arguments...)...)
}

// Realize waits until the southbound database is up to date with the northbound one.
func (c *Central) Realize() {
	c.tb.Helper()
	c.Northbound("--timeout=60", "--wait=sb", "sync")
}

// Trace traces a packet through the logical network, and returns the ports through which it leaves, and the full output.
func (c *Central) Trace(arguments ...string) (outputs []string, full string) {
	c.tb.Helper()
	full = c.run("ovn-trace", append([]string{"--db=unix:" + c.SouthboundSocket(), "--minimal"}, arguments...)...)
	for line := range strings.Lines(full) {
		if name, found := strings.CutPrefix(strings.TrimSpace(line), `output("`); found {
			outputs = append(outputs, strings.TrimSuffix(name, `");`))
		}
	}
	return outputs, full
}

func (c *Central) run(program string, arguments ...string) string {
	c.tb.Helper()
	out, err := exec.Command(program, arguments...).CombinedOutput()
	if err != nil {
		c.tb.Fatalf("%s %v: %v: %s", program, arguments, err, out)
	}
	return string(out)
}
