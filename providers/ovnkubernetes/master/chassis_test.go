package master_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/cluster-network-operator/cno/internal/apitest"
	"github.com/cluster-network-operator/cno/internal/testing/eventually"
)

// TestNodesTakeOverTheirChassis runs an ovn-controller, without ovs-vswitchd: it adopts the chassis that the master has made for its node,
// and has a tunnel to another node that has not connected yet.
func TestNodesTakeOverTheirChassis(t *testing.T) {
	w := newWorld(t, apitest.Shared(t), "chassis")
	w.node("chassis1", "192.0.2.33")
	w.node("chassis2", "192.0.2.34")
	w.waitOpen(true)
	chassis := func() string {
		return w.Southbound("--bare", "--columns=_uuid,encaps", "find", "Chassis", "name=chassis1")
	}
	eventually.Holds(t, "both nodes have a chassis", func() (string, bool) {
		have := w.Southbound("--bare", "--columns=name", "list", "Chassis")
		return have, strings.Contains(have, "chassis1") && strings.Contains(have, "chassis2")
	})
	before := chassis()

	dir, err := os.MkdirTemp("", "ovn") //nolint:usetesting // paths of sockets have 107 characters at most
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	run := func(program string, arguments ...string) string {
		t.Helper()
		out, err := exec.Command(program, arguments...).CombinedOutput()
		if err != nil {
			t.Fatalf("%s %v: %v: %s", program, arguments, err, out)
		}
		return string(out)
	}
	start := func(program string, arguments ...string) {
		t.Helper()
		cmd := exec.Command(program, arguments...)
		cmd.Env = append(os.Environ(), "OVN_RUNDIR="+dir, "OVS_RUNDIR="+dir, "OVN_LOGDIR="+dir, "OVS_LOGDIR="+dir)
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() })
	}
	file, socket := filepath.Join(dir, "conf.db"), "unix:"+filepath.Join(dir, "db.sock")
	run("ovsdb-tool", "create", file, "/usr/share/openvswitch/vswitch.ovsschema")
	start("ovsdb-server", file, "--remote=p"+socket, "--unixctl="+filepath.Join(dir, "ctl"))
	run("ovs-vsctl", "--no-wait", "--retry", "--timeout=60", "--db="+socket, "init")
	run("ovs-vsctl", "--no-wait", "--db="+socket, "set", "Open_vSwitch", ".", "external_ids:system-id=chassis1", "external_ids:hostname=chassis1",
		fmt.Sprintf("external_ids:ovn-remote=tcp:127.0.0.1:%d", w.config.SouthboundPort), "external_ids:ovn-encap-type=geneve",
		"external_ids:ovn-encap-ip=192.0.2.33", "external_ids:ovn-bridge-datapath-type=netdev")
	start("ovn-controller", socket)
	eventually.Holds(t, "ovn-controller has registered its node", func() (string, bool) {
		have := w.Southbound("--bare", "--columns=name", "list", "Chassis_Private")
		return have, strings.Contains(have, "chassis1")
	})
	eventually.Holds(t, "the node has a tunnel to the other one", func() (string, bool) {
		have := run("ovs-vsctl", "--db="+socket, "--bare", "--columns=options", "list", "Interface")
		return have, strings.Contains(have, "remote_ip=192.0.2.34")
	})
	if after := chassis(); after != before {
		t.Errorf("the chassis was %s and is %s", before, after)
	}
	// The connection is of the database, with the probe that large clusters need.
	if have := w.Southbound("--bare", "--columns=inactivity_probe", "list", "Connection"); strings.TrimSpace(have) != "60000" {
		t.Errorf("connections are probed every %q ms", have)
	}
}

func TestSouthboundDatabaseIsReopenedAfterARestart(t *testing.T) {
	w := newWorld(t, apitest.Shared(t), "restart")
	w.node("restart", "192.0.2.49")
	w.waitOpen(true)
	w.LoseSouthbound()
	if w.open() {
		t.Error("a server that has just started is open to nodes")
	}
	w.waitOpen(true)
	if have := w.Southbound("--bare", "--columns=chassis", "find", "Port_Binding", "logical_port=k8s-restart"); strings.TrimSpace(have) == "" {
		t.Error("the database is open while the port of the node is bound to no chassis")
	}
	if have := w.Southbound("--bare", "--columns=name", "list", "Chassis"); !strings.Contains(have, "restart") {
		t.Errorf("the database is open without the chassis of the node: %q", have)
	}
	if have := w.Southbound("--bare", "--columns=external_ids", "list", "Datapath_Binding"); !strings.Contains(have, "name=restart") {
		t.Errorf("the database is open without the switch of the node: %q", have)
	}
}
