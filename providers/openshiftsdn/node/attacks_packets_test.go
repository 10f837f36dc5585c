package node_test

import (
	"encoding/binary"
	"fmt"
	"net"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/containernetworking/plugins/pkg/ns"
	"golang.org/x/sys/unix"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	sdnv1 "github.com/cluster-network-operator/cno/api/sdn/v1"
	"github.com/cluster-network-operator/cno/internal/testing/eventually"
	"github.com/cluster-network-operator/cno/internal/testing/netns"
	"github.com/cluster-network-operator/cno/internal/testing/nodetest"
	"github.com/cluster-network-operator/cno/providers/openshiftsdn/agentconfig"
	"github.com/cluster-network-operator/cno/providers/openshiftsdn/flows"
)

// victimPort is the port at which the attacked pod receives datagrams.
const victimPort = 5000

// tunnelled returns the payload of a VXLAN packet that has a datagram for a pod.
func tunnelled(vnid uint32, from, to netip.Addr) []byte {
	udp := binary.BigEndian.AppendUint16(nil, 40000)
	udp = binary.BigEndian.AppendUint16(udp, victimPort)
	udp = append(udp, 0, 8+6, 0, 0) // the length, and no checksum
	udp = append(udp, "forged"...)
	ip := []byte{0x45, 0, 0, byte(20 + len(udp)), 0, 1, 0, 0, 64, unix.IPPROTO_UDP, 0, 0}
	ip = append(append(ip, from.AsSlice()...), to.AsSlice()...)
	sum := uint32(0)
	for i := 0; i < len(ip); i += 2 {
		sum += uint32(binary.BigEndian.Uint16(ip[i:]))
	}
	binary.BigEndian.PutUint16(ip[10:], ^uint16(sum>>16+sum&0xffff))
	frame := append(append(append([]byte{}, flows.PodMAC(to)...), flows.PodMAC(from)...), 0x08, 0)
	header := []byte{0x08, 0, 0, 0, byte(vnid >> 16), byte(vnid >> 8), byte(vnid), 0}
	return append(append(append(header, frame...), ip...), udp...)
}

// datagrams sends a payload a few times, from an address if there is one.
func datagrams(t *testing.T, at netns.Namespace, from, to string, payload []byte) {
	t.Helper()
	if err := ns.WithNetNSPath(at.Path(), func(ns.NetNS) error {
		var d net.Dialer
		if from != "" {
			d.LocalAddr = net.UDPAddrFromAddrPort(netip.AddrPortFrom(netip.MustParseAddr(from), 0))
		}
		conn, err := d.DialContext(t.Context(), "udp", to)
		if err != nil {
			return err
		}
		defer conn.Close()
		for range 3 {
			if _, err := conn.Write(payload); err != nil {
				return err
			}
			time.Sleep(100 * time.Millisecond)
		}
		return nil
	}); err != nil {
		t.Fatal(err)
	}
}

// received reports whether a datagram is received, and drops all further ones.
func received(t *testing.T, conn *net.UDPConn) bool {
	t.Helper()
	buffer, any := make([]byte, 64), false
	for {
		if err := conn.SetReadDeadline(time.Now().Add(time.Second)); err != nil {
			t.Fatal(err)
		}
		if _, _, err := conn.ReadFromUDP(buffer); err != nil {
			return any
		}
		any = true
	}
}

// announce has a pod send another one an ARP reply with its own hardware address for an address.
func announce(t *testing.T, from, to *pod, address netip.Addr) {
	t.Helper()
	mac := flows.PodMAC(from.address)
	frame := append(append(append([]byte{}, flows.PodMAC(to.address)...), mac...), 0x08, 0x06, 0, 1, 0x08, 0, 6, 4, 0, 2)
	frame = append(append(frame, mac...), address.AsSlice()...)
	frame = append(append(frame, flows.PodMAC(to.address)...), to.address.AsSlice()...)
	if err := ns.WithNetNSPath(from.Path(), func(ns.NetNS) error {
		link, err := net.InterfaceByName("eth0")
		if err != nil {
			return err
		}
		socket, err := unix.Socket(unix.AF_PACKET, unix.SOCK_RAW|unix.SOCK_CLOEXEC, 0)
		if err != nil {
			return err
		}
		defer unix.Close(socket)
		for range 3 {
			if err := unix.Sendto(socket, frame, 0, &unix.SockaddrLinklayer{Ifindex: link.Index}); err != nil {
				return err
			}
			time.Sleep(500 * time.Millisecond)
		}
		return nil
	}); err != nil {
		t.Fatal(err)
	}
}

