package node_test

import (
	"bytes"
	"context"
	"fmt"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/cluster-network-operator/cno/internal/testing/eventually"
	"github.com/cluster-network-operator/cno/internal/testing/goroutines"
	"github.com/cluster-network-operator/cno/internal/testing/netns"
	"github.com/cluster-network-operator/cno/providers/flannel/agentconfig"
	"github.com/cluster-network-operator/cno/providers/flannel/node/etcdtest"
)

const prefix = "/coreos.com/network"

// program is the flanneld that all tests run, as it will be run on nodes.
var program string

func TestMain(m *testing.M) {
	os.Exit(func() int {
		dir, err := os.MkdirTemp("", "flanneld-test-")
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
		defer os.RemoveAll(dir)
		program = filepath.Join(dir, "flanneld")
		build := exec.Command("go", "build", "-o", program, "github.com/cluster-network-operator/cno/cmd/flanneld")
		build.Env = append(os.Environ(), "CGO_ENABLED=0")
		if out, err := build.CombinedOutput(); err != nil {
			fmt.Fprintf(os.Stderr, "build flanneld: %v\n%s", err, out)
			return 1
		}
		return m.Run()
	}())
}

// segment is a network that nodes are on: a namespace with a bridge that has the gateway's address. The first
// segment's namespace also runs etcd.
type segment struct {
	t     testing.TB
	netns netns.Namespace
	etcd  *etcdtest.Etcd
	kv    *clientv3.Client
}

// gateway is the address of the segment's bridge.
const gateway = "192.168.0.1"

func newSegment(t testing.TB) *segment {
	t.Helper()
	return newSegmentTLS(t, etcdtest.Files{})
}

func newSegmentTLS(t testing.TB, files etcdtest.Files) *segment {
	t.Helper()
	goroutines.DumpAfter(t, 5*time.Minute)
	s := &segment{t: t, netns: netns.New(t, "sw")}
	s.bridge("sw0", gateway+"/24")
	s.netns.Run("sysctl", "-qw", "net.ipv4.ip_forward=1", "net.ipv6.conf.all.forwarding=1")
	s.etcd = etcdtest.StartTLS(t, s.netns.Path(), gateway, files)
	s.kv = s.etcd.Client()
	return s
}

func (s *segment) bridge(name string, addresses ...string) {
	s.netns.Run("ip", "link", "add", name, "type", "bridge")
	for _, a := range addresses {
		s.netns.Run("ip", "address", "add", a, "dev", name, "nodad")
	}
	s.netns.Run("ip", "link", "set", name, "up")
}

// machine is a node: a namespace with an interface eth0 on the segment, and directories of its own.
type machine struct {
	t       testing.TB
	seg     *segment
	name    string
	address string
	netns   netns.Namespace
	dir     string
	config  agentconfig.Config
	cmd     *exec.Cmd
	log     *bytes.Buffer
	// path, if set, is where flanneld finds programs.
	path string
}

// node adds a node on the segment's bridge sw0.
func (s *segment) node(name, address string) *machine {
	s.t.Helper()
	m := s.machine(name, address)
	m.plug("sw0", address+"/24", gateway)
	return m
}

// machine makes a node without interfaces.
func (s *segment) machine(name, address string) *machine {
	s.t.Helper()
	m := &machine{t: s.t, seg: s, name: name, address: address, netns: netns.New(s.t, name), dir: s.t.TempDir()}
	m.config = agentconfig.Default()
	m.config.Etcd.Endpoints = []string{s.etcd.Endpoint()}
	m.config.Network = agentconfig.Network{IPv4: netip.MustParsePrefix("10.1.0.0/16"), IPv4SubnetLen: 24}
	m.config.CNI.ConfDir, m.config.CNI.BinDir, m.config.CNI.ResultsDir = filepath.Join(m.dir, "net.d"), "", s.t.TempDir()
	m.config.SubnetFile = filepath.Join(m.dir, "subnet.env")
	m.config.StateDir = filepath.Join(m.dir, "state")
	return m
}

// plug connects eth0 to a bridge of the segment.
func (m *machine) plug(bridge, cidr, via string) {
	m.t.Helper()
	m.seg.netns.Run("ip", "link", "add", m.name, "type", "veth", "peer", "name", "eth0", "netns", m.netns.Name)
	m.seg.netns.Run("ip", "link", "set", m.name, "master", bridge, "up")
	m.netns.Run("ip", "address", "add", cidr, "dev", "eth0")
	m.netns.Run("ip", "link", "set", "eth0", "up")
	m.netns.Run("ip", "route", "add", "default", "via", via, "dev", "eth0", "proto", "static", "metric", "100")
}

