package node_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/cluster-network-operator/cno/providers/flannel/agentconfig"
)

// The table is OKD's, with two differences. It gives each node itself as its default gateway, which the kernel
// refuses (the gateway is the segment's here), and it leaves out the route of the nodes' own link, without which
// there would be no way to the other node.
func TestRoutesOfTwoNodesMatchTheDocumentation(t *testing.T) {
	seg := newSegment(t)
	one, two := seg.node("node1", "192.168.0.100"), seg.node("node2", "192.168.0.200")
	seg.reserve("node1", "10.1.15.0/24")
	seg.reserve("node2", "10.1.20.0/24")
	for _, m := range []*machine{one, two} {
		m.config.CNI.Bridge = "docker0"
		m.ready()
	}
	pod1, _ := one.pod("docker0")
	_, addr2 := two.pod("docker0")

	for m, want := range map[*machine][]string{
		one: {
			"default via 192.168.0.1 dev eth0 proto static metric 100",
			"10.1.15.0/24 dev docker0 proto kernel scope link src 10.1.15.1",
			"10.1.20.0/24 via 192.168.0.200 dev eth0",
			"192.168.0.0/24 dev eth0 proto kernel scope link src 192.168.0.100",
		},
		two: {
			"default via 192.168.0.1 dev eth0 proto static metric 100",
			"10.1.15.0/24 via 192.168.0.100 dev eth0",
			"10.1.20.0/24 dev docker0 proto kernel scope link src 10.1.20.1",
			"192.168.0.0/24 dev eth0 proto kernel scope link src 192.168.0.200",
		},
	} {
		m.until("the routes are those of the document", func() (string, bool) {
			diff := cmp.Diff(want, m.routes())
			return diff, diff == ""
		})
	}
	// Two hops and no tunnel.
	if out := pings(t, pod1, addr2); !strings.Contains(out, "ttl=62") {
		t.Errorf("the answer does not come straight:\n%s", out)
	}
}

func TestPeerRouteIsAddedAndRemovedWithThePeer(t *testing.T) {
	seg := newSegment(t)
	m := seg.node("node1", "192.168.0.100")
	m.ready()
	seg.put(prefix+"/subnets/10.1.77.0-24", `{"PublicIP":"192.168.0.77","PublicIPv6":null,"BackendType":"host-gw"}`)
	m.hasRoute("10.1.77.0/24 via 192.168.0.77 dev eth0", true)
	seg.put(prefix+"/subnets/10.1.77.0-24", `{"PublicIP":"192.168.0.78","PublicIPv6":null,"BackendType":"host-gw"}`)
	m.hasRoute("10.1.77.0/24 via 192.168.0.78 dev eth0", true)
	seg.remove(prefix + "/subnets/10.1.77.0-24")
	m.hasRoute("10.1.77.0/24 via 192.168.0.78 dev eth0", false)
}

// TestDeletedRouteIsRestoredAtOnce: the kernel reports each change.
func TestDeletedRouteIsRestoredAtOnce(t *testing.T) {
	seg := newSegment(t)
	one, two := seg.node("node1", "192.168.0.100"), seg.node("node2", "192.168.0.200")
	one.ready()
	two.ready()
	one.hasRoute(to(two), true)
	for _, row := range []struct {
		why      string
		commands [][]string
	}{
		{"the route is deleted", [][]string{{"ip", "route", "del", two.subnet().String()}}},
		{"all routes of an interface are removed with it, without an event for each", [][]string{{"ip", "link", "set", "eth0", "down"}, {"ip", "link", "set", "eth0", "up"}}},
		{"a third party changes the next hop", [][]string{{"ip", "route", "replace", two.subnet().String(), "via", "192.168.0.55"}}},
	} {
		one.restoresAtOnce(row.why, func() {
			for _, c := range row.commands {
				one.netns.Run(c...)
			}
		}, func() { one.hasRoute(to(two), true) })
	}
}

