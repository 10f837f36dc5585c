package nodetest

import (
	"encoding/binary"
	"net"
	"net/netip"
	"sync"
	"testing"
	"time"

	"github.com/containernetworking/plugins/pkg/ns"
	"golang.org/x/sys/unix"

	"github.com/cluster-network-operator/cno/internal/testing/eventually"
	"github.com/cluster-network-operator/cno/internal/testing/netns"
)

// Pace is the time between two packets of a Flow, or two bursts.
const Pace = 2 * time.Millisecond

// Flow is UDP packets from one network namespace to another one, numbered from 1, and what has arrived.
type Flow struct {
	mu      sync.Mutex
	sent    uint64
	arrived map[uint64]time.Time
	stop    func()
	// close frees the port for another flow.
	close func()
}

// Send sends packets with a payload at Pace until the flow is stopped, to an address of the other namespace.
func Send(t testing.TB, from, to netns.Namespace, at netip.AddrPort, payload string) *Flow {
	t.Helper()
	return SendBursts(t, from, to, at, payload, 1)
}

// socketBuffer is the size in bytes of the receiver's buffer: half a second of 10,000 small packets a second, for a test that gets no time.
const socketBuffer = 4 << 20

// SendBursts is Send with a number of packets each time.
func SendBursts(t testing.TB, from, to netns.Namespace, at netip.AddrPort, payload string, burst int) *Flow {
	t.Helper()
	f := &Flow{arrived: map[uint64]time.Time{}}
	receiver := ListenUDP(t, to, at.Port())
	if err := control(receiver, func(fd int) error { return unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_RCVBUFFORCE, socketBuffer) }); err != nil {
		t.Fatal(err)
	}
	sender := DialUDP(t, from, at)
	done := make(chan struct{})
	go func() {
		tick := time.NewTicker(Pace)
		defer tick.Stop()
		for {
			select {
			case <-done:
				return
			case <-tick.C:
			}
			for range burst {
				f.mu.Lock()
				f.sent++
				n := f.sent
				f.mu.Unlock()
				_, _ = sender.Write(append(binary.BigEndian.AppendUint64(nil, n), payload...)) // a packet that cannot be sent is lost, which is what is counted
			}
		}
	}()
	go f.receive(receiver)
	f.stop = sync.OnceFunc(func() { close(done) })
	f.close = sync.OnceFunc(func() { _ = sender.Close(); _ = receiver.Close() })
	t.Cleanup(func() { f.stop(); f.close() })
	return f
}

func (f *Flow) receive(at *net.UDPConn) {
	buffer := make([]byte, 2000)
	for {
		n, err := at.Read(buffer)
		if err != nil {
			return
		}
		if n < 8 {
			continue
		}
		f.mu.Lock()
		f.arrived[binary.BigEndian.Uint64(buffer)] = time.Now()
		f.mu.Unlock()
	}
}

// Lost stops the flow, and returns how many of its packets have not arrived and how long the longest gap was.
func (f *Flow) Lost(t testing.TB) (packets int, gap time.Duration) {
	t.Helper()
	f.stop()
	last, since := -1, time.Now()
	eventually.Holds(t, "no packet is on its way", func() (string, bool) { // two looks half a second apart that see the same
		f.mu.Lock()
		defer f.mu.Unlock()
		if len(f.arrived) != last {
			last, since = len(f.arrived), time.Now()
		}
		return "", time.Since(since) > 500*time.Millisecond
	})
	f.close()
	f.mu.Lock()
	defer f.mu.Unlock()
	var before time.Time
	for n := uint64(1); n <= f.sent; n++ {
		at, ok := f.arrived[n]
		if !ok {
			packets++
			continue
		}
		if !before.IsZero() && at.Sub(before) > gap {
			gap = at.Sub(before)
		}
		before = at
	}
	return packets, gap
}

// Count is how many packets have arrived.
func (f *Flow) Count() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return len(f.arrived)
}

// Foreign is how many packets with numbers have arrived that the flow has not sent.
func (f *Flow) Foreign() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	n := 0
	for number := range f.arrived {
		if number == 0 || number > f.sent {
			n++
		}
	}
	return n
}

// ListenUDP listens at a port of a network namespace.
func ListenUDP(t testing.TB, at netns.Namespace, port uint16) (conn *net.UDPConn) {
	t.Helper()
	if err := ns.WithNetNSPath(at.Path(), func(ns.NetNS) (err error) {
		conn, err = net.ListenUDP("udp", &net.UDPAddr{Port: int(port)})
		return err
	}); err != nil {
		t.Fatal(err)
	}
	return conn
}

// DialUDP sends from a network namespace.
func DialUDP(t testing.TB, at netns.Namespace, to netip.AddrPort) (conn *net.UDPConn) {
	t.Helper()
	if err := ns.WithNetNSPath(at.Path(), func(ns.NetNS) (err error) {
		conn, err = net.DialUDP("udp", nil, net.UDPAddrFromAddrPort(to))
		return err
	}); err != nil {
		t.Fatal(err)
	}
	return conn
}
