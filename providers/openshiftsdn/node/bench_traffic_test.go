package node_test

import (
	"context"
	"fmt"
	"net"
	"net/netip"
	"testing"
	"time"

	"github.com/containernetworking/plugins/pkg/ns"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/cluster-network-operator/cno/internal/host/ovs"
	"github.com/cluster-network-operator/cno/internal/perf"
	"github.com/cluster-network-operator/cno/internal/testing/eventually"
	"github.com/cluster-network-operator/cno/internal/testing/netns"
	"github.com/cluster-network-operator/cno/internal/testing/nodetest"
	"github.com/cluster-network-operator/cno/providers/openshiftsdn/agentconfig"
	"github.com/cluster-network-operator/cno/providers/openshiftsdn/flows"
)

const (
	perfPort = 15000
	// perfTime is how long each figure is measured in a round, and perfRounds how often.
	perfTime, perfRounds = time.Second, 3
	// plainBridge is a bridge with action NORMAL.
	plainBridge = "plain"
)

// servePerf serves measurements in a namespace until the benchmark ends.
func servePerf(b *testing.B, at netns.Namespace) {
	b.Helper()
	var listener net.Listener
	if err := ns.WithNetNSPath(at.Path(), func(ns.NetNS) (err error) {
		listener, err = net.Listen("tcp", fmt.Sprint(":", perfPort))
		return err
	}); err != nil {
		b.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- perf.Serve(ctx, listener) }()
	b.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil {
			b.Error(err)
		}
	})
}

// path is a way from a namespace to a server.
type path struct {
	from netns.Namespace
	to   netip.Addr
}

func (p path) measure(b *testing.B) (r perf.Result) {
	b.Helper()
	if err := ns.WithNetNSPath(p.from.Path(), func(ns.NetNS) (err error) {
		r, err = perf.Measure(b.Context(), netip.AddrPortFrom(p.to, perfPort).String(), perfTime)
		return err
	}); err != nil {
		b.Fatal(err)
	}
	return r
}

// compare measures two paths in turn, and reports their means under the names.
func compare(b *testing.B, name string, own path, peer string, other path) {
	b.Helper()
	var total [2]perf.Result
	rounds := 0.0
	for b.Loop() {
		for range perfRounds {
			for i, p := range []path{own, other} {
				r := p.measure(b)
				total[i].Gbps += r.Gbps
				total[i].RTTp50 += r.RTTp50
			}
			rounds++
		}
	}
	b.ReportMetric(0, "ns/op")
	for i, name := range []string{name, peer} {
		b.ReportMetric(total[i].Gbps/rounds, name+"-Gbit/s")
		b.ReportMetric(total[i].RTTp50/rounds, name+"-rtt-us")
	}
	b.ReportMetric(100*total[0].Gbps/total[1].Gbps, "%stream")
	b.ReportMetric(100*total[0].RTTp50/total[1].RTTp50, "%rtt")
}

// plain adds a bridge with action NORMAL to the Open vSwitch of the node, with a tunnel to the node with an address, and returns an end of it.
func (m *machine) plain(b *testing.B, i int, peer netip.Addr) (plainPod netns.Namespace, address netip.Addr) {
	b.Helper()
	userspace := !kernelDatapath(b)
	if len(m.plainPods) == 0 {
		datapath := "system"
		if userspace {
			datapath = "netdev"
		}
		m.vsctl(b, "add-br", plainBridge, "--", "set", "bridge", plainBridge, "datapath_type="+datapath)
		m.vsctl(b, "add-port", plainBridge, "plain-vxlan", "--", "set", "interface", "plain-vxlan", "type=vxlan", "options:remote_ip="+peer.String(), "options:key=4711",
			fmt.Sprintf("options:dst_port=%d", m.config.VXLANPort))
	}
	pod := netns.New(b, "plain")
	m.plainPods = append(m.plainPods, pod)
	address = netip.AddrFrom4([4]byte{198, 18, 0, byte(i)})
	l := ovs.PodLink{Name: fmt.Sprint("plain", i), Pod: pod.Path(), PodName: "eth0", MTU: podMTU, MAC: flows.PodMAC(address), Userspace: userspace,
		Addresses: []netip.Prefix{netip.PrefixFrom(address, 24)}}
	if userspace {
		l.Place = ovs.Place{Path: "/run/netns/" + m.config.SwitchNamespace}
	}
	if _, err := l.Create(); err != nil {
		b.Fatal(err)
	}
	m.vsctl(b, "add-port", plainBridge, l.Name)
	return pod, address
}

// BenchmarkTraffic compares pods with ends of a bridge with action NORMAL in the same Open vSwitch, and a Service with its endpoint.
func BenchmarkTraffic(b *testing.B) {
	c, one, two := running(b, agentconfig.NetworkPolicy)
	client, near, far := one.pod("one", "client", nil), one.pod("one", "near", nil), two.pod("two", "far", nil)
	plainClient, _ := one.plain(b, 1, two.address)
	plainNear, nearAddress := one.plain(b, 2, two.address)
	plainFar, farAddress := two.plain(b, 3, one.address)
	for _, at := range []netns.Namespace{near.Namespace, far.Namespace, plainNear, plainFar} {
		servePerf(b, at)
	}
	for _, p := range []path{{client.Namespace, near.address}, {client.Namespace, far.address}, {plainClient, nearAddress}, {plainClient, farAddress}} {
		nodetest.Reaches(b, p.from, p.to, podMTU)
	}
	b.Run("one-node", func(b *testing.B) {
		compare(b, "pod", path{client.Namespace, near.address}, "normal", path{plainClient, nearAddress})
	})
	b.Run("two-nodes", func(b *testing.B) {
		compare(b, "pod", path{client.Namespace, far.address}, "normal", path{plainClient, farAddress})
	})
	one.startProxy("nftables")
	s := c.idled("one", "near", false, corev1.ServicePort{Name: "perf", Protocol: corev1.ProtocolTCP, Port: perfPort, TargetPort: intstr.FromInt32(perfPort)})
	c.wake(s, near)
	service := netip.MustParseAddr(s.Spec.ClusterIP)
	eventually.Holds(b, "the Service has its endpoint", func() (string, bool) {
		out, err := one.at.Try("nft", "list", "ruleset")
		_ = ns.WithNetNSPath(client.Path(), func(ns.NetNS) error {
			var conn net.Conn
			if conn, err = net.DialTimeout("tcp", netip.AddrPortFrom(service, perfPort).String(), time.Second); err == nil {
				err = conn.Close()
			}
			return nil
		})
		return out, err == nil
	})
	b.Run("service", func(b *testing.B) {
		compare(b, "service", path{client.Namespace, service}, "pod", path{client.Namespace, near.address})
	})
}
