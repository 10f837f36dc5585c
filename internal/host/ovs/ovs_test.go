package ovs_test

import (
	"context"
	"crypto/rand"
	"fmt"
	"log/slog"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/containernetworking/plugins/pkg/ns"
	"github.com/google/go-cmp/cmp"

	"github.com/cluster-network-operator/cno/internal/host/ovs"
	"github.com/cluster-network-operator/cno/internal/host/ovsdb"
	"github.com/cluster-network-operator/cno/internal/testing/eventually"
	"github.com/cluster-network-operator/cno/internal/testing/netns"
)

const geneve = 6081

// node is a node with an Open vSwitch of its own, in a network namespace of its own.
type node struct {
	t        testing.TB
	at       netns.Namespace
	underlay ovs.Underlay
	vswitch  ovs.Switch
	config   ovs.Configuration
}

// in runs a function in the node's network namespace.
func (n *node) in(f func() error) {
	n.t.Helper()
	if err := ns.WithNetNSPath(n.at.Path(), func(ns.NetNS) error { return f() }); err != nil {
		n.t.Fatal(err)
	}
}

// newNode starts Open vSwitch on a node whose address is the i-th of the link.
func newNode(t testing.TB, link netns.Namespace, i int) *node {
	t.Helper()
	address := netip.AddrFrom4([4]byte{192, 0, 2, byte(i)})
	name := fmt.Sprintf("node%d", i)
	n := &node{t: t, at: netns.New(t, name)}
	link.Run("ip", "link", "add", name, "type", "veth", "peer", "name", "eth0", "netns", n.at.Name)
	link.Run("ip", "link", "set", name, "master", "sw0", "up")
	n.at.Run("ip", "address", "add", address.String()+"/24", "dev", "eth0")
	n.at.Run("ip", "link", "set", "eth0", "up")
	// As on nodes with kube-proxy, connections are tracked.
	n.at.Run("nft", "add table ip tracking; add chain ip tracking seen { type filter hook prerouting priority 0; }; add rule ip tracking seen ct state new counter")
	n.underlay = ovs.Underlay{
		Namespace: "cnotest-" + strings.ToLower(rand.Text()[:8]) + "-ovs", Bridge: "br-tun", Node: address, Ports: []uint16{geneve}, MTU: 1500, ProcSys: "/proc/sys",
	}
	t.Cleanup(func() {
		n.in(func() error { return n.underlay.Remove(context.Background()) })
		if _, err := os.Stat(n.underlay.Path()); !os.IsNotExist(err) {
			t.Errorf("the namespace is left: %v", err)
		}
	})
	for range 2 { // it may be repeated
		n.in(func() error { return n.underlay.Prepare(t.Context()) })
	}
	dir := t.TempDir()
	n.vswitch = ovs.Switch{
		RunDir: filepath.Join(dir, "run"), DataDir: filepath.Join(dir, "data"), Schema: "/usr/share/openvswitch/vswitch.ovsschema",
		Namespace: n.underlay.Path(), Userspace: true, Log: slog.New(slog.DiscardHandler),
	}
	n.run()
	n.configure()
	return n
}

// run runs Open vSwitch until the test ends.
func (n *node) run() {
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- n.vswitch.Run(ctx) }()
	n.t.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil {
			n.t.Errorf("Open vSwitch ends with %v", err)
		}
	})
}

func (n *node) configure() {
	n.t.Helper()
	eventually.Holds(n.t, "the database answers", func() (string, bool) {
		client, err := ovsdb.Dial(n.t.Context(), n.vswitch.Socket())
		if err != nil {
			return err.Error(), false
		}
		n.config = ovs.Configuration{Client: client}
		return "", true
	})
	n.t.Cleanup(func() { _ = n.config.Client.Close() })
	for _, root := range []ovs.Root{
		{ExternalIDs: map[string]string{"system-id": n.at.Name, "hostname": "x"}},
		{ExternalIDs: map[string]string{"hostname": "y"}, Options: map[string]string{"a": "1"}},
		{}, // keeps what it does not name
	} {
		n.must(n.config.Initialize(n.t.Context(), root))
	}
	results, err := n.config.Client.Transact(n.t.Context(), "Open_vSwitch", ovsdb.Select("Open_vSwitch", []string{"external_ids", "other_config"}))
	n.must(err)
	root := results[0].Rows[0]
	if diff := cmp.Diff([]map[string]string{{"system-id": n.at.Name, "hostname": "y"}, {"a": "1"}}, []map[string]string{root.Map("external_ids"), root.Map("other_config")}); diff != "" {
		n.t.Error(diff)
	}
	for range 2 {
		n.must(n.config.EnsureBridge(n.t.Context(), ovs.Bridge{Name: "br-tun", Userspace: true}))
		n.must(n.config.EnsurePort(n.t.Context(), "br-tun", n.underlay.UplinkPort()))
		n.in(func() error { return n.underlay.Connect(n.t.Context(), n.vswitch.Control()) })
	}
	n.must(n.config.EnsureBridge(n.t.Context(), ovs.Bridge{Name: "br-int", Userspace: true}))
}

