package tunnelprobe

import (
	"context"
	"errors"
	"net/netip"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/containernetworking/plugins/pkg/ns"

	"github.com/cluster-network-operator/cno/internal/testing/netns"
)

var address = netip.MustParseAddr("10.128.2.1")

// node answers while it is up. It takes as long as a probe may, if it is down.
type node struct {
	up     atomic.Bool
	probes atomic.Int32
	lose   atomic.Int32 // probes that are lost although it is up
}

func (n *node) probe(ctx context.Context, _ netip.Addr) error {
	n.probes.Add(1)
	if n.up.Load() && n.lose.Add(-1) < 0 {
		return nil
	}
	<-ctx.Done()
	return errors.New("no answer")
}

func TestFailedNodeIsDetectedInTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := &node{}
		n.up.Store(true)
		var changes atomic.Int32
		m := New(n.probe, func() { changes.Add(1) })
		ctx, cancel := context.WithCancel(t.Context())
		if m.State("a") != Unknown {
			t.Error("a node that is not probed has a state")
		}
		m.Watch(ctx, map[string]netip.Addr{"a": address})
		synctest.Wait()
		if m.State("a") != Reachable || changes.Load() != 1 {
			t.Fatalf("state %d after %d changes", m.State("a"), changes.Load())
		}
		time.Sleep(time.Minute)
		if changes.Load() != 1 {
			t.Error("a change is reported of a node that stays")
		}

		n.lose.Store(Attempts - 1)
		time.Sleep(time.Minute)
		if changes.Load() != 1 {
			t.Error("two lost packets are a failure")
		}

		time.Sleep(time.Millisecond) // right after a probe
		n.lose.Store(0)
		n.up.Store(false)
		time.Sleep(Interval + Attempts*Timeout)
		synctest.Wait()
		if m.State("a") != Unreachable {
			t.Error("the failure is not noticed within 4.1 s")
		}
		n.up.Store(true)
		time.Sleep(Interval + Timeout)
		synctest.Wait()
		if m.State("a") != Reachable || changes.Load() != 3 {
			t.Errorf("state %d after %d changes: it is back", m.State("a"), changes.Load())
		}

		m.Watch(ctx, map[string]netip.Addr{"a": address.Next()})
		if m.State("a") != Unknown {
			t.Error("the state of another address is kept")
		}
		m.Watch(ctx, nil)
		before := n.probes.Load()
		time.Sleep(time.Minute)
		if n.probes.Load() > before+1 {
			t.Error("a node is probed that is not watched")
		}
		cancel()
		m.Wait()
	})
}

func TestANodeThatWasNeverSeenIsNotOnline(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := &node{}
		m := New(n.probe, func() {})
		ctx, cancel := context.WithCancel(t.Context())
		m.Watch(ctx, map[string]netip.Addr{"a": address})
		time.Sleep(Timeout)
		synctest.Wait()
		if m.State("a") != Unknown {
			t.Error("one lost packet decides")
		}
		time.Sleep(Attempts * Timeout)
		synctest.Wait()
		if m.State("a") != Unreachable {
			t.Error("it is not lost")
		}
		cancel()
		m.Wait()
	})
}

// TestProbe probes in a network namespace: hosts on its own interface, behind a link, and nowhere.
func TestProbe(t *testing.T) {
	inside := netns.New(t, "probe")
	inside.Run("ip", "link", "add", "tun0", "type", "veth", "peer", "name", "tun0b")
	inside.Run("ip", "link", "set", "tun0b", "up")
	inside.Run("ip", "addr", "add", "10.128.2.1/14", "dev", "tun0")
	inside.Run("ip", "link", "set", "tun0", "up")
	inside.Run("ip", "neigh", "add", "10.128.4.1", "lladdr", "0a:58:0a:80:04:01", "dev", "tun0")
	inside.Run("ip", "route", "add", "unreachable", "10.129.0.0/16")
	for _, test := range []struct {
		reason, address string
		answers         bool
	}{
		{"a host on which nothing listens on the port", "10.128.2.1", true},
		{"a host that is switched off", "10.128.4.1", false},
		{"a host that no one knows", "10.128.6.1", false},
		{"a host without a route", "192.0.2.1", false},
		{"a host that its router reports as unreachable", "10.129.0.1", false},
	} {
		if err := ns.WithNetNSPath(inside.Path(), func(ns.NetNS) error {
			limit := Timeout
			if test.answers {
				limit = time.Minute
			}
			ctx, cancel := context.WithTimeout(t.Context(), limit)
			defer cancel()
			return Probe(ctx, netip.MustParseAddr(test.address))
		}); (err == nil) != test.answers {
			t.Errorf("%s: %v", test.reason, err)
		}
	}
}
