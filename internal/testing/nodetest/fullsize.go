package nodetest

import (
	"encoding/binary"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/containernetworking/plugins/pkg/ns"
	"golang.org/x/sys/unix"

	"github.com/cluster-network-operator/cno/internal/testing/eventually"
	"github.com/cluster-network-operator/cno/internal/testing/netns"
)

// packetEvery is how often a packet is sent.
const packetEvery = 20 * time.Millisecond

// LostWithRoutes is how many packets of a stream may be lost while routes are replaced some times: the kernel discards what a socket sends at the very moment
// when its route is replaced. While MTUs do not fit, all packets of seconds are lost, fifty in each.
const LostWithRoutes = 10

// FullSize is a stream of packets, each as long as the routes of its sender allow at that moment, which must not be split.
type FullSize struct {
	title string
	stop  func()

	mu sync.Mutex
	// missing are packets without an answer, by number: their length and when they were sent.
	missing map[uint32]string
	sent    int
	sizes   []int
	err     error
}

// SendFullSize sends such packets to an address of another namespace, which confirms each with a short one, until the test ends or Check is called.
func SendFullSize(t testing.TB, title string, from, to netns.Namespace, address netip.Addr) *FullSize {
	t.Helper()
	var receiver, sender *net.UDPConn
	err := ns.WithNetNSPath(to.Path(), func(ns.NetNS) (err error) {
		receiver, err = net.ListenUDP("udp", net.UDPAddrFromAddrPort(netip.AddrPortFrom(address, 0)))
		return err
	})
	if err == nil {
		err = ns.WithNetNSPath(from.Path(), func(ns.NetNS) (err error) {
			sender, err = net.DialUDP("udp", nil, receiver.LocalAddr().(*net.UDPAddr))
			return err
		})
	}
	if err == nil {
		err = setOption(sender, address.Is6())
	}
	if err != nil {
		t.Fatal(err)
	}
	f, stopped, done := &FullSize{title: title, missing: map[uint32]string{}}, make(chan struct{}), make(chan struct{})
	f.stop = sync.OnceFunc(func() { close(stopped); <-done })
	t.Cleanup(func() {
		f.stop()
		_, _ = sender.Close(), receiver.Close()
	})
	go confirm(receiver)
	go f.receive(sender)
	go func() {
		defer close(done)
		tick := time.NewTicker(packetEvery)
		defer tick.Stop()
		for number := uint32(1); ; number++ {
			select {
			case <-stopped:
				return
			case <-tick.C:
				f.send(sender, number, address.Is6())
			}
		}
	}()
	return f
}

// confirm answers each packet with the number that it begins with.
func confirm(conn *net.UDPConn) {
	buffer := make([]byte, 1<<16)
	for {
		n, from, err := conn.ReadFrom(buffer)
		if errors.Is(err, net.ErrClosed) {
			return // the test has ended
		}
		if err == nil {
			_, _ = conn.WriteTo(buffer[:min(n, 4)], from) // without an answer, the packet counts as lost
		}
	}
}

// setOption has the kernel refuse packets that are too long for the route, and split none.
func setOption(conn *net.UDPConn, ipv6 bool) error {
	level, option, value := unix.IPPROTO_IP, unix.IP_MTU_DISCOVER, unix.IP_PMTUDISC_DO
	if ipv6 {
		level, option, value = unix.IPPROTO_IPV6, unix.IPV6_MTU_DISCOVER, unix.IPV6_PMTUDISC_DO
	}
	return control(conn, func(fd int) error { return unix.SetsockoptInt(fd, level, option, value) })
}

func control(conn syscall.Conn, do func(fd int) error) error {
	raw, err := conn.SyscallConn()
	if err != nil {
		return err
	}
	var inner error
	return errors.Join(raw.Control(func(fd uintptr) { inner = do(int(fd)) }), inner)
}

// send sends one packet, unless its route allows less by now.
func (f *FullSize) send(conn *net.UDPConn, number uint32, ipv6 bool) {
	level, option, headers := unix.IPPROTO_IP, unix.IP_MTU, 28
	if ipv6 {
		level, option, headers = unix.IPPROTO_IPV6, unix.IPV6_MTU, 48
	}
	size := 0
	err := control(conn, func(fd int) (err error) { size, err = unix.GetsockoptInt(fd, level, option); return err })
	f.mu.Lock()
	defer f.mu.Unlock()
	if err != nil {
		f.err = fmt.Errorf("read the MTU of the route: %w", err)
		return
	}
	packet := make([]byte, size-headers)
	binary.BigEndian.PutUint32(packet, number)
	switch _, err := conn.Write(packet); {
	case errors.Is(err, unix.EMSGSIZE):
		return
	case err != nil:
		f.err = err
		return
	}
	f.sent++
	f.missing[number] = fmt.Sprintf("%d bytes at %s", size, time.Now().UTC().Format("15:04:05.000"))
	if !slices.Contains(f.sizes, size) {
		f.sizes = append(f.sizes, size)
	}
}

// receive notes the answers.
func (f *FullSize) receive(conn *net.UDPConn) {
	answer := make([]byte, 4)
	for {
		_, err := conn.Read(answer)
		if errors.Is(err, net.ErrClosed) {
			return // the test has ended
		}
		f.mu.Lock()
		if err == nil {
			delete(f.missing, binary.BigEndian.Uint32(answer))
		} else {
			f.err = err
		}
		f.mu.Unlock()
	}
}

// lost are the packets without an answer.
func (f *FullSize) lost() []string {
	f.mu.Lock()
	defer f.mu.Unlock()
	var out []string
	for _, packet := range f.missing {
		out = append(out, packet)
	}
	slices.Sort(out)
	return out
}

// Check ends the stream, and fails the test if more packets were lost than are allowed, or if none had one of some lengths.
func (f *FullSize) Check(t testing.TB, allowed int, sizes ...int) {
	t.Helper()
	f.stop()
	eventually.Holds(t, f.title+": all packets but those that may be lost are answered", func() (string, bool) {
		lost := f.lost()
		return fmt.Sprint(lost), len(lost) <= allowed
	})
	f.mu.Lock()
	defer f.mu.Unlock()
	t.Logf("%s: %d packets of %v bytes, %d lost", f.title, f.sent, f.sizes, len(f.missing))
	if f.err != nil {
		t.Errorf("%s: %v", f.title, f.err)
	}
	for _, size := range sizes {
		if !slices.Contains(f.sizes, size) {
			t.Errorf("%s: no packet of %d bytes was sent, but of %v", f.title, size, f.sizes)
		}
	}
}

// HasMTU fails the test if an interface does not have an MTU, or not all routes through it a limit; a limit of 0 is none.
func HasMTU(t testing.TB, at netns.Namespace, link string, mtu, limit int) {
	t.Helper()
	if out := at.Run("ip", "link", "show", link); !strings.Contains(out, fmt.Sprintf("mtu %d ", mtu)) {
		t.Errorf("the MTU should be %d: %s", mtu, out)
	}
	routes := strings.TrimSpace(at.Run("ip", "route", "show", "dev", link))
	limited := strings.Count(routes, fmt.Sprintf(" mtu %d", limit))
	if limit == 0 && strings.Contains(routes, " mtu ") || limit != 0 && limited != strings.Count(routes, "\n")+1 {
		t.Errorf("all routes by %s should have the limit %d:\n%s", link, limit, routes)
	}
}
