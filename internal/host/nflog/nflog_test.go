package nflog_test

import (
	"context"
	"net/netip"
	"testing"
	"time"

	"github.com/containernetworking/plugins/pkg/ns"

	"github.com/cluster-network-operator/cno/internal/host/nflog"
	"github.com/cluster-network-operator/cno/internal/testing/eventually"
	"github.com/cluster-network-operator/cno/internal/testing/netns"
)

func TestParse(t *testing.T) {
	tcp := []byte{0x45, 0, 0, 40, 0, 0, 0, 0, 64, 6, 0, 0, 10, 0, 0, 1, 172, 30, 0, 10, 0x9c, 0x40, 0, 80}
	options := append(append([]byte{0x46}, tcp[1:20]...), append([]byte{0, 0, 0, 0}, tcp[20:]...)...)
	icmp := append([]byte{}, tcp...)
	icmp[9] = 1
	want := nflog.Packet{Source: netip.MustParseAddr("10.0.0.1"), Destination: netip.MustParseAddr("172.30.0.10"), Protocol: 6, DestinationPort: 80}
	for _, row := range []struct {
		why  string
		data []byte
		want nflog.Packet
		ok   bool
	}{
		{"TCP", tcp, want, true},
		{"IP options", options, want, true},
		{"a protocol without ports", icmp, nflog.Packet{Source: want.Source, Destination: want.Destination, Protocol: 1}, true},
		{"cut before the ports", tcp[:22], nflog.Packet{}, false},
		{"cut in the header", tcp[:19], nflog.Packet{}, false},
		{"a header that claims to be shorter than one", append([]byte{0x41}, tcp[1:]...), nflog.Packet{}, false},
		{"IPv6", append([]byte{0x60}, tcp[1:]...), nflog.Packet{}, false},
		{"nothing", nil, nflog.Packet{}, false},
	} {
		if got, ok := nflog.Parse(row.data); got != row.want || ok != row.ok {
			t.Errorf("%s: %+v %t", row.why, got, ok)
		}
	}
}

// TestListen: the kernel reports a logged packet at once, and only that.
func TestListen(t *testing.T) {
	const group = 19111
	at := netns.New(t, "nflog")
	at.Run("ip", "link", "set", "lo", "up")
	at.Run("nft", "add table ip test; add chain ip test out { type filter hook output priority 0; }; add rule ip test out ip daddr 127.0.0.9 udp dport 53 log group 19111 drop")
	packets := make(chan nflog.Packet, 16)
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() {
		ended <- ns.WithNetNSPath(at.Path(), func(ns.NetNS) error {
			return nflog.Listen(ctx, group, func(p nflog.Packet) { packets <- p })
		})
	}()
	var got nflog.Packet
	eventually.Holds(t, "the packet is reported", func() (string, bool) {
		_, _ = at.Try("bash", "-c", "echo >/dev/udp/127.0.0.8/53; echo >/dev/udp/127.0.0.9/53")
		select {
		case got = <-packets:
			return "", true
		case <-time.After(100 * time.Millisecond):
			return "none", false
		}
	})
	local := netip.MustParseAddr("127.0.0.1")
	if want := (nflog.Packet{Source: local, Destination: netip.MustParseAddr("127.0.0.9"), Protocol: 17, DestinationPort: 53}); got != want {
		t.Errorf("the packet is %+v", got)
	}
	cancel()
	if err := <-ended; err != nil {
		t.Errorf("the end of the context: %v", err)
	}
}