// start runs flanneld; its log is shown when the test fails.
func (m *machine) start() {
	m.t.Helper()
	data, err := m.config.Encode()
	if err != nil {
		m.t.Fatal(err)
	}
	file := filepath.Join(m.dir, "flanneld.json")
	if err := os.WriteFile(file, data, 0o600); err != nil {
		m.t.Fatal(err)
	}
	log := &bytes.Buffer{}
	m.log = log
	m.cmd = exec.Command("nsenter", "--net="+m.netns.Path(), program, "run", "--config", file, "--log-level", "debug")
	m.cmd.Env = append(os.Environ(), "NODE_NAME="+m.name)
	if m.path != "" {
		m.cmd.Env = append(m.cmd.Env, "PATH="+m.path)
	}
	m.cmd.Stderr = log
	m.cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	if err := m.cmd.Start(); err != nil {
		m.t.Fatal(err)
	}
	m.t.Cleanup(func() {
		m.kill()
		if m.t.Failed() {
			m.t.Logf("%s:\n%s", m.name, log)
		}
	})
}

// ready starts flanneld and waits until pods can be started.
func (m *machine) ready() {
	m.t.Helper()
	m.start()
	m.waitReady()
}

func (m *machine) waitReady() {
	m.t.Helper()
	m.until("the agent is ready", func() (string, bool) {
		out, err := m.netns.Try("curl", "-sf", "http://127.0.0.1:19099/readyz")
		return out, err == nil
	})
}

// stop ends flanneld as kubelets do, kill as power failures do.
func (m *machine) stop() {
	m.t.Helper()
	if err := m.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		m.t.Fatal(err)
	}
	if err := m.cmd.Wait(); err != nil {
		m.t.Errorf("%s ends with %v", m.name, err)
	}
	m.cmd = nil
}

func (m *machine) kill() {
	if m.cmd != nil {
		_ = m.cmd.Process.Kill()
		_ = m.cmd.Wait()
		m.cmd = nil
	}
}

// alive fails the test if flanneld has ended.
func (m *machine) alive() {
	m.t.Helper()
	if err := m.cmd.Process.Signal(syscall.Signal(0)); err != nil {
		m.t.Fatalf("the agent of %s has ended: %v", m.name, err)
	}
}

// until waits for a condition; the string describes the state if it is not met.
func (m *machine) until(what string, condition func() (string, bool)) {
	m.t.Helper()
	eventually.Holds(m.t, m.name+": "+what, condition)
}

// routes is what `ip route` prints, a line a route, without spaces at the ends.
func (m *machine) routes() []string {
	m.t.Helper()
	var out []string
	for line := range strings.Lines(m.netns.Run("ip", "route")) {
		out = append(out, strings.TrimSpace(line))
	}
	return out
}

// hasRoute waits for a route, or with want false for its removal.
func (m *machine) hasRoute(line string, want bool) {
	m.t.Helper()
	m.until(fmt.Sprintf("route %q exists: %v", line, want), func() (string, bool) {
		routes := m.routes()
		for _, r := range routes {
			if r == line {
				return strings.Join(routes, "\n"), want
			}
		}
		return strings.Join(routes, "\n"), !want
	})
}

// to is the route to another node's subnet with host-gw.
func to(other *machine) string {
	other.t.Helper()
	return fmt.Sprintf("%s via %s dev eth0", other.subnet(), other.address)
}

// subnet reads the node's subnet from subnet.env, as other programs do.
func (m *machine) subnet() netip.Prefix {
	m.t.Helper()
	data, err := os.ReadFile(m.config.SubnetFile)
	if err != nil {
		m.t.Fatal(err)
	}
	for line := range strings.Lines(string(data)) {
		if value, ok := strings.CutPrefix(strings.TrimSpace(line), "FLANNEL_SUBNET="); ok {
			return netip.MustParsePrefix(value).Masked()
		}
	}
	m.t.Fatalf("there is no subnet in %s", data)
	return netip.Prefix{}
}

