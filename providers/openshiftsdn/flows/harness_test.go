package flows_test

import (
	"context"
	"fmt"
	"log/slog"
	"net"
	"net/netip"
	"path/filepath"
	"testing"

	"github.com/cluster-network-operator/cno/internal/host/flows"
	"github.com/cluster-network-operator/cno/internal/host/ovs"
	"github.com/cluster-network-operator/cno/internal/host/ovsdb"
	"github.com/cluster-network-operator/cno/internal/netpolicy"
	"github.com/cluster-network-operator/cno/internal/openflow"
	"github.com/cluster-network-operator/cno/internal/testing/eventually"
	"github.com/cluster-network-operator/cno/internal/testing/netns"
	sdn "github.com/cluster-network-operator/cno/providers/openshiftsdn/flows"
)

// vswitch is a running Open vSwitch with a bridge for each node. Packets are traced through it: bridges need no ports for that.
type vswitch struct {
	t       testing.TB
	control ovs.Control
	runDir  string
	config  ovs.Configuration
}

func newSwitch(t testing.TB) *vswitch {
	t.Helper()
	dir := t.TempDir()
	s := ovs.Switch{
		RunDir: filepath.Join(dir, "run"), DataDir: filepath.Join(dir, "data"), Schema: "/usr/share/openvswitch/vswitch.ovsschema",
		Namespace: netns.New(t, "sdnflows").Path(), Userspace: true, Log: slog.New(slog.DiscardHandler),
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
	v := &vswitch{t: t, control: s.Control(), runDir: s.RunDir}
	eventually.Holds(t, "Open vSwitch answers", func() (string, bool) {
		client, err := ovsdb.Dial(t.Context(), s.Socket())
		if err != nil {
			return err.Error(), false
		}
		v.config = ovs.Configuration{Client: client}
		if err := v.config.Initialize(t.Context(), ovs.Root{}); err != nil {
			_ = client.Close()
			return err.Error(), false
		}
		t.Cleanup(func() { _ = client.Close() })
		return "", true
	})
	return v
}

// node is a node: what its flows depend on, and its bridge.
type node struct {
	v      *vswitch
	bridge flows.Bridge
	input  sdn.Input
	set    openflow.Set
}

// node adds a bridge for the i-th node, whose block is 10.128.<2i>.0/23.
func (v *vswitch) node(i int, mode sdn.Mode) *node {
	v.t.Helper()
	name := "br" + string(rune('0'+i))
	if err := v.config.EnsureBridge(v.t.Context(), ovs.Bridge{Name: name, Userspace: true, Secure: true}); err != nil {
		v.t.Fatal(err)
	}
	return &node{v: v, bridge: flows.Bridge{Name: name, RunDir: v.runDir}, input: nodeInput(i, mode)}
}

func address(i int) netip.Addr { return netip.AddrFrom4([4]byte{192, 0, 2, byte(i)}) }
func block(i int) netip.Prefix {
	return netip.PrefixFrom(netip.AddrFrom4([4]byte{10, 128, byte(2 * i), 0}), 23)
}

// nodeInput is the input of the i-th of two nodes, without pods.
func nodeInput(i int, mode sdn.Mode) sdn.Input {
	in := sdn.Input{
		Mode: mode, ClusterNetworks: []netip.Prefix{netip.MustParsePrefix("10.128.0.0/14")}, ServiceNetwork: netip.MustParsePrefix("172.30.0.0/16"), VXLANPort: 4789,
		Address: address(i), Subnet: block(i), TunnelMAC: net.HardwareAddr{0x0a, 0x58, 0x0a, 0x80, byte(2 * i), 1},
		VNIDs: map[string]uint32{}, Addresses: map[netpolicy.ID][]netip.Addr{},
	}
	in.Peers = []sdn.Peer{{Name: "node-" + string(rune('0'+3-i)), Address: address(3 - i), Subnet: block(3 - i)}}
	return in
}

// pod adds a pod with the j-th address of the block.
func (n *node) pod(namespace, name string, j int, vnid uint32) sdn.Pod {
	b := n.input.Subnet.Addr().As4()
	b[3] = byte(j)
	a := netip.AddrFrom4(b)
	p := sdn.Pod{ID: netpolicy.ID{Namespace: namespace, Name: name}, Address: a, MAC: sdn.PodMAC(a), Port: uint32(10 + j), VNID: vnid}
	n.input.Pods = append(n.input.Pods, p)
	return p
}

// apply has the bridge have the flows of the node.
func (n *node) apply() {
	n.v.t.Helper()
	result, err := sdn.Desired(n.input)
	if err != nil {
		n.v.t.Fatal(err)
	}
	n.set = result.Flows
	if err := n.bridge.Replace(n.v.t.Context(), n.set); err != nil {
		n.v.t.Fatal(err)
	}
}

func (n *node) trace(packet string, tracked ...string) openflow.Trace {
	n.v.t.Helper()
	got, err := n.bridge.Trace(n.v.t.Context(), n.v.control, packet, n.set, tracked...)
	if err != nil {
		n.v.t.Fatalf("%s: %v", packet, err)
	}
	return got
}

// outcome is what becomes of a packet on one node.
type outcome struct {
	// ports are those of pods that get it, kernel is true if the node's kernel does.
	ports  []uint32
	kernel bool
	// tunnels are the nodes to which copies go, and vnid is that of the copies.
	tunnels []netip.Addr
	vnid    uint64
	// reason is the note of the last flow.
	reason string
	text   string
}

func (o outcome) dropped() bool { return len(o.ports) == 0 && !o.kernel && len(o.tunnels) == 0 }

// send traces a packet of the node until it leaves the bridge.
func (n *node) send(packet string, tracked ...string) outcome {
	n.v.t.Helper()
	got := n.trace(packet, tracked...)
	o := sdn.OutcomeOf(got)
	return outcome{ports: o.Ports, kernel: o.Kernel, tunnels: o.Tunnels, vnid: uint64(o.VNID), reason: got.Reason(), text: got.Text}
}

// cluster is two nodes.
type cluster []*node

func (v *vswitch) cluster(mode sdn.Mode) cluster { return cluster{v.node(1, mode), v.node(2, mode)} }

func (c cluster) apply() {
	for _, n := range c {
		n.apply()
	}
}

// of returns the node with an address in its block.
func (c cluster) of(a netip.Addr) *node {
	for _, n := range c {
		if n.input.Subnet.Contains(a) {
			return n
		}
	}
	return nil
}

// delivered sends the first packet of a connection from a pod to a pod, and reports whether it arrives. By a Service it passes the kernel first.
func (c cluster) delivered(from, to sdn.Pod, l4 string, service bool) (bool, string) {
	near, far := c.of(from.Address), c.of(to.Address)
	t := near.v.t
	t.Helper()
	port := from.Port
	if service {
		o := near.send(fmt.Sprintf("in_port=%d,%s,nw_src=%s,nw_dst=172.30.0.10", port, l4, from.Address))
		if !o.kernel {
			t.Fatalf("a packet to a Service does not reach the kernel: %s", o.reason)
		}
		port = sdn.NodePort
	}
	o := near.send(fmt.Sprintf("in_port=%d,%s,nw_src=%s,nw_dst=%s", port, l4, from.Address, to.Address))
	if near != far {
		if len(o.tunnels) == 0 {
			return false, o.reason
		}
		if o.tunnels[0] != far.input.Address || o.vnid != uint64(from.VNID) && near.input.Mode != sdn.Subnet {
			t.Fatalf("a packet of VNID %d for %s is sent to %s with VNID %d", from.VNID, to.Address, o.tunnels[0], o.vnid)
		}
		o = far.send(fmt.Sprintf("in_port=%d,tun_src=%s,tun_id=%d,%s,nw_src=%s,nw_dst=%s", sdn.TunnelPort, near.input.Address, o.vnid, l4, from.Address, to.Address))
	}
	if len(o.ports) > 0 && o.ports[0] != to.Port {
		t.Fatalf("a packet for port %d is delivered to port %v", to.Port, o.ports)
	}
	return len(o.ports) == 1, o.reason
}