func (n *node) must(err error) {
	n.t.Helper()
	if err != nil {
		n.t.Fatal(err)
	}
}

// tunnel adds a tunnel to another node.
func (n *node) tunnel(to *node) {
	n.t.Helper()
	n.must(n.config.EnsurePort(n.t.Context(), "br-int", ovs.Port{Name: "tunnel", Type: "geneve", Options: map[string]string{
		"remote_ip": to.underlay.Node.String(), "key": "7",
	}}))
}

// pod attaches a pod to br-int.
func (n *node) pod(name, address string) netns.Namespace {
	n.t.Helper()
	pod := netns.New(n.t, name)
	pod.Run("ip", "link", "add", "eth0", "mtu", "1442", "type", "veth", "peer", "name", name)
	pod.Run("ip", "link", "set", "dev", name, "netns", n.underlay.Namespace)
	pod.Run("ip", "address", "add", address+"/24", "dev", "eth0")
	pod.Run("ip", "link", "set", "eth0", "up")
	run(n.t, "ip", "-n", n.underlay.Namespace, "link", "set", "dev", name, "mtu", "1442", "up")
	n.must(ns.WithNetNSPath(pod.Path(), func(ns.NetNS) error { return ovs.DisableTxOffload("eth0") }))
	n.must(n.config.EnsurePort(n.t.Context(), "br-int", ovs.Port{Name: name, ExternalIDs: map[string]string{"iface-id": "ns_" + name}}))
	return pod
}

func run(t testing.TB, args ...string) string {
	t.Helper()
	out, err := exec.Command(args[0], args[1:]...).CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %v\n%s", args, err, out)
	}
	return string(out)
}

// reaches waits until a pod reaches another one with packets of a size that are not fragmented.
func reaches(t testing.TB, from netns.Namespace, address string, size int) {
	t.Helper()
	eventually.Holds(t, fmt.Sprintf("ping %s with %d bytes", address, size), func() (string, bool) {
		out, err := from.Try("ping", "-n", "-c", "1", "-W", "1", "-M", "do", "-s", fmt.Sprint(size), address)
		return out, err == nil
	})
}

func TestPodsOfTwoNodesTalkThroughTunnels(t *testing.T) {
	link := netns.New(t, "link")
	link.Run("ip", "link", "add", "sw0", "type", "bridge")
	link.Run("ip", "link", "set", "sw0", "up")
	one, two := newNode(t, link, 1), newNode(t, link, 2)
	one.tunnel(two)
	two.tunnel(one)
	a, b := one.pod("a", "10.0.0.1"), two.pod("b", "10.0.0.2")
	reaches(t, a, "10.0.0.2", 56)
	reaches(t, b, "10.0.0.1", 1442-28)
	tcp(t, a, b, "10.0.0.2:8080")

	t.Run("the kernels of nodes track no tunnel packets", func(t *testing.T) {
		if out := one.at.Run("conntrack", "-L", "-p", "udp"); strings.Contains(out, "dport=6081") {
			t.Errorf("there are entries:\n%s", out)
		}
	})
	t.Run("no packet is lost while interfaces come and go", func(t *testing.T) { survivesLinks(t, one, a, "10.0.0.2") })
	t.Run("records of flows are exported", func(t *testing.T) { exportsRecords(t, one, a, "10.0.0.2") })
	t.Run("ovs-vswitchd is killed", func(t *testing.T) {
		before := pid(t, one.vswitch)
		run(t, "kill", "-9", before)
		eventually.Holds(t, "another one runs and knows the next hop", func() (string, bool) {
			now, err := one.vswitch.Control().Call(t.Context(), "version")
			if err == nil && pid(t, one.vswitch) != before {
				err = ns.WithNetNSPath(one.at.Path(), func(ns.NetNS) error { return one.underlay.Connect(t.Context(), one.vswitch.Control()) })
			}
			return fmt.Sprint(now, err), err == nil && pid(t, one.vswitch) != before
		})
		reaches(t, a, "10.0.0.2", 56)
	})
	t.Run("the database server is killed", func(t *testing.T) {
		run(t, "pkill", "-9", "-f", "ovsdb-server "+one.vswitch.DataDir)
		reaches(t, a, "10.0.0.2", 56)
		one.configure()
		reaches(t, a, "10.0.0.2", 56)
	})
	t.Run("a port is removed", func(t *testing.T) {
		for range 2 {
			one.must(one.config.DeletePort(t.Context(), "br-int", "a"))
		}
		if out, err := a.Try("ping", "-n", "-c", "1", "-W", "1", "10.0.0.2"); err == nil {
			t.Errorf("the pod still reaches others:\n%s", out)
		}
	})
	t.Run("one port at all times has a claim", func(t *testing.T) { claimsAreExclusive(t, one) })
	t.Run("what Open vSwitch cannot do is an error", func(t *testing.T) {
		err := one.config.EnsurePort(t.Context(), "br-int", ovs.Port{Name: "missing"})
		if err == nil || !strings.Contains(err.Error(), "missing: could not open network device") {
			t.Errorf("a port of an interface that does not exist: %v", err)
		}
		if err := one.config.EnsurePort(t.Context(), "br-none", ovs.Port{Name: "x"}); err == nil || !strings.Contains(err.Error(), "configure port x") {
			t.Errorf("a port of a bridge that does not exist: %v", err)
		}
		if _, err := one.vswitch.Control().Call(t.Context(), "none"); err == nil || !strings.Contains(err.Error(), `"none" is not a valid command`) {
			t.Errorf("a command that does not exist: %v", err)
		}
	})
}

