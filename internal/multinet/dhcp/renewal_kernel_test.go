package dhcp

import (
	"fmt"
	"net"
	"net/netip"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/containernetworking/plugins/pkg/ns"
	"github.com/insomniacslk/dhcp/dhcpv4"
	"github.com/insomniacslk/dhcp/dhcpv4/server4"

	"github.com/cluster-network-operator/cno/internal/testing/eventually"
)

// shortServer gives one address for seconds, which no server of a distribution does.
type shortServer struct {
	mu sync.Mutex
	// address is the last byte of what is offered, valid how long leases are in seconds; T1 is after one, T2 after two.
	address byte
	valid   uint32
	// mute are the states whose requests are not answered, refuse those that get a DHCPNAK.
	mute, refuse map[string]bool
	// got counts requests by state.
	got map[string]int
}

// serve runs a server on the host outside.
func (l *lan) serve(s *shortServer) {
	l.t.Helper()
	s.mute, s.refuse, s.got = map[string]bool{}, map[string]bool{}, map[string]int{}
	var server *server4.Server
	err := ns.WithNetNSPath(l.outside.Path(), func(ns.NetNS) (err error) {
		server, err = server4.NewServer("srv0", &net.UDPAddr{IP: net.IPv4zero, Port: 67}, s.handle)
		return err
	})
	if err != nil {
		l.t.Fatal(err)
	}
	done := make(chan struct{})
	go func() { defer close(done); _ = server.Serve() }() // it ends when it is closed
	l.t.Cleanup(func() { _ = server.Close(); <-done })
}

// stateOf is the state of the client by table 4 of RFC 2131, and by how the message arrived.
func stateOf(peer net.Addr, m *dhcpv4.DHCPv4) string {
	switch {
	case m.MessageType() != dhcpv4.MessageTypeRequest:
		return strings.ToLower(m.MessageType().String())
	case m.ServerIdentifier() != nil:
		return "selecting"
	case peer.(*net.UDPAddr).IP.Equal(net.IPv4bcast): // server4's name for a client without an address
		return "rebinding"
	}
	return "renewing"
}

func (s *shortServer) handle(conn net.PacketConn, peer net.Addr, m *dhcpv4.DHCPv4) {
	s.mu.Lock()
	defer s.mu.Unlock()
	state := stateOf(peer, m)
	s.got[state]++
	if s.mute[state] {
		return
	}
	kind := dhcpv4.MessageTypeAck
	switch {
	case state == "release":
		return
	case state == "discover":
		kind = dhcpv4.MessageTypeOffer
	case s.refuse[state]:
		kind = dhcpv4.MessageTypeNak
	}
	answer, err := dhcpv4.NewReplyFromRequest(m,
		dhcpv4.WithMessageType(kind), dhcpv4.WithOption(dhcpv4.OptServerIdentifier(net.ParseIP(serverAddress))))
	if err != nil {
		return
	}
	if kind != dhcpv4.MessageTypeNak {
		for _, set := range []dhcpv4.Modifier{
			dhcpv4.WithYourIP(net.IPv4(192, 168, 77, s.address)), dhcpv4.WithLeaseTime(s.valid), dhcpv4.WithNetmask(net.CIDRMask(24, 32)),
			dhcpv4.WithRouter(net.IPv4(192, 168, 77, 254)), dhcpv4.WithOption(dhcpv4.OptRenewTimeValue(time.Second)), dhcpv4.WithOption(dhcpv4.OptRebindingTimeValue(2 * time.Second)),
		} {
			set(answer)
		}
	}
	_, _ = conn.WriteTo(answer.ToBytes(), peer) // a client that gets nothing asks again
}

// change changes the server.
func (s *shortServer) change(f func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	f()
}

// await waits until requests of a state have arrived, as many as after.
func (s *shortServer) await(l *lan, state string, more int) {
	l.t.Helper()
	count := func() int { s.mu.Lock(); defer s.mu.Unlock(); return s.got[state] }
	before := count()
	eventually.Holds(l.t, "requests in state "+state, func() (string, bool) {
		return fmt.Sprintf("%d of %d\n%s", count()-before, more, l.log), count() >= before+more
	})
}

func (l *lan) awaitAddress(a string, want bool) {
	l.t.Helper()
	eventually.Holds(l.t, fmt.Sprintf("net1 has %s: %t", a, want), func() (string, bool) {
		have := l.addresses()
		return have + l.log.String(), strings.Contains(have, a+"/") == want
	})
}

