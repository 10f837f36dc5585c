package netlinkovs

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"hash/crc32"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/cluster-network-operator/cno/internal/testing/eventually"
)

// The lab is two network namespaces, a host and its router, with a cable between them, and an Open vSwitch of the
// host's own with its datapath in user space.
type lab struct {
	t            testing.TB
	host, router string // names of namespaces
	disk, run    string // what a power cut leaves, and what it does not
	daemons      []*exec.Cmd
	dns          string // resolv.conf
}

const (
	routerIP = "192.168.111.1"
	cardMAC  = "00:d7:a3:95:42:1f"
)

func newLab(t testing.TB) *lab {
	t.Helper()
	id := filepath.Base(filepath.Dir(t.TempDir()))
	id = fmt.Sprintf("%08x", crc32.ChecksumIEEE([]byte(id)))
	l := &lab{t: t, host: "cno-h-" + id, router: "cno-r-" + id, disk: t.TempDir(), run: t.TempDir()}
	l.dns = filepath.Join(l.disk, "resolv.conf")
	l.must("ip", "netns", "add", l.router)
	t.Cleanup(func() {
		l.stop()
		_ = exec.Command("ip", "netns", "del", l.router).Run()
	})
	l.on(l.router, "ip", "link", "add", "lan0", "type", "bridge", "forward_delay", "0")
	l.on(l.router, "ip", "address", "add", routerIP+"/24", "dev", "lan0")
	l.on(l.router, "ip", "address", "add", "2001:db8:111::1/64", "dev", "lan0", "nodad")
	l.on(l.router, "ip", "link", "set", "lan0", "up")
	if err := os.WriteFile(l.dns, []byte("nameserver 192.0.2.53\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	l.must("ovsdb-tool", "create", filepath.Join(l.disk, "conf.db"), "/usr/share/openvswitch/vswitch.ovsschema")
	l.boot()
	return l
}

// boot starts the host: a network namespace with one card, and Open vSwitch.
func (l *lab) boot() {
	l.t.Helper()
	l.must("ip", "netns", "add", l.host)
	l.on(l.host, "ip", "link", "set", "lo", "up")
	l.plug("enp2s0", "cable0", cardMAC)
	l.ovs()
}

func (l *lab) plug(card, cable, mac string) {
	l.t.Helper()
	l.on(l.router, "ip", "link", "add", cable, "type", "veth", "peer", "name", card, "address", mac, "netns", l.host)
	l.on(l.router, "ip", "link", "set", cable, "master", "lan0", "up")
	// Packets that a router sends itself have no checksum before a real card; user space does not add it.
	l.on(l.router, "ethtool", "-K", cable, "tx", "off")
}

func (l *lab) ovs() {
	l.t.Helper()
	l.daemon(l.host, "ovsdb-server", filepath.Join(l.disk, "conf.db"), "--remote=punix:"+l.socket(), "-vconsole:warn", "--unixctl="+filepath.Join(l.run, "db.ctl"))
	l.eventually("ovsdb-server listens", func() error {
		conn, err := net.Dial("unix", l.socket())
		if err == nil {
			_ = conn.Close()
		}
		return err
	})
	l.must("ovs-vsctl", "--no-wait", "--db=unix:"+l.socket(), "init")
	l.daemon(l.host, "/usr/lib/openvswitch-switch/ovs-vswitchd", "unix:"+l.socket(), "--disable-system", "-vconsole:warn", "--unixctl="+filepath.Join(l.run, "vs.ctl"),
		"--pidfile="+filepath.Join(l.run, "vs.pid"))
	l.eventually("ovs-vswitchd works", func() error {
		out, err := exec.Command("ovs-vsctl", "--db=unix:"+l.socket(), "--timeout=5", "get", "Open_vSwitch", ".", "datapath_types").CombinedOutput()
		if err != nil || !strings.Contains(string(out), "netdev") {
			return fmt.Errorf("%w: %s", err, out)
		}
		return nil
	})
}

func (l *lab) socket() string { return filepath.Join(l.run, "db.sock") }

// powerCut ends the host with everything in it but its disk, and boots it again.
func (l *lab) powerCut() {
	l.t.Helper()
	l.stop()
	l.run = l.t.TempDir()
	l.eventually("the old cable is gone", func() error {
		if exec.Command("ip", "-n", l.router, "link", "show", "cable0").Run() == nil {
			return fmt.Errorf("it is there")
		}
		return nil
	})
	l.boot()
}

func (l *lab) stop() {
	for _, d := range l.daemons {
		_ = d.Process.Kill()
		_ = d.Wait()
	}
	l.daemons = nil
	_ = exec.Command("ip", "netns", "del", l.host).Run()
}

// leases starts a DHCP server on the router.
func (l *lab) leases() {
	l.t.Helper()
	l.daemon(l.router, "dnsmasq", "--keep-in-foreground", "--interface=lan0", "--bind-interfaces", "--conf-file=/dev/null", "--user=root",
		"--dhcp-authoritative", "--no-resolv", "--no-hosts", "--no-ping", "--dhcp-range=192.168.111.20,192.168.111.80,2m",
		"--dhcp-option=option:domain-name,lab.example.com", "--dhcp-leasefile="+filepath.Join(l.disk, "leases"), "--pid-file=")
}

func (l *lab) daemon(ns, name string, args ...string) {
	l.t.Helper()
	cmd := exec.Command("ip", append([]string{"netns", "exec", ns, name}, args...)...)
	cmd.Env = append(os.Environ(), "OVS_RUNDIR="+l.run)
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	if err := cmd.Start(); err != nil {
		l.t.Fatal(err)
	}
	l.daemons = append(l.daemons, cmd)
	l.t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
		if l.t.Failed() && out.Len() > 0 {
			l.t.Logf("%s: %s", name, out.String())
		}
	})
}

