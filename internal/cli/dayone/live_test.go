package dayone_test

import (
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"

	"github.com/cluster-network-operator/cno/internal/cli/exit"
	"github.com/cluster-network-operator/cno/internal/dayone/hostapply/kernelstate"
	"github.com/cluster-network-operator/cno/internal/dayone/livestate"
	"github.com/cluster-network-operator/cno/internal/dayone/nmconn"
	"github.com/cluster-network-operator/cno/internal/dayone/nmstate"
)

// manualConfig configures a host with the command ip. The peer of its network card is in another namespace, as that of a real card is on
// another host.
const manualConfig = `ip netns add FAR
ip link add eno1 type veth peer name far netns FAR
ip link add br1 address 52:54:00:00:00:07 type bridge stp_state 0
ip link set eno1 mtu 1400 up
ip link add p1 type veth peer name p2
ip link set p1 master br1 up
ip link set p2 up
ip link set br1 up
ip link add x7 type vxlan id 7 dev eno1 remote 192.0.2.9 dstport 4789
ip link set x7 up
ip address add 192.0.2.10/24 dev eno1
ip address add 2001:db8::10/64 dev eno1 nodad
ip address add 198.51.100.1/24 dev br1
ip route add default via 192.0.2.1 metric 100
ip route add 203.0.113.0/24 via 198.51.100.9 table 100
ip route add blackhole 10.0.0.0/8
ip rule add from 198.51.100.0/24 table 100 priority 1000
ip rule add iif br1 to 10.0.0.0/8 prohibit priority 1001`

// inNamespace runs the rest of the test and the commands in a new network namespace; FAR stands for another one.
func inNamespace(t *testing.T, commands string) {
	t.Helper()
	runtime.LockOSThread() // never unlocked: the thread ends with the test's goroutine, and its namespace with it
	if err := unix.Unshare(unix.CLONE_NEWNET); err != nil {
		t.Fatalf("create a network namespace (requires root): %v", err)
	}
	far := fmt.Sprintf("cno-import-%d", os.Getpid())
	t.Cleanup(func() { _ = exec.Command("ip", "netns", "delete", far).Run() })
	for line := range strings.Lines(strings.ReplaceAll(commands, "FAR", far)) {
		if out, err := exec.Command("sh", "-c", line).CombinedOutput(); err != nil {
			t.Fatalf("%s: %v: %s", line, err, out)
		}
	}
}

func TestAManuallyConfiguredHostIsImportedWithoutDifferences(t *testing.T) {
	f := newDirectory(t)
	f.write("resolv.conf", "search example.org\nnameserver 192.0.2.53\n")
	inNamespace(t, manualConfig)
	status, out, stderr := f.call("", "import", "--live", "--ovsdb", "@none", "--resolv-conf", "@resolv.conf")
	if status != exit.OK {
		t.Fatal(stderr)
	}
	doc, problems := nmstate.Parse("live.yml", []byte(out))
	if err := problems.Err(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	kernel, err := netlink.NewHandle()
	if err != nil {
		t.Fatal(err)
	}
	defer kernel.Close()
	live, err := kernelstate.Reader{Netlink: kernel, ResolvConf: f.path("resolv.conf")}.Read()
	if err != nil {
		t.Fatal(err)
	}
	if differences := livestate.Compare(doc, live); len(differences) > 0 {
		t.Errorf("the host differs from the imported document: %v\n%s", differences, out)
	}
	if files, problems := nmconn.Generate(doc); len(files) == 0 {
		t.Errorf("the imported document generates no profiles: %v\n%s", problems.Err(), out)
	}
	for _, has := range []string{
		"name: eno1\n    state: up\n    type: ethernet\n", "52:54:00:00:00:07", "id: 7\n      remote: 192.0.2.9\n", "- name: p1\n", "route-type: blackhole", "table-id: 100",
		"ip-from: 198.51.100.0/24", "action: prohibit", "iif: br1", "search:\n      - example.org", "mtu: 1400", "ip: 2001:db8::10",
	} {
		if !strings.Contains(out, has) {
			t.Errorf("%q is missing in\n%s", has, out)
		}
	}
	f.write("live.yml", out)
	if status, out, stderr := f.call("", "validate", "-f", "@live.yml", "--without-bridge"); status != exit.OK {
		t.Errorf("the imported document is invalid: %s%s", out, stderr)
	}
	again, _, _ := f.call("", "import", "--live", "--ovsdb", "@none", "--resolv-conf", "@resolv.conf", "--dir", "@out")
	if _, out, _ := f.call("", "diff", "@live.yml", "@out/live.yml", "--exit-code"); again != exit.OK || !strings.Contains(out, "no difference") {
		t.Error(cmp.Diff("no difference", out))
	}
}

func TestAPolicyIsResolvedOnThisHost(t *testing.T) {
	f := newDirectory(t)
	f.write("resolv.conf", "nameserver 192.0.2.53\n")
	f.write("p.yml", uplinkPolicy)
	inNamespace(t, manualConfig)
	status, out, stderr := f.call("", "resolve", "@p.yml", "--live", "--ovsdb", "@none", "--resolv-conf", "@resolv.conf")
	if status != exit.OK {
		t.Fatal(stderr)
	}
	doc, problems := nmstate.Parse("out.yml", []byte(out))
	if err := problems.Err(); err != nil {
		t.Fatalf("the output is not a document: %v\n%s", err, out)
	}
	if got := doc.Interfaces[0]; got.Name != "br1" || got.MACAddress == "" || got.CopyMACFrom != "" || got.LinuxBridge.Port[0].Name != "eno1" {
		t.Errorf("the bridge is %+v\n%s", got, out)
	}
}
