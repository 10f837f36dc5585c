package ovsdb

import (
	"encoding/json"
	"net"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/cluster-network-operator/cno/internal/testing/eventually"
)

// realServer is a process of ovsdb-server that can be killed and started again.
type realServer struct {
	t                 testing.TB
	dir, file, socket string
	more              []string // arguments
	cmd               *exec.Cmd
}

// server starts a real ovsdb-server with Open vSwitch's schema and returns its socket.
func server(t testing.TB) string {
	t.Helper()
	s := standalone(t, "/usr/share/openvswitch/vswitch.ovsschema")
	s.start()
	return s.socket
}

// standalone makes a database with a schema; its server is not started.
func standalone(t testing.TB, schema string) *realServer {
	t.Helper()
	s := realDatabase(t)
	s.tool("create", s.file, schema)
	return s
}

// clustered makes the first member of a cluster, which keeps a history of transactions.
func clustered(t testing.TB, schema string) *realServer {
	t.Helper()
	s := realDatabase(t)
	s.tool("create-cluster", s.file, schema, "unix:"+filepath.Join(s.dir, "raft"))
	return s
}

func realDatabase(t testing.TB) *realServer {
	dir := t.TempDir()
	s := &realServer{t: t, dir: dir, file: filepath.Join(dir, "conf.db"), socket: filepath.Join(dir, "db.sock")}
	t.Cleanup(s.kill)
	return s
}

func (s *realServer) tool(arguments ...string) {
	s.t.Helper()
	if out, err := exec.Command("ovsdb-tool", arguments...).CombinedOutput(); err != nil {
		s.t.Fatalf("make a database (needs the package openvswitch-switch): %v: %s", err, out)
	}
}

// kill ends the server with SIGKILL.
func (s *realServer) kill() {
	if s.cmd != nil {
		_ = s.cmd.Process.Kill()
		_ = s.cmd.Wait()
		s.cmd = nil
	}
}

// start starts the server and waits until it accepts connections.
func (s *realServer) start() {
	s.t.Helper()
	arguments := append([]string{s.file, "--remote=punix:" + s.socket, "--unixctl=" + filepath.Join(s.dir, "ctl"),
		"--log-file=" + filepath.Join(s.dir, "log")}, s.more...)
	s.cmd = exec.Command("ovsdb-server", arguments...)
	if err := s.cmd.Start(); err != nil {
		s.t.Fatal(err)
	}
	eventually.Is(s.t, "ovsdb-server accepts connections", func() bool {
		conn, err := net.Dial("unix", s.socket)
		if err == nil {
			_ = conn.Close()
		}
		return err == nil
	})
}

// rowOf returns a row as the server would send it.
func rowOf(t testing.TB, columns map[string]any) Row {
	t.Helper()
	row := Row{}
	for name, value := range columns {
		data, err := json.Marshal(value)
		if err != nil {
			t.Fatal(err)
		}
		row[name] = data
	}
	return row
}