// claimsAreExclusive replaces a port by another and back, as ADDs of two sandboxes of a pod do, while lost ports are restored.
func claimsAreExclusive(t *testing.T, n *node) {
	logical := ovs.Claim{"iface-id": "ns_moving"}
	port := func(i int) ovs.Port {
		return ovs.Port{Name: fmt.Sprintf("moving%d", i%2), ExternalIDs: logical}
	}
	inside := filepath.Base(n.underlay.Path())
	run(t, "ip", "-n", inside, "link", "add", port(0).Name, "type", "veth", "peer", "name", port(1).Name)
	n.must(n.config.ReplacePorts(t.Context(), "br-int", port(0), logical))

	var ended atomic.Bool
	var others sync.WaitGroup
	for i := range 2 {
		others.Go(func() {
			for !ended.Load() {
				if _, err := n.config.EnsureClaimedPort(context.Background(), "br-int", port(i), logical); err != nil {
					t.Errorf("restore: %v", err)
				}
			}
		})
	}
	others.Go(func() {
		for !ended.Load() {
			results, err := n.config.Client.Transact(context.Background(), "Open_vSwitch", ovsdb.Select("Interface", []string{"name"}, ovsdb.Includes("external_ids", ovsdb.Map(logical))))
			if err != nil || len(results[0].Rows) != 1 {
				t.Errorf("interfaces with the logical port: %v, %v", results, err)
				return
			}
		}
	})
	for i := range 200 {
		if err := n.config.ReplacePorts(t.Context(), "br-int", port(i), logical); err != nil {
			t.Error(err)
		}
	}
	ended.Store(true)
	others.Wait()

	for i := range 2 {
		// The port that is replaced has both claims.
		n.must(n.config.ReplacePorts(t.Context(), "br-int", port(i), logical, ovs.Claim{"iface-id": logical["iface-id"]}))
	}
	if restored, err := n.config.EnsureClaimedPort(t.Context(), "br-int", port(0), logical); err != nil || restored {
		t.Errorf("a port whose claim another has: %v, %v", restored, err)
	}
	n.must(n.config.DeletePort(t.Context(), "br-int", port(1).Name))
	if restored, err := n.config.EnsureClaimedPort(t.Context(), "br-int", port(0), logical); err != nil || !restored {
		t.Errorf("a port whose claim no other has: %v, %v", restored, err)
	}
	n.must(n.config.DeletePort(t.Context(), "br-int", port(0).Name))
}

// survivesLinks has interfaces come and go where ovs-vswitchd is, as those of pods do, while a pod sends packets to an address. With a copy of
// the kernel's routes, ovs-vswitchd loses 30 packets and more; a busy machine may lose few of its own.
func survivesLinks(t *testing.T, n *node, pod netns.Namespace, address string) {
	done := make(chan string)
	go func() {
		out, _ := pod.Try("ping", "-n", "-q", "-i", "0.005", "-c", "3000", "-W", "5", address)
		done <- out
	}()
	inside := filepath.Base(n.underlay.Path())
	for {
		select {
		case out := <-done:
			_, counts, _ := strings.Cut(out, "transmitted, ")
			var received int
			if _, err := fmt.Sscanf(counts, "%d received", &received); err != nil || received < 2990 {
				t.Errorf("packets are lost: %v\n%s", err, out)
			}
			return
		default:
			run(t, "ip", "-n", inside, "link", "add", "come", "type", "veth", "peer", "name", "go")
			run(t, "ip", "-n", inside, "link", "set", "come", "up")
			run(t, "ip", "-n", inside, "link", "set", "go", "up")
			run(t, "ip", "-n", inside, "link", "delete", "come")
		}
	}
}

// pid is that of ovs-vswitchd; empty if it does not run.
func pid(t testing.TB, s ovs.Switch) string {
	t.Helper()
	out, _ := exec.Command("pgrep", "-f", "ovs-vswitchd unix:"+s.Socket()).Output()
	return strings.TrimSpace(string(out))
}

// tcp sends a megabyte from one pod to another: with offloads, no packet of it would arrive whole.
func tcp(t *testing.T, from, to netns.Namespace, address string) {
	t.Helper()
	got := make(chan int64, 1)
	listening := make(chan error, 1)
	go receive(to, address, listening, got)
	if err := <-listening; err != nil {
		t.Fatal(err)
	}
	if err := send(from, address, 1<<20); err != nil {
		t.Fatal(err)
	}
	if n := <-got; n != 1<<20 {
		t.Errorf("%d bytes of a megabyte have arrived", n)
	}
}
