package node_test

import (
	"encoding/binary"
	"fmt"
	"maps"
	"net"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/containernetworking/plugins/pkg/ns"
	"golang.org/x/sys/unix"
	eventsv1 "k8s.io/api/events/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	sdnv1 "github.com/cluster-network-operator/cno/api/sdn/v1"
	"github.com/cluster-network-operator/cno/internal/apitest"
	"github.com/cluster-network-operator/cno/internal/testing/eventually"
	"github.com/cluster-network-operator/cno/internal/testing/netns"
	"github.com/cluster-network-operator/cno/internal/testing/nodetest"
	"github.com/cluster-network-operator/cno/providers/openshiftsdn/agentconfig"
)

const (
	outsideAddress = "192.0.2.100"
	// guardedPort is that to which only pods of namespaces with egress IPs send, plainPort that of others.
	guardedPort, plainPort, talkPort = 8080, 80, 9000
)

// sniffer records which addresses packets have that reach a machine outside of the cluster.
type sniffer struct {
	mu sync.Mutex
	// sources are counters by destination port, announced those of ARP announcements by address.
	sources   map[uint16]map[netip.Addr]int
	announced map[netip.Addr]int
}

// outside adds a machine to the link of the nodes, with servers, and records what reaches it.
func (c *cluster) outside(t *testing.T) (netns.Namespace, *sniffer) {
	t.Helper()
	at := netns.New(t, "outside")
	c.link.Run("ip", "link", "add", "outside", "type", "veth", "peer", "name", "eth0", "netns", at.Name)
	c.link.Run("ip", "link", "set", "outside", "master", "sw0", "up")
	at.Run("ip", "address", "add", outsideAddress+"/24", "dev", "eth0")
	at.Run("ip", "link", "set", "eth0", "up")
	nodetest.Serve(t, at, fmt.Sprint(":", guardedPort))
	nodetest.Serve(t, at, fmt.Sprint(":", plainPort))
	s := &sniffer{sources: map[uint16]map[netip.Addr]int{}, announced: map[netip.Addr]int{}}
	var socket int
	if err := ns.WithNetNSPath(at.Path(), func(ns.NetNS) (err error) {
		all := binary.NativeEndian.Uint16(binary.BigEndian.AppendUint16(nil, unix.ETH_P_ALL))
		if socket, err = unix.Socket(unix.AF_PACKET, unix.SOCK_RAW|unix.SOCK_CLOEXEC, 0); err != nil {
			return err
		}
		link, err := net.InterfaceByName("eth0")
		if err != nil {
			return err
		}
		return unix.Bind(socket, &unix.SockaddrLinklayer{Protocol: all, Ifindex: link.Index})
	}); err != nil {
		t.Fatal(err)
	}
	if err := unix.SetsockoptTimeval(socket, unix.SOL_SOCKET, unix.SO_RCVTIMEO, &unix.Timeval{Usec: 100000}); err != nil {
		t.Fatal(err)
	}
	stop, done := make(chan struct{}), make(chan struct{})
	go func() { defer close(done); s.read(socket, stop) }()
	t.Cleanup(func() { close(stop); <-done; _ = unix.Close(socket) })
	return at, s
}

func (s *sniffer) read(socket int, stop chan struct{}) {
	frame := make([]byte, 2048)
	for {
		select {
		case <-stop:
			return
		default:
		}
		n, from, err := unix.Recvfrom(socket, frame, 0)
		if link, is := from.(*unix.SockaddrLinklayer); err == nil && is && link.Pkttype != unix.PACKET_OUTGOING {
			s.note(frame[:n])
		}
	}
}

