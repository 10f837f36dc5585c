package node_test

import (
	"context"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/cluster-network-operator/cno/internal/host/ovs"
	"github.com/cluster-network-operator/cno/internal/testing/eventually"
	"github.com/cluster-network-operator/cno/internal/testing/netns"
	"github.com/cluster-network-operator/cno/internal/testing/nodetest"
	"github.com/cluster-network-operator/cno/providers/openshiftsdn/agentconfig"
)

// hostSwitch runs an Open vSwitch that is not the agent's until the test ends, with the bridge of another client. It returns the socket of its database.
func (m *machine) hostSwitch(t *testing.T) (database string) {
	t.Helper()
	s := ovs.Switch{RunDir: m.config.SwitchRunDir, DataDir: m.config.SwitchDataDir, Schema: "/usr/share/openvswitch/vswitch.ovsschema", Userspace: !kernelDatapath(t), Log: slog.New(slog.DiscardHandler)}
	datapath := "system"
	if s.Userspace {
		// Not PrepareNamespace: the thread that it ends may be the parent of another node's processes, which end with their parent.
		netns.Run(t, "ip", "netns", "add", m.config.SwitchNamespace)
		s.Namespace, datapath = "/run/netns/"+m.config.SwitchNamespace, "netdev"
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- s.Run(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Errorf("Open vSwitch ends with %v", err)
		}
	})
	database = "--db=unix:" + s.Socket()
	eventually.Holds(t, "the Open vSwitch of the host has a bridge", func() (string, bool) {
		out, err := m.at.Try("ovs-vsctl", database, "--timeout=5", "--may-exist", "add-br", "foreign", "--", "set", "bridge", "foreign", "datapath_type="+datapath)
		return out, err == nil
	})
	netns.Run(t, "ovs-ofctl", "add-flow", m.management("foreign"), "table=7,priority=77,actions=drop")
	return database
}

// management is the address of a bridge for ovs-ofctl.
func (m *machine) management(bridge string) string {
	return "unix:" + filepath.Join(m.config.SwitchRunDir, bridge+".mgmt")
}

// TestOpenVSwitchOfTheHost: the agent uses an Open vSwitch that it does not run, and leaves it and the bridge of another client as they are, also when the network
// is removed.
func TestOpenVSwitchOfTheHost(t *testing.T) {
	c := newCluster(t, agentconfig.NetworkPolicy)
	c.namespace("one", 10)
	host, other := c.stopped(), c.node()
	host.config.ExternalSwitch = true
	host.write()
	database := host.hostSwitch(t)
	host.startAgent()
	host.ready()
	other.ready()
	unchanged := func(when string) {
		t.Helper()
		if out := netns.Run(t, "ovs-ofctl", "dump-flows", host.management("foreign")); !strings.Contains(out, "priority=77") || strings.Count(out, "priority=") > 2 {
			t.Errorf("%s the bridge of another client has the flows\n%s", when, out)
		}
	}
	process := host.vswitchd()
	near, next, far := host.pod("one", "near", nil), host.pod("one", "next", nil), other.pod("one", "far", nil)
	for _, to := range []*pod{next, far} {
		nodetest.Reaches(t, near.Namespace, to.address, podMTU)
		nodetest.Reaches(t, to.Namespace, near.address, podMTU)
	}
	nodetest.Reaches(t, host.at, far.address, podMTU)
	if err := near.check(); err != nil {
		t.Errorf("CHECK: %v", err)
	}
	if err := next.del(); err != nil {
		t.Errorf("DEL: %v", err)
	}
	unchanged("while pods run")

	host.agent.Stop(t)
	nodetest.Reaches(t, far.Namespace, near.address, podMTU) // without the agent
	host.at.Run(program, "cleanup", "--config", host.file)
	unchanged("after the removal of the network")
	if now := host.vswitchd(); now != process {
		t.Errorf("ovs-vswitchd was process %s, and is %q after the removal", process, now)
	}
	if out := netns.Run(t, "ovs-vsctl", database, "list-br"); strings.TrimSpace(out) != "foreign" {
		t.Errorf("bridges are left:\n%s", out)
	}
	links := host.at.Run("ip", "-br", "link")
	if !kernelDatapath(t) {
		links += netns.Run(t, "ip", "-netns", host.config.SwitchNamespace, "-br", "link")
	}
	for _, left := range []string{"sdnp", "tun0", "ovs-underlay"} {
		if strings.Contains(links, left) {
			t.Errorf("interfaces %s are left:\n%s", left, links)
		}
	}
	if out := host.at.Run("nft", "list", "tables"); strings.Contains(out, "openshift-sdn") || strings.Contains(out, "cno-ovs") {
		t.Errorf("rules are left:\n%s", out)
	}
	for _, left := range []string{filepath.Join(host.config.CNI.ConfDir, agentconfig.ConfigurationList), filepath.Join(host.config.AddressDir, agentconfig.Plugin)} {
		if _, err := os.Stat(left); !os.IsNotExist(err) {
			t.Errorf("%s is left: %v", left, err)
		}
	}
}
