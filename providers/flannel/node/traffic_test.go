package node_test

import (
	"net"
	"net/netip"
	"strings"
	"testing"

	"github.com/containernetworking/plugins/pkg/ns"

	"github.com/cluster-network-operator/cno/internal/testing/eventually"
	"github.com/cluster-network-operator/cno/internal/testing/netns"
)

// whoami listens in a namespace, and returns the addresses that connections come from.
func whoami(t *testing.T, in netns.Namespace, address string) <-chan netip.Addr {
	t.Helper()
	var listener net.Listener
	if err := ns.WithNetNSPath(in.Path(), func(ns.NetNS) (err error) {
		listener, err = net.Listen("tcp", address)
		return err
	}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = listener.Close() })
	from := make(chan netip.Addr, 16)
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			from <- conn.RemoteAddr().(*net.TCPAddr).AddrPort().Addr().Unmap()
			_ = conn.Close()
		}
	}()
	return from
}

// connect connects from a namespace.
func connect(t *testing.T, from netns.Namespace, address string) {
	t.Helper()
	if err := ns.WithNetNSPath(from.Path(), func(ns.NetNS) error {
		conn, err := net.DialTimeout("tcp", address, eventually.Limit)
		if err != nil {
			return err
		}
		return conn.Close()
	}); err != nil {
		t.Fatalf("connect to %s: %v", address, err)
	}
}

func TestOnlyTrafficThatLeavesTheNetworkIsMasqueraded(t *testing.T) {
	seg := newSegment(t)
	one, two := seg.node("node1", "192.168.0.100"), seg.node("node2", "192.168.0.200")
	one.ready()
	two.ready()
	pod1, addr1 := one.pod("cni0")
	pod2, addr2 := two.pod("cni0")
	pings(t, pod1, addr2)

	outside := whoami(t, seg.netns, gateway+":8080")
	peerPod := whoami(t, pod2, addr2.String()+":8080")
	connect(t, pod1, gateway+":8080")
	if from := <-outside; from.String() != one.address {
		t.Errorf("outside the network the pod is seen as %s, want the node's %s", from, one.address)
	}
	connect(t, pod1, addr2.String()+":8080")
	if from := <-peerPod; from != addr1 {
		t.Errorf("another pod sees the pod as %s, want %s", from, addr1)
	}

	// A firewall that is reloaded removes the rules of all programs.
	one.netns.Run("nft", "flush", "ruleset")
	one.until("the rules are back", func() (string, bool) {
		out := one.netns.Run("nft", "list", "ruleset")
		return out, strings.Contains(out, "masquerade")
	})
	connect(t, pod1, gateway+":8080")
	if from := <-outside; from.String() != one.address {
		t.Errorf("after the repair the pod is seen as %s", from)
	}
	one.stop()
	connect(t, pod1, gateway+":8080")
	if from := <-outside; from.String() != one.address {
		t.Errorf("after the agent ended the pod is seen as %s", from)
	}
}

func TestPodAddressesAreVisibleWithoutMasquerading(t *testing.T) {
	seg := newSegment(t)
	m := seg.node("node1", "192.168.0.100")
	m.ready() // with masquerading, so that there is something to remove
	m.stop()
	m.config.Masquerade = false
	m.ready()
	pod, addr := m.pod("cni0")
	seg.netns.Run("ip", "route", "add", m.subnet().String(), "via", m.address)
	outside := whoami(t, seg.netns, gateway+":8080")
	pings(t, pod, netip.MustParseAddr(gateway))
	connect(t, pod, gateway+":8080")
	if from := <-outside; from != addr {
		t.Errorf("the pod is seen as %s, want %s", from, addr)
	}
}

func TestForwardingIsEnabled(t *testing.T) {
	seg := newSegment(t)
	m := seg.node("node1", "192.168.0.100")
	m.netns.Run("sysctl", "-qw", "net.ipv4.ip_forward=0")
	m.ready()
	for name, want := range map[string]string{"net.ipv4.ip_forward": "1", "net.bridge.bridge-nf-call-iptables": "1"} {
		if got := strings.TrimSpace(m.netns.Run("sysctl", "-n", name)); got != want {
			t.Errorf("%s is %s", name, got)
		}
	}
}