func (s *sniffer) note(frame []byte) {
	if len(frame) < 42 {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	switch body := frame[14:]; binary.BigEndian.Uint16(frame[12:]) {
	case unix.ETH_P_ARP:
		if sender := netip.AddrFrom4([4]byte(body[14:18])); sender == netip.AddrFrom4([4]byte(body[24:28])) {
			s.announced[sender]++
		}
	case unix.ETH_P_IP:
		header := int(body[0]&15) * 4
		if protocol := body[9]; (protocol == unix.IPPROTO_TCP || protocol == unix.IPPROTO_UDP) && len(body) >= header+4 && netip.AddrFrom4([4]byte(body[16:20])).String() == outsideAddress {
			port := binary.BigEndian.Uint16(body[header+2:])
			if s.sources[port] == nil {
				s.sources[port] = map[netip.Addr]int{}
			}
			s.sources[port][netip.AddrFrom4([4]byte(body[12:16]))]++
		}
	}
}

// seen are the sources of packets to a port since the last call.
func (s *sniffer) seen(port uint16) map[netip.Addr]int {
	s.mu.Lock()
	defer s.mu.Unlock()
	out := s.sources[port]
	delete(s.sources, port)
	return out
}

// only fails if packets of pods with egress IPs have had other addresses than these since the last call.
func (s *sniffer) only(t *testing.T, during string, allowed ...string) {
	t.Helper()
	for _, port := range []uint16{guardedPort, talkPort} {
		for a, n := range s.seen(port) {
			if !slices.Contains(allowed, a.String()) {
				t.Errorf("%s: %d packets to port %d leave with %s, allowed are %v", during, n, port, a, allowed)
			}
		}
	}
}

// talk sends datagrams from one port of a pod until the test ends.
func talk(t *testing.T, p *pod) {
	t.Helper()
	var conn net.Conn
	if err := ns.WithNetNSPath(p.Path(), func(ns.NetNS) (err error) {
		conn, err = net.DialUDP("udp", &net.UDPAddr{IP: p.address.AsSlice(), Port: 40000}, &net.UDPAddr{IP: net.ParseIP(outsideAddress), Port: talkPort})
		return err
	}); err != nil {
		t.Fatal(err)
	}
	ticker, stop, done := time.NewTicker(20*time.Millisecond), make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		for {
			select {
			case <-stop:
				return
			case <-ticker.C:
				_, _ = conn.Write([]byte("datagram")) // the answers are errors of ICMP, as no program listens
			}
		}
	}()
	t.Cleanup(func() { close(stop); <-done; ticker.Stop(); _ = conn.Close() })
}

// assign sets the egress IPs of a namespace, has those of a node.
func (c *cluster) assign(namespace string, addresses ...string) {
	c.t.Helper()
	n := &sdnv1.NetNamespace{ObjectMeta: metav1.ObjectMeta{Name: namespace}}
	if err := c.client.Get(c.t.Context(), kubeKey(n), n); err != nil {
		c.t.Fatal(err)
	}
	apitest.Change(c.t, c.client, n, func() { n.EgressIPs = addresses })
}

func (m *machine) has(addresses ...string) {
	m.t.Helper()
	h := &sdnv1.HostSubnet{ObjectMeta: metav1.ObjectMeta{Name: m.name}}
	if err := m.client.Get(m.t.Context(), kubeKey(h), h); err != nil {
		m.t.Fatal(err)
	}
	apitest.Change(m.t, m.client, h, func() { h.EgressIPs = addresses })
}

// leaves waits until a connection of a pod is seen outside with one of some addresses, and returns how long that took.
func leaves(t *testing.T, p *pod, port int, want ...string) time.Duration {
	t.Helper()
	began := time.Now()
	eventually.Holds(t, fmt.Sprintf("%s leaves with %v", p.name, want), func() (string, bool) {
		answer, err := nodetest.Ask(p.Namespace, fmt.Sprint(outsideAddress, ":", port), time.Second)
		return fmt.Sprint(answer, err), err == nil && slices.Contains(want, answer)
	})
	return time.Since(began)
}

// cutOff waits until a pod reaches nothing outside.
func cutOff(t *testing.T, p *pod) {
	t.Helper()
	eventually.Holds(t, p.name+" is cut off", func() (string, bool) {
		answer, err := nodetest.Ask(p.Namespace, fmt.Sprint(outsideAddress, ":", guardedPort), time.Second)
		return answer, err != nil
	})
}

// labels are the egress IPs that a node has.
func (m *machine) labels() string {
	return m.at.Run("ip", "-4", "-o", "address", "show", "label", "eth0:eip")
}

// holds waits until a node has, or has not, an egress IP.
func (m *machine) holds(t *testing.T, address string, want bool) {
	t.Helper()
	eventually.Holds(t, fmt.Sprintf("%s has %s: %t", m.name, address, want), func() (string, bool) {
		out := m.labels()
		return out, strings.Contains(out, address+"/24") == want
	})
}

// connect connects the node's interface to the link, or unplugs it.
func (m *machine) connect(on bool) {
	m.t.Helper()
	m.link.Run("ip", "link", "set", m.name, map[bool]string{true: "up", false: "down"}[on])
}

