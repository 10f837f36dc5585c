package config

import (
	"encoding/binary"
	"fmt"
	"net"
	"net/netip"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/vishvananda/netns"
	"golang.org/x/sys/unix"

	"github.com/cluster-network-operator/cno/e2e/lab/topology"
)

// TestDnsmasqLeasesAddressesOfTheLink runs the unit's program in a network namespace, and asks it from another one.
// It needs root.
func TestDnsmasqLeasesAddressesOfTheLink(t *testing.T) {
	lab, err := topology.New(topology.Options{ControlPlanes: 1, Family: topology.IPv4, Links: 1, DHCP: []int{1}})
	if err != nil {
		t.Fatal(err)
	}
	host := lab.Links[0].Outside()
	server, client := holdNamespace(t), holdNamespace(t)
	inNamespace(t, server, "ip", "link", "add", "eth0", "type", "veth", "peer", "name", "net1", "netns", fmt.Sprint(client))
	inNamespace(t, server, "ip", "addr", "add", host.Addresses[0].String()+"/24", "dev", "eth0")
	inNamespace(t, server, "ip", "link", "set", "eth0", "up")
	inNamespace(t, client, "ip", "link", "set", "net1", "up")

	u, err := Unit(lab, host, Dnsmasq)
	if err != nil {
		t.Fatal(err)
	}
	args := []string{"--target", fmt.Sprint(server), "--net", "--", u.Path}
	for _, arg := range u.Args {
		if strings.HasPrefix(arg, "--dhcp-leasefile=") {
			// The unit's is on the host's own disk.
			arg = "--dhcp-leasefile=" + filepath.Join(t.TempDir(), "leases")
		}
		args = append(args, arg)
	}
	var log strings.Builder
	dnsmasq := exec.Command("nsenter", args...)
	dnsmasq.Stderr = &log
	start(t, dnsmasq)

	offer := discover(t, client, "net1")
	first, last := lab.Links[0].Leases()
	if offer.Less(first) || last.Less(offer) {
		t.Errorf("it offers %s, not %s to %s", offer, first, last)
	}
}

// discover sends DHCPDISCOVER until there is an offer, and returns the address in it (RFC 2131, 2 and 3.1).
func discover(t *testing.T, pid int, device string) netip.Addr {
	t.Helper()
	conn := broadcastSocket(t, pid, device)
	const (
		transaction = 0x6e0c
		offered     = 16
		cookie      = 236
	)
	request := make([]byte, 300)
	copy(request, []byte{1, 1, 6, 0})
	binary.BigEndian.PutUint32(request[4:], transaction)
	request[10] = 0x80 // answer by broadcast: there is no address yet
	copy(request[28:], []byte{2, 0, 0, 0, 0, 7})
	copy(request[cookie:], []byte{99, 130, 83, 99, 53, 1, 1, 255})
	answer := make([]byte, 1500)
	for deadline := time.Now().Add(time.Minute); time.Now().Before(deadline); {
		if _, err := conn.WriteTo(request, &net.UDPAddr{IP: net.IPv4bcast, Port: 67}); err != nil {
			t.Fatal(err)
		}
		if err := conn.SetReadDeadline(time.Now().Add(500 * time.Millisecond)); err != nil {
			t.Fatal(err)
		}
		n, _, err := conn.ReadFrom(answer)
		if err == nil && n > cookie && binary.BigEndian.Uint32(answer[4:]) == transaction {
			a, _ := netip.AddrFromSlice(answer[offered : offered+4])
			return a
		}
	}
	t.Fatal("no offer within a minute")
	return netip.Addr{}
}

// broadcastSocket is one of the client's port on a device of another network namespace.
func broadcastSocket(t *testing.T, pid int, device string) net.PacketConn {
	t.Helper()
	own, err := netns.Get()
	if err != nil {
		t.Fatal(err)
	}
	defer own.Close()
	target, err := netns.GetFromPid(pid)
	if err != nil {
		t.Fatal(err)
	}
	defer target.Close()
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	if err := netns.Set(target); err != nil {
		t.Fatal(err)
	}
	listen := net.ListenConfig{Control: func(_, _ string, c syscall.RawConn) error {
		var failed error
		err := c.Control(func(fd uintptr) {
			if failed = unix.SetsockoptInt(int(fd), unix.SOL_SOCKET, unix.SO_BROADCAST, 1); failed == nil {
				failed = unix.BindToDevice(int(fd), device)
			}
		})
		if err != nil {
			return err
		}
		return failed
	}}
	conn, err := listen.ListenPacket(t.Context(), "udp4", "0.0.0.0:68")
	if err := netns.Set(own); err != nil {
		// The thread is in the wrong namespace: no other test may get it.
		panic(err)
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	return conn
}

func holdNamespace(t *testing.T) int {
	t.Helper()
	cmd := exec.Command("sleep", "1000")
	cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWNET}
	start(t, cmd)
	return cmd.Process.Pid
}

// start runs a command until the test ends.
func start(t *testing.T, cmd *exec.Cmd) {
	t.Helper()
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
		if out, ok := cmd.Stderr.(*strings.Builder); ok && t.Failed() {
			t.Logf("%s:\n%s", cmd.Path, out)
		}
	})
}

func inNamespace(t *testing.T, pid int, args ...string) {
	t.Helper()
	cmd := exec.Command("nsenter", append([]string{"--target", fmt.Sprint(pid), "--net", "--"}, args...)...)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v: %v\n%s", args, err, out)
	}
}
