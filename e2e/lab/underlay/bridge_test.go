package underlay

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"net"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"

	"github.com/cluster-network-operator/cno/e2e/lab/topology"
)

// holdFlag makes the test program act as the process of the underlay: it has
// to start in a network namespace of its own.
const holdFlag = "hold-the-underlay"

// testMTU is not the kernel's default.
const testMTU = 9000

func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == holdFlag {
		l := listenerOf(ListenerFD)
		spec := Spec{Family: topology.DualStack, Links: []topology.Link{{Number: 1}, {Number: 2}}, MTU: testMTU, Port: topology.APIPort}
		err := Hold(context.Background(), spec, l, os.NewFile(ReadyFD, "ready"), slog.Default())
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(m.Run())
}

// TestNodesReachOneAnotherByTheirCables needs root: it makes namespaces.
func TestNodesReachOneAnotherByTheirCables(t *testing.T) {
	lab, err := topology.New(topology.Options{ControlPlanes: 1, Workers: 1, Family: topology.DualStack, MTU: testMTU})
	if err != nil {
		t.Fatal(err)
	}
	outside := startUnderlay(t)
	pids := map[string]int{}
	for _, n := range lab.Nodes {
		pids[n.Name] = startNamespace(t, exec.Command("sleep", "1000"))
		if err := Attach(outside, pids[n.Name], lab, n); err != nil {
			t.Fatal(err)
		}
	}
	cp, worker := lab.Nodes[0], lab.Nodes[1]
	for i := range lab.Family.Underlay() {
		ping(t, pids[cp.Name], worker.Addresses[i].String(), true)
		ping(t, pids[worker.Name], lab.Family.Gateways()[i].String(), true)
		ping(t, outside, worker.Addresses[i].String(), true)
	}
	// Without the headers of IP and ICMP, 28 bytes.
	run(t, pids[cp.Name], "ping", "-c1", "-W2", "-M", "do", "-s", fmt.Sprint(testMTU-28), worker.Primary().String())
	routes := run(t, pids[worker.Name], "ip", "route") + run(t, pids[worker.Name], "ip", "-6", "route")
	for _, want := range []string{"default via 10.89.0.1 dev eth0", "default via fd89::1 dev eth0"} {
		if !strings.Contains(routes, want) {
			t.Errorf("%q is not among the routes\n%s", want, routes)
		}
	}

	if err := SetCable(outside, worker.Name, Device, false); err != nil {
		t.Fatal(err)
	}
	ping(t, pids[cp.Name], worker.Primary().String(), false)
	if err := SetCable(outside, worker.Name, Device, true); err != nil {
		t.Fatal(err)
	}
	ping(t, pids[cp.Name], worker.Primary().String(), true)

	// Removed and created again, as for a node that returns.
	for range 2 {
		if err := Detach(outside, lab, worker); err != nil {
			t.Fatal(err)
		}
	}
	if err := Attach(outside, startNamespace(t, exec.Command("sleep", "1000")), lab, worker); err != nil {
		t.Fatal(err)
	}
	ping(t, pids[cp.Name], worker.Primary().String(), true)
}

func startUnderlay(t *testing.T) int {
	t.Helper()
	l := listen(t)
	listener, err := l.(*net.TCPListener).File()
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	readyR, readyW, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer readyR.Close()
	cmd := exec.Command("/proc/self/exe", holdFlag)
	cmd.ExtraFiles = []*os.File{listener, readyW}
	cmd.Stderr = os.Stderr
	pid := startNamespace(t, cmd)
	readyW.Close()
	if err := awaitReady(readyR); err != nil {
		t.Fatal(err)
	}
	return pid
}

// startNamespace runs the command in a network namespace of its own until the
// test ends.
func startNamespace(t *testing.T, cmd *exec.Cmd) int {
	t.Helper()
	cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWNET}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	return cmd.Process.Pid
}

func ping(t *testing.T, pid int, address string, answers bool) {
	t.Helper()
	// The neighbour has to be found first, so more than one try is allowed.
	cmd := exec.Command("nsenter", "--target", fmt.Sprint(pid), "--net", "--", "ping", "-n", "-q", "-c1", "-w2", address)
	if out, err := cmd.CombinedOutput(); (err == nil) != answers {
		t.Errorf("ping %s: answered %t, want %t\n%s", address, err == nil, answers, out)
	}
}

func run(t *testing.T, pid int, args ...string) string {
	t.Helper()
	cmd := exec.Command("nsenter", append([]string{"--target", fmt.Sprint(pid), "--net", "--"}, args...)...)
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	if err := cmd.Run(); err != nil {
		t.Fatalf("%v: %v\n%s", args, err, out.String())
	}
	return out.String()
}

func listenerOf(fd uintptr) net.Listener {
	l, err := net.FileListener(os.NewFile(fd, "listener"))
	if err != nil {
		panic(err)
	}
	return l
}