func TestEgressIPs(t *testing.T) {
	c, one, two := running(t, agentconfig.NetworkPolicy)
	three := c.node()
	three.ready()
	outside, seen := c.outside(t)
	a, b, other := one.pod("one", "a", nil), two.pod("one", "b", nil), two.pod("two", "other", nil)
	nodes := []string{one.address.String(), two.address.String(), three.address.String()}
	leaves(t, a, guardedPort, nodes[0])
	leaves(t, b, guardedPort, nodes[1])
	talk(t, a)
	talk(t, b)

	c.assign("one", "192.0.2.200")
	cutOff(t, a)
	cutOff(t, b)
	seen.only(t, "before the nodes know", nodes...)
	leaves(t, other, plainPort, nodes[1])
	seen.only(t, "no node has the address")

	two.has("192.0.2.200")
	for _, p := range []*pod{a, b} {
		leaves(t, p, guardedPort, "192.0.2.200")
	}
	leaves(t, other, plainPort, nodes[1])
	eventually.Holds(t, "datagrams of a port that was used before leave with the address", func() (string, bool) {
		all := seen.seen(talkPort)
		_, is := all[netip.MustParseAddr("192.0.2.200")]
		return fmt.Sprint(all), is && len(all) == 1
	})
	eventually.Holds(t, "the address is announced twice", func() (string, bool) {
		seen.mu.Lock()
		defer seen.mu.Unlock()
		return fmt.Sprint(seen.announced), seen.announced[netip.MustParseAddr("192.0.2.200")] >= 3
	})
	t.Run("nothing of the node is served at the address", func(t *testing.T) {
		nodetest.Serve(t, two.at, ":7000")
		nodetest.Answers(t, outside, two.address.String()+":7000")
		refused(t, outside, "192.0.2.200:7000")
	})
	t.Run("a Service with an endpoint outside", func(t *testing.T) {
		for _, m := range []*machine{one, two} {
			m.at.Run("nft", fmt.Sprintf("add table ip test; add chain ip test pre { type nat hook prerouting priority -100; }; add rule ip test pre ip daddr 172.30.0.20 tcp dport 80 dnat to %s:%d; add rule ip test pre ip daddr 172.30.0.20 tcp dport 81 dnat to %s:%d", outsideAddress, guardedPort, outsideAddress, plainPort))
		}
		if got := nodetest.Answers(t, b.Namespace, "172.30.0.20:80"); got != "192.0.2.200" {
			t.Errorf("on the node of the address it leaves with %s", got)
		}
		refused(t, a.Namespace, "172.30.0.20:80")
		if got := nodetest.Answers(t, other.Namespace, "172.30.0.20:81"); got != nodes[1] {
			t.Errorf("a namespace without egress IPs leaves with %s", got)
		}
		seen.only(t, "Services", "192.0.2.200")
	})
	t.Run("what a third party removes is restored", func(t *testing.T) {
		two.at.Run("ip", "address", "del", "192.0.2.200/24", "dev", "eth0")
		began := time.Now()
		two.holds(t, "192.0.2.200", true)
		t.Logf("the address is restored after %v", time.Since(began))
		for _, family := range []string{"ip", "netdev"} {
			two.at.Run("nft", "delete", "table", family, "openshift-sdn-egress")
			began := time.Now()
			eventually.Holds(t, "the rules are restored", func() (string, bool) {
				out, err := two.at.Try("nft", "list", "table", family, "openshift-sdn-egress")
				return out, err == nil
			})
			t.Logf("the table of family %s is restored after %v", family, time.Since(began))
		}
		leaves(t, b, guardedPort, "192.0.2.200")
		leaves(t, a, guardedPort, "192.0.2.200")
		seen.only(t, "a third party removes the address and rules", "192.0.2.200")
	})
	t.Run("agents are killed and started", func(t *testing.T) {
		for _, m := range []*machine{one, two} {
			m.agent.Kill()
			leaves(t, a, guardedPort, "192.0.2.200")
			m.startAgent()
			m.ready()
			leaves(t, a, guardedPort, "192.0.2.200")
		}
		leaves(t, b, guardedPort, "192.0.2.200")
		seen.only(t, "agents are killed", "192.0.2.200")
	})
	t.Run("ovs-vswitchd is killed on both", func(t *testing.T) {
		for _, m := range []*machine{one, two} {
			before := m.vswitchd()
			netns.Run(t, "kill", "-9", before)
			eventually.Holds(t, "it runs again", func() (string, bool) { now := m.vswitchd(); return now, now != "" && now != before })
			leaves(t, a, guardedPort, "192.0.2.200")
			leaves(t, b, guardedPort, "192.0.2.200")
		}
		seen.only(t, "ovs-vswitchd is killed", "192.0.2.200")
	})
	t.Run("several addresses, and a node that is unplugged", func(t *testing.T) {
		three.has("192.0.2.201")
		c.assign("one", "192.0.2.200", "192.0.2.201")
		found := map[string]bool{}
		eventually.Holds(t, "connections leave with both", func() (string, bool) {
			answer, err := nodetest.Ask(a.Namespace, fmt.Sprint(outsideAddress, ":", guardedPort), time.Second)
			if err == nil {
				found[answer] = true
			}
			return fmt.Sprint(slices.Sorted(maps.Keys(found)), err), len(found) == 2
		})
		leaves(t, b, guardedPort, "192.0.2.200") // its own node
		two.connect(false)
		began := time.Now()
		eventually.Holds(t, "ten connections in a row leave with the remaining address", func() (string, bool) {
			for range 10 {
				if answer, err := nodetest.Ask(a.Namespace, fmt.Sprint(outsideAddress, ":", guardedPort), 500*time.Millisecond); err != nil || answer != "192.0.2.201" {
					return fmt.Sprint(answer, err), false
				}
			}
			return "", true
		})
		t.Logf("only the remaining address is used after %v", time.Since(began))
		two.holds(t, "192.0.2.200", false) // another machine may have it now
		two.connect(true)
		two.holds(t, "192.0.2.200", true)
		leaves(t, b, guardedPort, "192.0.2.200")
		seen.only(t, "a node is unplugged", "192.0.2.200", "192.0.2.201")
	})
	t.Run("an address moves, the other node first", func(t *testing.T) {
		c.assign("one", "192.0.2.200")
		leaves(t, a, guardedPort, "192.0.2.200")
		one.has("192.0.2.200") // both have it now
		cutOff(t, a)
		cutOff(t, b)
		two.has()
		for _, p := range []*pod{a, b} {
			leaves(t, p, guardedPort, "192.0.2.200")
		}
		two.holds(t, "192.0.2.200", false)
		one.holds(t, "192.0.2.200", true)
		three.holds(t, "192.0.2.201", false)
		seen.only(t, "the address moves", "192.0.2.200", "192.0.2.201")
	})
	t.Run("another machine has the address", func(t *testing.T) {
		outside.Run("ip", "address", "add", "192.0.2.202/24", "dev", "eth0")
		three.has("192.0.2.202")
		c.assign("two", "192.0.2.202")
		var events eventsv1.EventList
		eventually.Holds(t, "an event reports it", func() (string, bool) {
			if err := c.client.List(t.Context(), &events); err != nil {
				return err.Error(), false
			}
			return fmt.Sprint(len(events.Items)), slices.ContainsFunc(events.Items, func(e eventsv1.Event) bool {
				return e.Reason == "EgressIPRefused" && e.Regarding.Name == three.name && strings.Contains(e.Note, "egress IP 192.0.2.202 is that of another machine, with MAC address")
			})
		})
		out := three.at.Run("curl", "-s", "http://"+three.config.NodeHealthAddress+"/metrics")
		if want := `openshift_sdn_assigned_egressip{address="192.0.2.202",namespace="two"} 0`; !strings.Contains(out, want) {
			t.Errorf("%s is missing in the metrics", want)
		}
		cutOff(t, other)
		seen.only(t, "before its node knows that it asks for one", "192.0.2.200", nodes[1])
		outside.Run("ip", "address", "del", "192.0.2.202/24", "dev", "eth0")
		leaves(t, other, guardedPort, "192.0.2.202")
		seen.only(t, "another machine has the address", "192.0.2.200", "192.0.2.202")
	})
	t.Run("a namespace asks for none any more", func(t *testing.T) {
		c.assign("one")
		leaves(t, a, guardedPort, nodes[0])
		leaves(t, b, guardedPort, nodes[1])
		one.holds(t, "192.0.2.200", false)
	})
	t.Run("cleanup leaves nothing", func(t *testing.T) {
		three.holds(t, "192.0.2.202", true)
		three.agent.Stop(t)
		three.switchd.Stop(t)
		three.at.Run(program, "cleanup", "--config", three.file)
		three.holds(t, "192.0.2.202", false)
		if out := three.at.Run("nft", "list", "tables"); strings.Contains(out, "openshift-sdn") {
			t.Errorf("tables are left:\n%s", out)
		}
	})
}