// pod attaches a namespace to the node's bridge, which gets the first address of the subnet and the pod the
// second.
func (m *machine) pod(bridge string) (netns.Namespace, netip.Addr) {
	m.t.Helper()
	subnet := m.subnet()
	gw := subnet.Addr().Next()
	addr := gw.Next()
	pod := netns.New(m.t, m.name+"-pod")
	m.netns.Run("ip", "link", "add", bridge, "type", "bridge")
	m.netns.Run("ip", "address", "add", fmt.Sprintf("%s/%d", gw, subnet.Bits()), "dev", bridge)
	m.netns.Run("ip", "link", "set", bridge, "up")
	m.netns.Run("ip", "link", "add", "pod", "type", "veth", "peer", "name", "eth0", "netns", pod.Name)
	m.netns.Run("ip", "link", "set", "pod", "master", bridge, "up")
	pod.Run("ip", "address", "add", fmt.Sprintf("%s/%d", addr, subnet.Bits()), "dev", "eth0")
	pod.Run("ip", "link", "set", "eth0", "up")
	pod.Run("ip", "route", "add", "default", "via", gw.String())
	return pod, addr
}

// pings waits until an address answers from a namespace, and returns what ping prints.
func pings(t testing.TB, from netns.Namespace, addr netip.Addr) string {
	t.Helper()
	var out string
	eventually.Holds(t, "ping "+addr.String(), func() (string, bool) {
		var err error
		out, err = from.Try("ping", "-n", "-c", "1", "-W", "1", addr.String())
		return out, err == nil
	})
	return out
}

// losesNothing fails the test unless an address answers each of some echo requests from a namespace. A busy machine may answer late.
func losesNothing(t testing.TB, from netns.Namespace, addr netip.Addr) {
	t.Helper()
	if out, err := from.Try("ping", "-n", "-c", "3", "-i", "0.2", "-W", "60", addr.String()); err != nil || !strings.Contains(out, " 0% packet loss") {
		t.Errorf("ping %s: %v: %s", addr, err, out)
	}
}

// restoresAtOnce damages the state of the node ten times, and calls restored, which waits for the repair, after each. The comparison every ten seconds alone
// would repair six of them within the limit.
func (m *machine) restoresAtOnce(what string, damage, restored func()) {
	m.t.Helper()
	began := time.Now()
	for range 10 {
		damage()
		restored()
	}
	if took := time.Since(began); took > eventually.Limit {
		m.t.Errorf("%s: %s, ten times, was repaired in %s", m.name, what, took)
	}
}

// put writes a key.
func (s *segment) put(key, value string) {
	s.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), eventually.Limit)
	defer cancel()
	if _, err := s.kv.Put(ctx, key, value); err != nil {
		s.t.Fatal(err)
	}
}

func (s *segment) remove(key string) {
	s.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), eventually.Limit)
	defer cancel()
	if _, err := s.kv.Delete(ctx, key); err != nil {
		s.t.Fatal(err)
	}
}

func (s *segment) get(key string) (string, bool) {
	s.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), eventually.Limit)
	defer cancel()
	resp, err := s.kv.Get(ctx, key)
	if err != nil {
		s.t.Fatal(err)
	}
	if len(resp.Kvs) == 0 {
		return "", false
	}
	return string(resp.Kvs[0].Value), true
}

// reserve reserves a subnet, as the operator does.
func (s *segment) reserve(node, subnet string) {
	s.t.Helper()
	value, err := agentconfig.Reservation{Node: node, UID: "uid-" + node, Subnet: netip.MustParsePrefix(subnet)}.Encode()
	if err != nil {
		s.t.Fatal(err)
	}
	s.put(agentconfig.ReservationKey(prefix, node), string(value))
}

// reports waits until a node's report is as wanted.
func (m *machine) reports(what string, condition func(agentconfig.AgentStatus) bool) agentconfig.AgentStatus {
	m.t.Helper()
	var status agentconfig.AgentStatus
	m.until("reports "+what, func() (string, bool) {
		value, _ := m.seg.get(agentconfig.AgentKey(prefix, m.name))
		var err error
		status, err = agentconfig.DecodeAgentStatus([]byte(value))
		return value, err == nil && condition(status)
	})
	return status
}

// noSubnet is the IPv6 subnet of nodes without IPv6.
var noSubnet netip.Prefix

func containsAll(s string, parts ...string) bool {
	for _, part := range parts {
		if !strings.Contains(s, part) {
			return false
		}
	}
	return true
}
