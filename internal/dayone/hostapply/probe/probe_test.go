package probe

import (
	"context"
	"net"
	"os/exec"
	"runtime"
	"testing"
	"time"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"

	"github.com/cluster-network-operator/cno/internal/dayone/hostapply"
)

// probe waits for an answer that must come for a minute, and not long for one that must not.
func probe(t *testing.T, p Prober, target hostapply.Target, answers bool) error {
	t.Helper()
	limit := 500 * time.Millisecond
	if answers {
		limit = time.Minute
	}
	ctx, cancel := context.WithTimeout(t.Context(), limit)
	defer cancel()
	return p.Probe(ctx, target)
}

func TestGatewayMustAnswerNowAndNotOnlyBefore(t *testing.T) {
	runtime.LockOSThread() // never unlocked: the thread dies with the test's goroutine, and its namespace with it
	if err := unix.Unshare(unix.CLONE_NEWNET); err != nil {
		t.Fatalf("make network namespace (must be root): %v", err)
	}
	run := func(command string) {
		t.Helper()
		if out, err := exec.Command("sh", "-c", command).CombinedOutput(); err != nil {
			t.Fatalf("%s: %v: %s", command, err, out)
		}
	}
	run("ip link add up0 type veth peer name down0 && ip link set up0 up && ip link set down0 up && ip address add 192.0.2.5/24 dev up0 && ip address add 2001:db8::5/64 dev up0 nodad")
	handle, err := netlink.NewHandle()
	if err != nil {
		t.Fatal(err)
	}
	defer handle.Close()
	p := Prober{Netlink: handle}
	gateway := hostapply.Target{Kind: hostapply.Gateway, Address: "192.0.2.1", Interface: "up0"}
	if probe(t, p, gateway, false) == nil {
		t.Error("a gateway that no one is answers")
	}
	run("ip neigh replace 192.0.2.1 lladdr 52:54:00:00:00:01 dev up0 nud reachable")
	if probe(t, p, gateway, false) == nil {
		t.Error("what the kernel remembers of a gateway counts as its answer")
	}
	run("ip neigh replace 192.0.2.1 lladdr 52:54:00:00:00:01 dev up0 nud permanent")
	if err := probe(t, p, gateway, true); err != nil {
		t.Errorf("a gateway that someone set by hand is asked: %v", err)
	}
	for _, bad := range []hostapply.Target{
		{Kind: hostapply.Gateway, Address: "2001:db8::1", Interface: "up0"}, {Kind: hostapply.Gateway, Address: "192.0.2.1", Interface: "none"},
		{Kind: hostapply.Gateway, Address: "x", Interface: "up0"}, {Kind: "smoke", Address: "192.0.2.1"},
	} {
		if probe(t, p, bad, false) == nil {
			t.Errorf("%s answers", bad)
		}
	}
}

func TestTCP(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	target := hostapply.Target{Kind: hostapply.TCP, Address: listener.Addr().String()}
	if err := probe(t, Prober{}, target, true); err != nil {
		t.Error(err)
	}
	_ = listener.Close()
	if probe(t, Prober{}, target, false) == nil {
		t.Error("a closed port answers")
	}
}

func TestAnyAnswerOfADNSServerIsOne(t *testing.T) {
	conn, err := net.ListenPacket("udp", "127.77.0.53:53")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close() }()
	go refuse(conn)
	if err := probe(t, Prober{}, hostapply.Target{Kind: hostapply.DNS, Address: "127.77.0.53"}, true); err != nil {
		t.Errorf("a server that refuses: %v", err)
	}
	if probe(t, Prober{}, hostapply.Target{Kind: hostapply.DNS, Address: "127.77.0.54"}, false) == nil {
		t.Error("no one answers, and that is an answer")
	}
}

// refuse answers every query with REFUSED.
func refuse(conn net.PacketConn) {
	buffer := make([]byte, 1500)
	for {
		n, from, err := conn.ReadFrom(buffer)
		if err != nil {
			return
		}
		if n < 12 {
			continue
		}
		const response, refused = 0x80, 5
		buffer[2] |= response
		buffer[3] = refused
		_, _ = conn.WriteTo(buffer[:n], from)
	}
}