func TestLeaseIsRenewedByUnicastReboundByBroadcastAndLostAtItsEnd(t *testing.T) {
	t.Parallel()
	l := newLAN(t)
	s := &shortServer{address: 20, valid: 60}
	l.serve(s)
	l.startAgent()
	if addr := l.add(""); addr != netip.MustParseAddr("192.168.77.20") {
		t.Fatalf("address %s", addr)
	}
	routes := l.pod.Run("ip", "-4", "route", "show", "dev", "net1")
	s.await(l, "renewing", 2)
	s.change(func() { s.mute["renewing"] = true })
	s.await(l, "rebinding", 1)
	l.kill(l.agent)
	l.startAgent()
	s.await(l, "rebinding", 1) // the lease of the next agent is the one that the first one extended
	if l.addresses() == "" {
		t.Fatalf("the address is lost although the lease is rebound\n%s", l.log)
	}
	s.change(func() { s.valid = 4 })
	s.await(l, "rebinding", 1)
	s.change(func() { s.mute["rebinding"], s.mute["discover"] = true, true })
	l.awaitAddress("192.168.77.20", false)
	eventually.Holds(t, "the event", func() (string, bool) {
		return l.log.String(), strings.Contains(l.log.String(), "reason="+ReasonLost)
	})
	s.change(func() { clear(s.mute) })
	l.awaitAddress("192.168.77.20", true)
	if got := l.pod.Run("ip", "-4", "route", "show", "dev", "net1"); got != routes {
		t.Errorf("routes after the loss:\n%sbefore:\n%s", got, routes)
	}
	if err := l.ping(); err != nil {
		t.Error(err)
	}
	l.del()
	eventually.Holds(t, "the release", func() (string, bool) {
		s.mu.Lock()
		defer s.mu.Unlock()
		return fmt.Sprint(s.got), s.got["release"] == 1
	})
}

func TestRefusedLeaseIsRemovedFromTheInterface(t *testing.T) {
	t.Parallel()
	l := newLAN(t)
	s := &shortServer{address: 30, valid: 60}
	l.serve(s)
	l.startAgent()
	l.add("")
	s.change(func() { s.refuse["renewing"], s.address = true, 31 })
	l.awaitAddress("192.168.77.30", false)
	eventually.Holds(t, "the events", func() (string, bool) {
		log := l.log.String()
		return log, strings.Contains(log, "reason="+ReasonLost) && strings.Contains(log, "offers only 192.168.77.31")
	})
	if have := l.addresses(); strings.Contains(have, "192.168.77.31/") {
		t.Errorf("the pod has an address that its status does not have: %s", have)
	}
	s.change(func() { clear(s.refuse); s.address = 30 })
	l.awaitAddress("192.168.77.30", true)
}

func TestLeaseIsReboundThoughAFilterOfThePodStopsRenewals(t *testing.T) {
	t.Parallel()
	l := newLAN(t)
	s := &shortServer{address: 40, valid: 60}
	l.serve(s)
	l.startAgent()
	l.add("")
	l.pod.Run("nft", "add table inet f; add chain inet f o { type filter hook output priority 0; policy drop; }")
	s.await(l, "rebinding", 2)
	if l.addresses() == "" {
		t.Errorf("the address is lost\n%s", l.log)
	}
}

func TestReleaseIsSentThoughTheInterfaceHasLostItsAddress(t *testing.T) {
	t.Parallel()
	l := leased(t)
	l.pod.Run("ip", "addr", "flush", "dev", "net1")
	l.del()
	l.released()
}

func TestAgentThatStartsWithoutTheNamespaceForgetsTheLease(t *testing.T) {
	t.Parallel()
	l := leased(t)
	l.kill(l.agent)
	l.node.Run("ip", "netns", "del", l.pod.Name)
	l.startAgent()
	for _, sub := range []string{"leases", "attachments"} {
		eventually.Holds(t, "nothing is left in "+sub, func() (string, bool) {
			left, err := os.ReadDir(l.dir + "/" + sub)
			return fmt.Sprint(left, err, l.log), err == nil && len(left) == 0
		})
	}
	if !strings.Contains(l.log.String(), "lease not released") {
		t.Errorf("the log does not report that the lease was not released:\n%s", l.log)
	}
}
