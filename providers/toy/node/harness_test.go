package node_test

import (
	"bytes"
	"crypto/rand"
	"fmt"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/containernetworking/cni/libcni"
	current "github.com/containernetworking/cni/pkg/types/100"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"

	operatorv1 "github.com/cluster-network-operator/cno/api/operator/v1"
	"github.com/cluster-network-operator/cno/internal/facts"
	"github.com/cluster-network-operator/cno/internal/testing/eventually"
	"github.com/cluster-network-operator/cno/internal/testing/netns"
	"github.com/cluster-network-operator/cno/providers/toy"
	"github.com/cluster-network-operator/cno/providers/toy/agentconfig"
)

// program is the agent, and plugins the directory of the shim under the name of the network.
var program, plugins string

func TestMain(m *testing.M) {
	os.Exit(func() int {
		dir, err := os.MkdirTemp("", "toy-test-")
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
		defer os.RemoveAll(dir)
		plugins = filepath.Join(dir, "plugins")
		program = filepath.Join(dir, "toy-agent")
		for path, output := range map[string]string{"toy-agent": program, "cno-cni": filepath.Join(plugins, "toy")} {
			build := exec.Command("go", "build", "-o", output, "github.com/cluster-network-operator/cno/cmd/"+path)
			build.Env = append(os.Environ(), "CGO_ENABLED=0")
			if out, err := build.CombinedOutput(); err != nil {
				fmt.Fprintf(os.Stderr, "build %s: %v\n%s", path, err, out)
				return 1
			}
		}
		// The configuration waits for it; no test calls it.
		if err := os.WriteFile(filepath.Join(plugins, "loopback"), nil, 0o755); err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
		return m.Run()
	}())
}

// cluster is a link with nodes on it.
type cluster struct {
	t     testing.TB
	link  netns.Namespace
	nodes []*machine
	spec  operatorv1.NetworkSpec
	facts facts.Cluster
}

func newCluster(t testing.TB, pool string, prefix uint32) *cluster {
	t.Helper()
	c := &cluster{t: t, link: netns.New(t, "link"), facts: facts.Cluster{
		Images: facts.Images{toy.Image: "registry.test/toy:v1"}, NodeAddresses: map[string][]netip.Addr{},
	}}
	c.spec.ClusterNetwork = []operatorv1.ClusterNetworkEntry{{CIDR: pool, HostPrefix: prefix}}
	c.link.Run("ip", "link", "add", "sw0", "type", "bridge")
	c.link.Run("ip", "link", "set", "sw0", "up")
	return c
}

// machine is a node.
type machine struct {
	*cluster
	name   string
	at     netns.Namespace
	dir    string
	config agentconfig.Config
	cmd    *exec.Cmd
}

// node adds a node. Its agent is not started.
func (c *cluster) node() *machine {
	c.t.Helper()
	i := len(c.nodes) + 1
	name := fmt.Sprintf("node%d", i)
	m := &machine{cluster: c, name: name, at: netns.New(c.t, name), dir: c.t.TempDir(), config: agentconfig.Default()}
	c.nodes = append(c.nodes, m)
	c.link.Run("ip", "link", "add", name, "type", "veth", "peer", "name", "eth0", "netns", m.at.Name)
	c.link.Run("ip", "link", "set", name, "master", "sw0", "up")
	m.at.Run("ip", "address", "add", fmt.Sprintf("192.0.2.%d/24", i), "dev", "eth0")
	m.at.Run("ip", "link", "set", "eth0", "up")
	c.facts.NodeAddresses[name] = []netip.Addr{netip.MustParseAddr(fmt.Sprintf("192.0.2.%d", i))}
	m.config.NodesFile, m.config.ConfDir = filepath.Join(m.dir, agentconfig.NodesFile), filepath.Join(m.dir, "net.d")
	m.config.BinDir, m.config.StateDir = plugins, filepath.Join(m.dir, "state")
	// The shim only uses sockets below /run.
	m.config.Socket = "/run/cno-test-" + strings.ToLower(rand.Text()[:8]) + "/cni.sock"
	c.t.Cleanup(func() { _ = os.RemoveAll(filepath.Dir(m.config.Socket)) })
	return m
}

// render gives every node the table that the operator renders.
func (c *cluster) render() {
	c.t.Helper()
	if errs := (toy.Toy{}).Validate(&c.spec); len(errs) > 0 {
		c.t.Fatal(errs.ToAggregate())
	}
	observed, err := toy.New().Observe(c.t.Context(), nil, &c.spec)
	if err != nil {
		c.t.Fatal(err)
	}
	out, err := observed.Render(&c.spec, c.facts)
	if err != nil {
		c.t.Fatal(err)
	}
	for _, o := range out.Objects {
		var cm corev1.ConfigMap
		if o.Object.GetKind() != "ConfigMap" {
			continue
		}
		if err := runtime.DefaultUnstructuredConverter.FromUnstructured(o.Object.Object, &cm); err != nil {
			c.t.Fatal(err)
		}
		for _, m := range c.nodes {
			if err := os.WriteFile(m.config.NodesFile, []byte(cm.Data[agentconfig.NodesFile]), 0o600); err != nil {
				c.t.Fatal(err)
			}
		}
	}
}

