package node_test

import (
	"fmt"
	"io"
	"net"
	"net/netip"
	"testing"
	"time"

	"github.com/containernetworking/plugins/pkg/ns"

	"github.com/cluster-network-operator/cno/internal/host/ovs"
	"github.com/cluster-network-operator/cno/internal/testing/netns"
	"github.com/cluster-network-operator/cno/internal/testing/nodetest"
)

const (
	// trafficRounds is how often each path is measured, in turns, and trafficTime how long each time.
	trafficRounds = 15
	trafficTime   = time.Second
)

// BenchmarkPodToPodBesideABridge measures one TCP stream, and round trips of one byte, between pods on two nodes, and the same between two namespaces that the
// same processes of Open vSwitch connect by a bridge that only learns addresses, and Geneve. The paths differ in the flows of OVN alone.
func BenchmarkPodToPodBesideABridge(b *testing.B) {
	c := governed(b)
	near, far := c.nodes[0], c.nodes[1]
	from, to := near.governedPod("near"), far.governedPod("far")
	plain := [2]netns.Namespace{near.onBridge(b, far, 1), far.onBridge(b, near, 2)}
	ofBridge := netip.MustParseAddr("10.99.0.2")
	nodetest.Reaches(b, from.Namespace, to.addr(), podMTU)
	nodetest.Reaches(b, plain[0], ofBridge, podMTU)
	pods, bridge := path{from.Namespace, to.Namespace, to.addr()}, path{plain[0], plain[1], ofBridge}
	for _, kind := range []struct {
		name, unit string
		measure    func(testing.TB, path) float64
	}{{"stream", "Gbit/s", stream}, {"round-trips", "/s", roundTrips}} {
		b.Run(kind.name, func(b *testing.B) {
			var ofPods, ofBridge float64
			n := 0
			for b.Loop() {
				for range trafficRounds {
					ofPods += kind.measure(b, pods)
					ofBridge += kind.measure(b, bridge)
					n++
				}
			}
			b.ReportMetric(ofPods/float64(n), "pod-"+kind.unit)
			b.ReportMetric(ofBridge/float64(n), "bridge-"+kind.unit)
			b.ReportMetric(100*ofPods/ofBridge, "%bridge")
			b.ReportMetric(0, "ns/op")
		})
	}
}

// path is from one namespace to an address of another one.
type path struct {
	from, to netns.Namespace
	address  netip.Addr
}

// onBridge adds a bridge that only learns addresses to the node's Open vSwitch, with a tunnel to another node, and returns a namespace with the n-th address
// on it.
func (m *machine) onBridge(b *testing.B, other *machine, n byte) netns.Namespace {
	b.Helper()
	at := netns.New(b, "plain")
	vsctl := func(arguments ...string) string {
		b.Helper()
		return netns.Run(b, append([]string{"ovs-vsctl", "--db=unix:" + m.run + "/ovs/db.sock"}, arguments...)...)
	}
	netns.Run(b, "ip", "link", "add", "plain0", "netns", m.vswitchNS, "type", "veth", "peer", "name", "eth0", "netns", at.Name)
	netns.Run(b, "ip", "-netns", m.vswitchNS, "link", "set", "plain0", "up")
	vsctl("add-br", "plain", "--", "set", "Bridge", "plain", "datapath_type=netdev", "--", "add-port", "plain", "plain0", "--", "add-port", "plain", "plain1", "--",
		"set", "Interface", "plain1", "type=geneve", "options:remote_ip="+other.address.String(), "options:key=4242", "options:csum=true")
	at.Run("ip", "address", "add", netip.PrefixFrom(netip.AddrFrom4([4]byte{10, 99, 0, n}), 24).String(), "dev", "eth0")
	at.Run("ip", "link", "set", "eth0", "mtu", fmt.Sprint(podMTU), "up")
	// As for pods: the userspace datapath does not complete checksums.
	if err := ns.WithNetNSPath(at.Path(), func(ns.NetNS) error { return ovs.DisableTxOffload("eth0") }); err != nil {
		b.Fatal(err)
	}
	return at
}

// open connects both ends of a path.
func (p path) open(b testing.TB) (client, server net.Conn) {
	b.Helper()
	address := netip.AddrPortFrom(p.address, 7100).String()
	var listener net.Listener
	if err := ns.WithNetNSPath(p.to.Path(), func(ns.NetNS) (err error) {
		listener, err = (&net.ListenConfig{}).Listen(b.Context(), "tcp", address)
		return err
	}); err != nil {
		b.Fatal(err)
	}
	defer func() { _ = listener.Close() }()
	if err := ns.WithNetNSPath(p.from.Path(), func(ns.NetNS) (err error) {
		client, err = (&net.Dialer{Timeout: time.Minute}).DialContext(b.Context(), "tcp", address)
		return err
	}); err != nil {
		b.Fatal(err)
	}
	server, err := listener.Accept()
	if err != nil {
		b.Fatal(err)
	}
	return client, server
}

// stream returns the gigabits a second of one TCP stream.
func stream(b testing.TB, p path) float64 {
	b.Helper()
	client, server := p.open(b)
	received := make(chan int64)
	go func() {
		n, _ := io.Copy(io.Discard, server) // until the sender closes
		received <- n
	}()
	begin := time.Now()
	for data := make([]byte, 1<<16); time.Since(begin) < trafficTime; {
		if _, err := client.Write(data); err != nil {
			b.Fatal(err)
		}
	}
	_ = client.Close()
	n := <-received
	elapsed := time.Since(begin)
	_ = server.Close()
	return float64(n*8) / 1e9 / elapsed.Seconds()
}

// roundTrips returns how often a second one byte goes there and back.
func roundTrips(b testing.TB, p path) float64 {
	b.Helper()
	client, server := p.open(b)
	defer func() { _, _ = client.Close(), server.Close() }()
	go func() { _, _ = io.Copy(server, server) }() // until the client closes
	n, begin := 0, time.Now()
	for data := make([]byte, 1); time.Since(begin) < trafficTime; n++ {
		if _, err := client.Write(data); err != nil {
			b.Fatal(err)
		}
		if _, err := io.ReadFull(client, data); err != nil {
			b.Fatal(err)
		}
	}
	return float64(n) / time.Since(begin).Seconds()
}
