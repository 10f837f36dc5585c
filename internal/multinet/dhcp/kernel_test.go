package dhcp

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/netip"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"crypto/rand"

	current "github.com/containernetworking/cni/pkg/types/100"

	"github.com/cluster-network-operator/cno/internal/testing/eventually"
	"github.com/cluster-network-operator/cno/internal/testing/netns"
)

// asDaemon has the test's own program be the agent, with the directory that it names.
const asDaemon = "CNO_DHCP_TEST_DAEMON"

// plugins is a directory with containernetworking's macvlan and the shim under the name dhcp.
var plugins string

func TestMain(m *testing.M) {
	if dir := os.Getenv(asDaemon); dir != "" {
		ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
		log := slog.New(slog.NewTextHandler(os.Stderr, nil))
		err := (&Daemon{Dir: dir, Socket: os.Args[1], Legacy: os.Args[2], Log: log, Within: 4 * time.Second, Event: func(e Event) { log.Info("event", "reason", e.Reason, "message", e.Message) }}).Run(ctx)
		stop()
		if err != nil {
			log.Error("ends", "error", err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(func() int {
		dir, err := os.MkdirTemp("", "dhcp-test-")
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
		defer func() { _ = os.RemoveAll(dir) }()
		plugins = dir
		// The plugins are pinned by a module of their own.
		for name, build := range map[string][]string{
			"dhcp":    {"build", "-o", filepath.Join(dir, "dhcp"), "github.com/cluster-network-operator/cno/cmd/cno-cni"},
			"macvlan": {"build", "-C", "../../../e2e/components/plugins", "-o", filepath.Join(dir, "macvlan"), "github.com/containernetworking/plugins/plugins/main/macvlan"},
		} {
			c := exec.Command("go", build...)
			c.Env = append(os.Environ(), "CGO_ENABLED=0")
			if out, err := c.CombinedOutput(); err != nil {
				fmt.Fprintf(os.Stderr, "build %s: %v\n%s", name, err, out)
				return 1
			}
		}
		return m.Run()
	}())
}

// lan is a link with a host at which a DHCP server can run, a node, and a pod on the node.
type lan struct {
	t                 *testing.T
	outside, node     netns.Namespace
	pod               netns.Namespace
	dir, socket, leaf string
	log               *lockedBuffer
	agent             *exec.Cmd
	server            *exec.Cmd
}

// The addresses on the link.
const (
	serverAddress = "192.168.77.1"
	lanPrefix     = "192.168.77.0/24"
)

func newLAN(t *testing.T) *lan {
	t.Helper()
	l := &lan{t: t, outside: netns.New(t, "lan"), node: netns.New(t, "node"), pod: netns.New(t, "pod"), dir: t.TempDir(), leaf: filepath.Join(t.TempDir(), "leases"), log: &lockedBuffer{}}
	run := "/run/cnotest-" + strings.ToLower(rand.Text()[:8])
	t.Cleanup(func() { _ = os.RemoveAll(run) })
	l.socket = filepath.Join(run, "cni.sock")
	l.node.Run("ip", "link", "add", "eth0", "type", "veth", "peer", "name", "srv0", "netns", l.outside.Name)
	l.node.Run("ip", "link", "set", "eth0", "up")
	l.outside.Run("ip", "addr", "add", serverAddress+"/24", "dev", "srv0")
	l.outside.Run("ip", "link", "set", "srv0", "up")
	return l
}

// dnsmasq starts the server. It stops with stopServer, or the test.
func (l *lan) dnsmasq(args ...string) {
	l.t.Helper()
	all := append([]string{
		"--net=" + l.outside.Path(), "dnsmasq", "--keep-in-foreground", "--conf-file=/dev/null", "--log-facility=-", "--log-dhcp", "--user=root", "--pid-file=",
		"--port=0", "--interface=srv0", "--bind-interfaces", "--no-ping", "--dhcp-authoritative", "--dhcp-leasefile=" + l.leaf,
	}, args...)
	l.server = exec.Command("nsenter", all...)
	l.start(l.server)
}

func (l *lan) start(c *exec.Cmd) {
	l.t.Helper()
	c.Stdout, c.Stderr = l.log, l.log
	if err := c.Start(); err != nil {
		l.t.Fatal(err)
	}
	l.t.Cleanup(func() { l.kill(c) })
}

// kill ends a process without giving it a chance to clean up.
func (l *lan) kill(c *exec.Cmd) {
	if c.ProcessState != nil {
		return
	}
	_ = c.Process.Kill()
	_ = c.Wait()
}

// startAgent starts the agent, and waits until it serves.
func (l *lan) startAgent() {
	l.t.Helper()
	l.agent = l.process()
	eventually.Holds(l.t, "the agent serves", func() (string, bool) {
		_, err := l.cni("dhcp", "STATUS", `{"cniVersion":"1.1.0","name":"lan","type":"dhcp","socket":"`+l.socket+`"}`)
		return fmt.Sprint(err, l.log), err == nil
	})
}

func (l *lan) process() *exec.Cmd {
	l.t.Helper()
	self, err := os.Executable()
	if err != nil {
		l.t.Fatal(err)
	}
	// These are the capabilities that docs/programs/dhcp.md names, and the container has.
	c := exec.Command("setpriv", "--bounding-set=-all,+sys_admin,+net_raw,+net_admin,+net_bind_service", self, l.socket, l.legacy())
	c.Env = append(os.Environ(), asDaemon+"="+l.dir)
	l.start(c)
	return c
}

// legacy is the socket for the program of containernetworking.
func (l *lan) legacy() string { return filepath.Join(filepath.Dir(l.socket), "legacy", "dhcp.sock") }

// config is that of the network: macvlan on the node's eth0, with keys in "ipam".
func (l *lan) config(ipam string) string {
	return `{"cniVersion":"1.0.0","name":"lan","type":"macvlan","master":"eth0","socket":"` + l.socket + `","ipam":{"type":"dhcp"` + ipam + `}}`
}

// cni calls a plugin as a runtime does, on the node.
func (l *lan) cni(plugin, command, config string) (*current.Result, error) {
	c := exec.Command("nsenter", "--net="+l.node.Path(), filepath.Join(plugins, plugin))
	c.Env = []string{
		"PATH=" + os.Getenv("PATH"), "CNI_COMMAND=" + command, "CNI_CONTAINERID=c1", "CNI_NETNS=" + l.pod.Path(), "CNI_IFNAME=net1", "CNI_PATH=" + plugins,
		"CNI_ARGS=IgnoreUnknown=1;K8S_POD_NAMESPACE=default;K8S_POD_NAME=web-0;K8S_POD_UID=u1",
	}
	c.Stdin = strings.NewReader(config)
	var out, stderr bytes.Buffer
	c.Stdout, c.Stderr = &out, &stderr
	if err := c.Run(); err != nil {
		return nil, fmt.Errorf("%s %s: %w: %s%s", plugin, command, err, out.String(), stderr.String())
	}
	if command != "ADD" {
		return nil, nil
	}
	var result current.Result
	if err := json.Unmarshal(out.Bytes(), &result); err != nil {
		return nil, errors.Join(err, errors.New(out.String()))
	}
	return &result, nil
}

// add attaches the pod, and returns the address of its interface.
func (l *lan) add(ipam string) netip.Addr {
	l.t.Helper()
	result, err := l.cni("macvlan", "ADD", l.config(ipam))
	if err != nil {
		l.t.Fatalf("%v\n%s", err, l.log)
	}
	addr, _ := netip.AddrFromSlice(result.IPs[0].Address.IP.To4())
	if have := l.addresses(); !strings.Contains(have, addr.String()) {
		l.t.Fatalf("net1 has %s, the result %s", have, addr)
	}
	return addr
}

func (l *lan) addresses() string { return l.pod.Run("ip", "-4", "-o", "addr", "show", "dev", "net1") }

// leases is the lease file of dnsmasq.
func (l *lan) leases() string {
	l.t.Helper()
	raw, err := os.ReadFile(l.leaf)
	if err != nil && !os.IsNotExist(err) {
		l.t.Fatal(err)
	}
	return string(raw)
}

func (l *lan) ping() error {
	_, err := l.pod.Try("ping", "-c1", "-W5", serverAddress)
	return err
}

func TestPodGetsAnAddressFromDnsmasqAndReleasesIt(t *testing.T) {
	t.Parallel()
	l := newLAN(t)
	l.dnsmasq("--dhcp-range=192.168.77.10,192.168.77.50,2m", "--dhcp-option=option:classless-static-route,198.51.100.0/24,192.168.77.254")
	l.startAgent()
	addr := l.add(`,"provide":[{"option":"host-name","fromArg":"K8S_POD_NAME"}],"priority":50`)
	if !netip.MustParsePrefix(lanPrefix).Contains(addr) {
		t.Errorf("address %s", addr)
	}
	if err := l.ping(); err != nil {
		t.Error(err)
	}
	if routes := l.pod.Run("ip", "-4", "route", "show", "dev", "net1"); !strings.Contains(routes, "198.51.100.0/24 via 192.168.77.254 metric 50") || strings.Contains(routes, "default") {
		t.Errorf("routes:\n%s", routes)
	}
	fields := strings.Fields(l.leases())
	if len(fields) < 5 || fields[2] != addr.String() || fields[3] != "web-0" || fields[4] != hexColons("\x00c1/lan/net1") {
		t.Errorf("dnsmasq has %q, expected the name web-0 and the identifier c1/lan/net1 in hexadecimal", fields)
	}
	prev := fmt.Sprintf(`,"prevResult":{"cniVersion":"1.0.0","interfaces":[{"name":"net1","sandbox":%q}],"ips":[{"address":"%s/24","interface":0}]}}`, l.pod.Path(), addr)
	if _, err := l.cni("macvlan", "CHECK", strings.TrimSuffix(l.config(""), "}")+prev); err != nil {
		t.Errorf("CHECK: %v", err)
	}
	l.del()
	l.released()
	if _, err := l.cni("macvlan", "DEL", l.config("")); err != nil {
		t.Errorf("repeated DEL: %v", err)
	}
}

// leased is a link with dnsmasq, and a pod that has a lease.
func leased(t *testing.T) *lan {
	t.Helper()
	l := newLAN(t)
	l.dnsmasq("--dhcp-range=192.168.77.10,192.168.77.50,2m")
	l.startAgent()
	l.add("")
	return l
}

// del removes the pod from the link.
func (l *lan) del() {
	l.t.Helper()
	if _, err := l.cni("macvlan", "DEL", l.config("")); err != nil {
		l.t.Error(err)
	}
}

// released waits until dnsmasq has no lease.
func (l *lan) released() {
	l.t.Helper()
	eventually.Holds(l.t, "dnsmasq has no lease", func() (string, bool) { return l.leases() + l.log.String(), l.leases() == "" })
}

func hexColons(text string) string {
	parts := make([]string, len(text))
	for i := range len(text) {
		parts[i] = fmt.Sprintf("%02x", text[i])
	}
	return strings.Join(parts, ":")
}

func TestLeaseOfAKilledAgentIsReleasedByTheNextOne(t *testing.T) {
	t.Parallel()
	l := leased(t)
	l.kill(l.agent)
	l.startAgent()
	if err := l.ping(); err != nil {
		t.Error(err)
	}
	l.del()
	l.released()
}

func TestPodWithoutAServerFailsAndLeavesNothing(t *testing.T) {
	t.Parallel()
	l := newLAN(t)
	l.startAgent()
	_, err := l.cni("macvlan", "ADD", l.config(""))
	if err == nil || !strings.Contains(err.Error(), `"code": 11`) && !strings.Contains(err.Error(), `"code":11`) || !strings.Contains(err.Error(), "no DHCP server answered within 4s") {
		t.Errorf("error %v", err)
	}
	if _, err := l.cni("macvlan", "DEL", l.config("")); err != nil { // as the runtime calls it
		t.Error(err)
	}
	if out, err := l.pod.Try("ip", "link", "show", "dev", "net1"); err == nil {
		t.Errorf("the interface is left: %s", out)
	}
	for _, sub := range []string{"leases", "attachments"} {
		if left, err := os.ReadDir(filepath.Join(l.dir, sub)); err != nil || len(left) != 0 {
			t.Errorf("left in %s: %v, %v", sub, left, err)
		}
	}
}

func TestOfTwoAgentsOneServes(t *testing.T) {
	t.Parallel()
	l := leased(t)
	first := l.agent
	second := l.process()
	eventually.Holds(t, "the second agent waits", func() (string, bool) {
		return l.log.String(), strings.Contains(l.log.String(), "waiting for another process to end")
	})
	if err := first.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if err := first.Wait(); err != nil {
		t.Errorf("the first agent: %v", err)
	}
	if _, err := l.cni("macvlan", "DEL", l.config("")); err != nil { // the shim waits for the second one
		t.Error(err)
	}
	l.released()
	l.kill(second)
}