// start runs the agent; its log is shown when the test fails.
func (m *machine) start() {
	m.t.Helper()
	data, err := m.config.Encode()
	if err != nil {
		m.t.Fatal(err)
	}
	file := filepath.Join(m.dir, agentconfig.FileName)
	if err := os.WriteFile(file, data, 0o600); err != nil {
		m.t.Fatal(err)
	}
	log := &bytes.Buffer{}
	m.cmd = exec.Command("nsenter", "--net="+m.at.Path(), program, "run", "--config", file, "--log-level", "debug")
	m.cmd.Env = append(os.Environ(), "NODE_NAME="+m.name)
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

// ready waits until pods can be started.
func (m *machine) ready() {
	m.t.Helper()
	eventually.Holds(m.t, m.name+" is ready", func() (string, bool) {
		out, err := m.at.Try("curl", "-s", "-f", "http://"+m.config.HealthAddress+"/readyz")
		return out, err == nil
	})
}

// running is a cluster of some nodes whose agents are ready.
func running(t testing.TB, nodes int, pool string, prefix uint32) *cluster {
	t.Helper()
	c := newCluster(t, pool, prefix)
	for range nodes {
		c.node()
	}
	c.render()
	for _, m := range c.nodes {
		m.start()
	}
	for _, m := range c.nodes {
		m.ready()
	}
	return c
}

// kill ends the agent as a power failure does, stop as kubelet does.
func (m *machine) kill() {
	if m.cmd != nil {
		_ = m.cmd.Process.Kill()
		_ = m.cmd.Wait()
		m.cmd = nil
	}
}

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

// pod is a sandbox, as a container runtime has it.
type pod struct {
	netns.Namespace
	m    *machine
	addr netip.Addr
}

// call calls the plugins of the first configuration as a container runtime does.
func (m *machine) call(sandbox netns.Namespace, do func(*libcni.CNIConfig, *libcni.NetworkConfigList, *libcni.RuntimeConf) error) error {
	files, err := libcni.ConfFiles(m.config.ConfDir, []string{".conf", ".conflist", ".json"})
	if err != nil || len(files) != 1 {
		m.t.Fatalf("the configurations are %v, %v", files, err)
	}
	list, err := libcni.ConfListFromFile(files[0])
	if err != nil {
		m.t.Fatal(err)
	}
	cni := libcni.NewCNIConfigWithCacheDir([]string{plugins}, filepath.Join(m.dir, "cache"), nil)
	return do(cni, list, &libcni.RuntimeConf{ContainerID: sandbox.Name, NetNS: sandbox.Path(), IfName: "eth0"})
}

// attach adds a pod.
func (m *machine) attach(sandbox netns.Namespace) (*pod, error) {
	p := &pod{Namespace: sandbox, m: m}
	return p, m.call(sandbox, func(cni *libcni.CNIConfig, list *libcni.NetworkConfigList, rt *libcni.RuntimeConf) error {
		result, err := cni.AddNetworkList(m.t.Context(), list, rt)
		if err != nil {
			return err
		}
		full, err := current.GetResult(result)
		if err != nil {
			return err
		}
		p.addr, _ = netip.AddrFromSlice(full.IPs[0].Address.IP.To4())
		return nil
	})
}

// pod adds a pod, which must succeed.
func (m *machine) pod() *pod {
	m.t.Helper()
	p, err := m.attach(netns.New(m.t, m.name+"-pod"))
	if err != nil {
		m.t.Fatal(err)
	}
	return p
}

func (p *pod) check() error {
	return p.m.call(p.Namespace, func(cni *libcni.CNIConfig, list *libcni.NetworkConfigList, rt *libcni.RuntimeConf) error {
		return cni.CheckNetworkList(p.m.t.Context(), list, rt)
	})
}

func (p *pod) detach() error {
	return p.m.call(p.Namespace, func(cni *libcni.CNIConfig, list *libcni.NetworkConfigList, rt *libcni.RuntimeConf) error {
		return cni.DelNetworkList(p.m.t.Context(), list, rt)
	})
}

// reaches waits until an address answers.
func reaches(t testing.TB, from netns.Namespace, addr netip.Addr) {
	t.Helper()
	eventually.Holds(t, "ping "+addr.String(), func() (string, bool) {
		out, err := from.Try("ping", "-n", "-c", "1", "-W", "1", addr.String())
		return out, err == nil
	})
}
