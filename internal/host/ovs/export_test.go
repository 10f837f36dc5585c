package ovs_test

import (
	"context"
	"encoding/binary"
	"fmt"
	"net"
	"net/netip"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/containernetworking/plugins/pkg/ns"

	"github.com/cluster-network-operator/cno/internal/host/ovs"
	"github.com/cluster-network-operator/cno/internal/testing/eventually"
	"github.com/cluster-network-operator/cno/internal/testing/netns"
)

// collect counts the records that arrive at an address of a node with the version of a protocol in their first bytes.
func (n *node) collect(address netip.AddrPort, version []byte) *atomic.Int64 {
	n.t.Helper()
	var conn net.PacketConn
	n.in(func() (err error) { conn, err = net.ListenPacket("udp", address.String()); return err })
	n.t.Cleanup(func() { _ = conn.Close() })
	got := &atomic.Int64{}
	go func() {
		buffer := make([]byte, 9000)
		for {
			size, _, err := conn.ReadFrom(buffer)
			if err != nil {
				return
			}
			if size > len(version) && string(buffer[:len(version)]) == string(version) {
				got.Add(1)
			}
		}
	}()
	return got
}

// exportsRecords: a bridge sends records of its packets to collectors, of NetFlow in version 5 and of sFlow in version 5 with the node's address,
// while pods send packets.
func exportsRecords(t *testing.T, n *node, from netns.Namespace, to string) {
	at := func(port uint16) []netip.AddrPort { return []netip.AddrPort{netip.AddrPortFrom(n.underlay.Node, port)} }
	netflow := n.collect(at(2055)[0], []byte{0, 5})
	agent := binary.BigEndian.AppendUint32(binary.BigEndian.AppendUint32(nil, 5), 1)
	sflow := n.collect(at(6343)[0], append(agent, n.underlay.Node.AsSlice()...))
	ctx := t.Context()
	want := ovs.Export{NetFlow: at(2055), SFlow: at(6343), IPFIX: append(at(4739), at(4740)...), Agent: n.underlay.Node}
	n.must(n.config.EnsureExport(ctx, "br-int", want))
	steps := func() string {
		return run(t, "ovs-vsctl", "--db=unix:"+n.vswitch.Socket(), "--bare", "--columns=next_cfg", "list", "Open_vSwitch")
	}
	before := steps()
	n.must(n.config.EnsureExport(ctx, "br-int", want))
	if after := steps(); after != before {
		t.Errorf("the same collectors are written again: %s, %s", before, after)
	}
	if out := run(t, "ovs-vsctl", "--db=unix:"+n.vswitch.Socket(), "--bare", "--columns=targets,sampling,cache_active_timeout", "list", "IPFIX"); strings.Join(strings.Fields(out), " ") != "192.0.2.1:4739 192.0.2.1:4740 400 60" {
		t.Errorf("the settings of IPFIX are %q", out)
	}
	flood, stop := context.WithCancel(ctx)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		for flood.Err() == nil {
			_ = ns.WithNetNSPath(from.Path(), func(ns.NetNS) error { return datagrams(to, 200) })
		}
	}()
	eventually.Holds(t, "records arrive", func() (string, bool) {
		return fmt.Sprintf("NetFlow %d, sFlow %d", netflow.Load(), sflow.Load()), netflow.Load() > 0 && sflow.Load() > 0
	})
	stop()
	<-ended
	n.must(n.config.EnsureExport(ctx, "br-int", ovs.Export{SFlow: at(6344)}))
	if out := run(t, "ovs-vsctl", "--db=unix:"+n.vswitch.Socket(), "--bare", "--columns=netflow,ipfix", "list", "Bridge", "br-int"); strings.TrimSpace(out) != "" {
		t.Errorf("NetFlow and IPFIX are left: %s", out)
	}
	n.must(n.config.EnsureExport(ctx, "br-int", ovs.Export{}))
	if out := run(t, "ovs-vsctl", "--db=unix:"+n.vswitch.Socket(), "list", "sFlow"); strings.TrimSpace(out) != "" {
		t.Errorf("sFlow is left: %s", out)
	}
	if err := n.config.EnsureExport(ctx, "br-none", want); err == nil || !strings.Contains(err.Error(), "bridge br-none does not exist") {
		t.Errorf("a bridge that does not exist: %v", err)
	}
}

// datagrams sends some, each from another port: a flow of its own.
func datagrams(to string, count int) error {
	for i := range count {
		conn, err := net.Dial("udp", net.JoinHostPort(to, fmt.Sprint(9000+i%8)))
		if err != nil {
			return err
		}
		_, err = conn.Write([]byte("x"))
		if closing := conn.Close(); err == nil {
			err = closing
		}
		if err != nil {
			return err
		}
	}
	return nil
}