func TestRoutesOfNodesDeletedWhileTheAgentWasDownAreRemoved(t *testing.T) {
	seg := newSegment(t)
	m := seg.node("node1", "192.168.0.100")
	seg.put(prefix+"/subnets/10.1.77.0-24", `{"PublicIP":"192.168.0.77","PublicIPv6":null,"BackendType":"host-gw"}`)
	m.ready()
	gone := "10.1.77.0/24 via 192.168.0.77 dev eth0"
	m.hasRoute(gone, true)
	m.stop()
	m.hasRoute(gone, true) // the end of the program removes nothing
	seg.remove(prefix + "/subnets/10.1.77.0-24")
	// An administrator's route into the network is no one's business but theirs.
	own := "10.1.88.0/24 via 192.168.0.88 dev eth0 proto static"
	m.netns.Run("ip", "route", "add", "10.1.88.0/24", "via", "192.168.0.88", "proto", "static")
	m.ready()
	m.hasRoute(gone, false)
	m.hasRoute(own, true)
}

func TestAPeerOnAnotherLinkIsReportedByName(t *testing.T) {
	seg := newSegment(t)
	near := seg.node("node1", "192.168.0.100")
	seg.bridge("sw1", "192.168.1.1/24")
	far := seg.machine("node3", "192.168.1.7")
	far.plug("sw1", "192.168.1.7/24", "192.168.1.1")
	near.ready()
	far.ready()
	for m, other := range map[*machine]*machine{near: far, far: near} {
		status := m.reports("the peer", func(s agentconfig.AgentStatus) bool { return len(s.OffLink) > 0 })
		want := other.name + " (address " + other.address + ", subnet " + other.subnet().String() + ")"
		if got := status.OffLink[0].String(); got != want || len(status.OffLink) != 1 {
			t.Errorf("%s reports %s (%d peers), want %s", m.name, got, len(status.OffLink), want)
		}
	}
	// It moves over to the first link.
	far.kill()
	seg.netns.Run("ip", "link", "set", far.name, "master", "sw0")
	far.netns.Run("ip", "address", "flush", "dev", "eth0")
	far.netns.Run("ip", "address", "add", "192.168.0.7/24", "dev", "eth0")
	far.netns.Run("ip", "route", "add", "default", "via", gateway)
	far.address = "192.168.0.7"
	far.ready()
	near.hasRoute(to(far), true)
	near.reports("no peer any more", func(s agentconfig.AgentStatus) bool { return len(s.OffLink) == 0 })
}

func TestOnlyOwnFilesAreWritten(t *testing.T) {
	seg := newSegment(t)
	seg.reserve("node1", "10.1.15.0/24")
	m := seg.node("node1", "192.168.0.100")
	if err := os.MkdirAll(m.config.CNI.ConfDir, 0o755); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"00-other.conf", "99-other.conflist", "README"} {
		if err := os.WriteFile(filepath.Join(m.config.CNI.ConfDir, name), []byte("other"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	m.ready()
	m.reports("the file that comes first", func(s agentconfig.AgentStatus) bool {
		return cmp.Equal(s.ConflictingCNI, []string{"00-other.conf"})
	})
	env, err := os.ReadFile(m.config.SubnetFile)
	if err != nil {
		t.Fatal(err)
	}
	const want = "FLANNEL_NETWORK=10.1.0.0/16\nFLANNEL_SUBNET=10.1.15.1/24\nFLANNEL_MTU=1500\nFLANNEL_IPMASQ=true\n"
	if diff := cmp.Diff(want, string(env)); diff != "" {
		t.Errorf("subnet.env (-want +got):\n%s", diff)
	}
	entries, err := os.ReadDir(m.config.CNI.ConfDir)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, e := range entries {
		names = append(names, e.Name())
	}
	if diff := cmp.Diff([]string{"00-other.conf", "10-flannel.conflist", "99-other.conflist", "README"}, names); diff != "" {
		t.Errorf("directory of configurations (-want +got):\n%s", diff)
	}
}
