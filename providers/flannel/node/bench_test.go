package node_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/vishvananda/netlink"
	"github.com/vishvananda/netns"
)

// BenchmarkRouteOfANewPeer measures from before a peer's lease is written to etcd until the kernel reports its
// route. Flannel's own daemon is asked for at most a second.
func BenchmarkRouteOfANewPeer(b *testing.B) {
	for _, others := range []int{0, 1000} {
		b.Run(fmt.Sprintf("others=%d", others), func(b *testing.B) {
			seg := newSegment(b)
			m := seg.node("node1", "192.168.0.100")
			m.config.Network.IPv4SubnetLen = 28
			for i := range others {
				seg.put(peerKey(i), peerValue)
			}
			m.ready()
			m.until("the routes of all others exist", func() (string, bool) {
				n := len(m.routes())
				return fmt.Sprint(n), n >= others
			})
			routes := subscribe(b, m)
			var took []time.Duration
			next := others
			for b.Loop() {
				start := time.Now()
				seg.put(peerKey(next), peerValue)
				want := peerSubnet(next)
				for update := range routes {
					if update.Dst != nil && update.Dst.String() == want {
						break
					}
				}
				took = append(took, time.Since(start))
				next++
			}
			slices.Sort(took)
			b.ReportMetric(float64(took[len(took)/2].Microseconds())/1000, "p50-ms")
			b.ReportMetric(float64(took[len(took)*99/100].Microseconds())/1000, "p99-ms")
		})
	}
}

const peerValue = `{"PublicIP":"192.168.0.77","PublicIPv6":null,"BackendType":"host-gw"}`

func peerSubnet(i int) string { return fmt.Sprintf("10.1.%d.%d/28", 1+i/16, i%16*16) }

func peerKey(i int) string {
	return fmt.Sprintf("%s/subnets/10.1.%d.%d-28", prefix, 1+i/16, i%16*16)
}

// subscribe reports changes of a node's routes until the benchmark ends.
func subscribe(b *testing.B, m *machine) <-chan netlink.RouteUpdate {
	b.Helper()
	handle, err := netns.GetFromPath(m.netns.Path())
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = handle.Close() })
	updates := make(chan netlink.RouteUpdate, 1024)
	done := make(chan struct{})
	b.Cleanup(func() { close(done) })
	if err := netlink.RouteSubscribeAt(handle, updates, done); err != nil {
		b.Fatal(err)
	}
	return updates
}