func (l *lab) must(name string, args ...string) string {
	l.t.Helper()
	out, err := exec.Command(name, args...).CombinedOutput()
	if err != nil {
		l.t.Fatalf("%s %s: %v: %s (needs root, and the packages openvswitch-switch, dnsmasq-base, ethtool)", name, strings.Join(args, " "), err, out)
	}
	return string(out)
}

func (l *lab) on(ns, name string, args ...string) string {
	l.t.Helper()
	return l.must("ip", append([]string{"netns", "exec", ns, name}, args...)...)
}

func (l *lab) ping(to string) error {
	out, err := exec.Command("ip", "netns", "exec", l.host, "ping", "-n", "-c1", "-W1", to).CombinedOutput()
	if err != nil {
		return fmt.Errorf("ping %s: %w: %s", to, err, out)
	}
	return nil
}

// static gives the card the address that it has before anything is applied.
func (l *lab) static() {
	l.t.Helper()
	l.on(l.host, "ip", "link", "set", "enp2s0", "up")
	l.on(l.host, "ip", "address", "add", "192.168.111.110/24", "dev", "enp2s0")
	l.on(l.host, "ip", "link", "property", "add", "dev", "enp2s0", "altname", "old")
	l.on(l.host, "ip", "route", "add", "default", "via", routerIP, "dev", "enp2s0")
	l.reachable()
}

func (l *lab) reachable() {
	l.t.Helper()
	l.eventually("the router answers", func() error { return l.ping(routerIP) })
}

func (l *lab) eventually(what string, f func() error) {
	l.t.Helper()
	var err error
	eventually.IsOrShow(l.t, eventually.Limit, what, func() bool { err = f(); return err == nil }, func() string { return fmt.Sprintf("%v\n%s", err, l.show()) })
}

func (l *lab) show() string {
	out, _ := exec.Command("ip", "netns", "exec", l.host, "sh", "-c", "ip -br link; ip -br address; ip route; ip -6 route").CombinedOutput()
	ovs, _ := exec.Command("ovs-vsctl", "--db=unix:"+l.socket(), "--timeout=2", "show").CombinedOutput()
	return string(out) + string(ovs)
}

// child is what the test binary does when it is started as the program of the host.
type child struct {
	Documents, Dir, Report, Marker string
	Socket, ResolvConf, Leases     string
	Boot                           string
	Automatic                      bool
	// DieAt is the number of the step at which the process kills itself; 0 lives.
	DieAt         int
	Verify, Apply time.Duration
	// Keep renews leases once in place of a pass, Later than it is.
	Keep  bool
	Later time.Duration
}

const childVariable = "CNO_HOSTAPPLY_CHILD"

// outcome is how a pass of the host's program ended.
type outcome struct {
	Result  string `json:"result"`
	Message string `json:"message"`
	Killed  bool   `json:"-"`
	Log     string `json:"-"`
}

// pass runs the host's program once.
func (l *lab) pass(change func(*child)) outcome {
	l.t.Helper()
	c := child{
		Documents: filepath.Join(l.disk, "documents"), Dir: filepath.Join(l.disk, "state"), Report: filepath.Join(l.run, "report.json"),
		Marker: filepath.Join(l.disk, "applied"), Socket: l.socket(), ResolvConf: l.dns, Leases: filepath.Join(l.run, "leases"),
		Boot: l.run, Verify: time.Minute, Apply: time.Minute,
	}
	if change != nil {
		change(&c)
	}
	data, err := json.Marshal(c)
	if err != nil {
		l.t.Fatal(err)
	}
	self, err := os.Executable()
	if err != nil {
		l.t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, "ip", "netns", "exec", l.host, self)
	cmd.Env = append(os.Environ(), childVariable+"="+string(data))
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	_ = cmd.Run() // how it ended is looked at below
	out := outcome{Log: stderr.String()}
	if status, ok := cmd.ProcessState.Sys().(syscall.WaitStatus); ok && status.Signaled() {
		out.Killed = true
		return out
	}
	if err := json.Unmarshal(stdout.Bytes(), &out); err != nil {
		l.t.Fatalf("the host's program printed no report: %v\n%s%s", err, stdout.String(), stderr.String())
	}
	return out
}

func (l *lab) document(name, text string) {
	l.t.Helper()
	dir := filepath.Join(l.disk, "documents")
	if err := os.MkdirAll(dir, 0o755); err != nil {
		l.t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
		l.t.Fatal(err)
	}
}

func (l *lab) want(o outcome, result string) {
	l.t.Helper()
	if o.Killed || o.Result != result {
		l.t.Fatalf("the pass ended %q (killed: %t), want %q: %s\n%s\n%s", o.Result, o.Killed, result, o.Message, o.Log, l.show())
	}
}