// TestAttacks: packets with which a pod or a host outside claims to be another one. Each is sent again without what stops it, and then succeeds.
func TestAttacks(t *testing.T) {
	c, one, two := running(t, agentconfig.NetworkPolicy)
	attacker, near, victim := one.pod("one", "attacker", nil), one.pod("two", "near", nil), two.pod("two", "victim", nil)
	outside, _ := c.outside(t)
	conn := nodetest.ListenUDP(t, victim.Namespace, victimPort)
	at := fmt.Sprintf("%s:%d", victim.address, victimPort)
	datagrams(t, attacker.Namespace, "", at, []byte("allowed"))
	if !received(t, conn) {
		t.Fatal("the victim does not receive what is allowed")
	}
	tunnel := func(m *machine) string { return fmt.Sprintf("%s:%d", m.address, m.config.VXLANPort) }
	forged := tunnelled(10, near.address, victim.address)

	t.Run("VXLAN from a host that is no node", func(t *testing.T) {
		datagrams(t, outside, "", tunnel(two), forged)
		if received(t, conn) {
			t.Error("the packet reaches the pod")
		}
		host := &sdnv1.HostSubnet{ObjectMeta: metav1.ObjectMeta{Name: "host"}, Host: "host", HostIP: outsideAddress, Subnet: "10.130.0.0/23"}
		c.create(host)
		eventually.Holds(t, "it reaches the pod once the host is a node", func() (string, bool) {
			datagrams(t, outside, "", tunnel(two), forged)
			return "", received(t, conn)
		})
		if err := c.client.Delete(t.Context(), host); err != nil {
			t.Fatal(err)
		}
	})
	t.Run("an ARP reply for the address of another pod", func(t *testing.T) {
		nodetest.Reaches(t, near.Namespace, attacker.address, podMTU)
		third := one.pod("two", "third", nil)
		neighbour := func() string {
			nodetest.Reaches(t, near.Namespace, third.address, podMTU)
			return near.Run("ip", "neigh", "show", third.address.String())
		}
		neighbour()
		announce(t, attacker, near, third.address)
		if out := neighbour(); !strings.Contains(out, flows.PodMAC(third.address).String()) {
			t.Errorf("the pod takes the attacker for another one: %s", out)
		}
		port := strings.TrimSpace(netns.Run(t, "ovs-vsctl", "--db=unix:"+one.config.SwitchRunDir+"/db.sock", "--bare", "--columns=ofport", "find", "Interface", "external_ids:pod-name=attacker"))
		eventually.Holds(t, "it does without the check of the sender", func() (string, bool) {
			netns.Run(t, "ovs-ofctl", "-O", "OpenFlow15", "add-flow", "unix:"+one.config.SwitchRunDir+"/br0.mgmt", "table=20,priority=60000,arp,in_port="+port+" actions=goto_table:30")
			announce(t, attacker, near, third.address)
			out := near.Run("ip", "neigh", "show", third.address.String())
			return out, strings.Contains(out, flows.PodMAC(attacker.address).String())
		})
	})
	// From here on nothing restores the rules of the nodes.
	one.agent.Stop(t)
	two.agent.Stop(t)
	t.Run("VXLAN of a pod through a Service whose endpoint is a node", func(t *testing.T) {
		one.at.Run("nft", fmt.Sprintf("add table ip attack; add chain ip attack pre { type nat hook prerouting priority -100; }; add rule ip attack pre ip daddr 172.30.0.20 udp dport 5555 dnat to %s", tunnel(two)))
		attack := func() bool {
			datagrams(t, attacker.Namespace, "", "172.30.0.20:5555", forged)
			return received(t, conn)
		}
		if attack() {
			t.Error("the packet reaches the pod")
		}
		one.at.Run("nft", "flush", "chain", "ip", "openshift-sdn", "forward")
		if !attack() {
			t.Error("without the rule the packet does not reach the pod, either: the test shows nothing")
		}
	})
	t.Run("packets from outside with the address of a pod or a Service", func(t *testing.T) {
		const podAddress, serviceAddress = "10.128.2.99", "172.30.0.10"
		outside.Run("ip", "link", "set", "lo", "up")
		for _, a := range []string{podAddress, serviceAddress} {
			outside.Run("ip", "address", "add", a+"/32", "dev", "lo")
		}
		outside.Run("ip", "route", "add", "10.128.4.0/23", "via", two.address.String())
		attack := func(from string) bool {
			datagrams(t, outside, from, at, []byte("forged"))
			return received(t, conn)
		}
		if !attack(outsideAddress) {
			t.Error("the host does not reach the pod with its own address: the test shows nothing")
		}
		for _, from := range []string{podAddress, serviceAddress} {
			if attack(from) {
				t.Errorf("a packet with source %s reaches the pod", from)
			}
		}
		two.at.Run("nft", "flush", "chain", "ip", "openshift-sdn", "arriving")
		if !attack(serviceAddress) {
			t.Error("without the rule the packet of a Service does not reach the pod, either: the test shows nothing")
		}
		if attack(podAddress) {
			t.Error("without the rule, br0 accepts a pod's address from outside")
		}
	})
}
