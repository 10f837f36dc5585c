package node_test

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"testing"

	"github.com/cluster-network-operator/cno/internal/testing/netns"
	"github.com/cluster-network-operator/cno/providers/flannel/agentconfig"
)

// vxlanPair is two nodes on different links, which only vxlan gets together.
func vxlanPair(t *testing.T) (one, two *machine) {
	t.Helper()
	seg := newSegment(t)
	seg.bridge("sw1", "192.168.1.1/24")
	one, two = seg.node("node1", "192.168.0.100"), seg.machine("node2", "192.168.1.200")
	two.plug("sw1", "192.168.1.200/24", "192.168.1.1")
	for _, m := range []*machine{one, two} {
		m.config.Backend = agentconfig.Backend{Type: agentconfig.BackendVXLAN, VNI: 7, Port: 4789}
		m.ready()
	}
	return one, two
}

func through(m *machine) string {
	return fmt.Sprintf("%s via %s dev flannel.7 onlink", m.subnet(), m.subnet().Addr())
}

func TestVXLANJoinsNodesOnDifferentLinks(t *testing.T) {
	one, two := vxlanPair(t)
	one.hasRoute(through(two), true)
	two.hasRoute(through(one), true)
	pod1, _ := one.pod("cni0")
	_, addr2 := two.pod("cni0")
	pings(t, pod1, addr2)
	status := one.reports("its MTU", func(s agentconfig.AgentStatus) bool { return s.Ready })
	if status.MTU != 1450 || len(status.OffLink) != 0 {
		t.Errorf("the report is %+v", status)
	}
	// A whole packet fits, one byte more does not.
	whole := fmt.Sprint(1450 - 28)
	pod1.Run("ip", "link", "set", "eth0", "mtu", "1450")
	pod1.Run("ping", "-n", "-c", "1", "-W", "2", "-M", "do", "-s", whole, addr2.String())
}

func TestVXLANDeviceAndNeighboursAreRepaired(t *testing.T) {
	one, two := vxlanPair(t)
	pod1, _ := one.pod("cni0")
	_, addr2 := two.pod("cni0")
	pings(t, pod1, addr2)
	mac := linkAddress(one.netns, "flannel.7")
	one.restoresAtOnce("the device is deleted", func() { one.netns.Run("ip", "link", "del", "flannel.7") }, func() { one.hasRoute(through(two), true) })
	pings(t, pod1, addr2)
	one.alive()
	if now := linkAddress(one.netns, "flannel.7"); now != mac {
		t.Errorf("the device had the address %s and has %s: all peers must learn it", mac, now)
	}

	// The node starts again: the kernel has lost everything, the disk has the MAC address.
	one.stop()
	one.netns.Run("ip", "link", "del", "flannel.7")
	one.ready()
	if now := linkAddress(one.netns, "flannel.7"); now != mac {
		t.Errorf("after a restart the device has the address %s, it was %s", now, mac)
	}
	pings(t, pod1, addr2)

	two.kill()
	key := agentconfig.SubnetKey(prefix, two.subnet(), netip.Prefix{})
	two.seg.remove(key)
	one.until("nothing of the peer is left", func() (string, bool) {
		out := one.netns.Run("ip", "neigh", "show", "dev", "flannel.7") + one.netns.Run("bridge", "fdb", "show", "dev", "flannel.7") + one.netns.Run("ip", "route")
		return out, !strings.Contains(out, two.subnet().Addr().String()+" ") && !strings.Contains(out, two.address)
	})
}

func TestTunnelsOfEarlierSettingsAreRemoved(t *testing.T) {
	seg := newSegment(t)
	one, two := seg.node("node1", "192.168.0.100"), seg.node("node2", "192.168.0.200")
	one.netns.Run("ip", "link", "add", "others.9", "type", "vxlan", "id", "9", "dev", "eth0", "dstport", "4790")
	var pod netns.Namespace
	var addr netip.Addr
	for _, step := range []struct {
		reason string
		to     agentconfig.Backend
		want   string
	}{
		{"the first settings", agentconfig.Backend{Type: agentconfig.BackendVXLAN, VNI: 7, Port: 4789}, "flannel.7 others.9"},
		{"another identifier", agentconfig.Backend{Type: agentconfig.BackendVXLAN, VNI: 8, Port: 4789}, "flannel.8 others.9"},
		{"no tunnels any more", agentconfig.Backend{Type: agentconfig.BackendHostGW}, "others.9"},
		{"tunnels again", agentconfig.Backend{Type: agentconfig.BackendVXLAN, VNI: 7, Port: 4789}, "flannel.7 others.9"},
	} {
		for _, m := range []*machine{one, two} {
			if m.cmd != nil {
				m.stop()
			}
			m.config.Backend = step.to
			m.ready()
		}
		one.until("tunnels with "+step.reason, func() (string, bool) {
			out := one.netns.Run("ip", "-br", "link", "show", "type", "vxlan")
			var names []string
			for line := range strings.Lines(out) {
				names = append(names, strings.Fields(line)[0])
			}
			slices.Sort(names)
			return out, strings.Join(names, " ") == step.want
		})
		if addr == (netip.Addr{}) {
			pod, _ = one.pod("cni0")
			_, addr = two.pod("cni0")
		}
		pings(t, pod, addr)
	}
}

func linkAddress(in netns.Namespace, name string) string {
	for _, field := range strings.Fields(in.Run("ip", "-br", "link", "show", "dev", name)) {
		if strings.Count(field, ":") == 5 {
			return field
		}
	}
	return ""
}

func TestPeersOfAnotherBackendAreReported(t *testing.T) {
	seg := newSegment(t)
	m := seg.node("node1", "192.168.0.100")
	m.ready()
	seg.put(prefix+"/subnets/10.1.77.0-24", `{"PublicIP":"192.168.0.77","PublicIPv6":null,"BackendType":"vxlan","BackendData":{"VNI":1,"VtepMAC":"02:00:00:00:00:01"}}`)
	m.reports("the peer", func(s agentconfig.AgentStatus) bool {
		return len(s.ForeignBackend) == 1 && s.ForeignBackend[0].PublicIP.String() == "192.168.0.77"
	})
}
