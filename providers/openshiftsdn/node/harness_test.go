package node_test

import (
	"crypto/rand"
	"errors"
	"fmt"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/containernetworking/cni/libcni"
	current "github.com/containernetworking/cni/pkg/types/100"
	"github.com/containernetworking/plugins/pkg/ns"
	"golang.org/x/sys/unix"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/cluster-network-operator/cno/api/crds"
	sdnv1 "github.com/cluster-network-operator/cno/api/sdn/v1"
	"github.com/cluster-network-operator/cno/internal/apitest"
	"github.com/cluster-network-operator/cno/internal/host/ovs"
	"github.com/cluster-network-operator/cno/internal/testing/assets"
	"github.com/cluster-network-operator/cno/internal/testing/eventually"
	"github.com/cluster-network-operator/cno/internal/testing/goroutines"
	"github.com/cluster-network-operator/cno/internal/testing/netns"
	"github.com/cluster-network-operator/cno/internal/testing/nodetest"
	"github.com/cluster-network-operator/cno/providers/openshiftsdn/agentconfig"
)

const (
	clusterNetwork = "10.128.0.0/14"
	serviceNetwork = "172.30.0.0/16"
	podMTU         = 1450
)

// program is openshift-sdn-node, and plugins the directory of the shim under the name of the network.
var program, plugins string

func TestMain(m *testing.M) {
	os.Exit(func() int {
		dir, err := os.MkdirTemp("", "openshift-sdn-test-")
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
		defer os.RemoveAll(dir)
		plugins = filepath.Join(dir, "plugins")
		program = filepath.Join(dir, "openshift-sdn-node")
		for path, output := range map[string]string{"openshift-sdn-node": program, "cno-cni": filepath.Join(plugins, agentconfig.Plugin)} {
			build := exec.Command("go", "build", "-o", output, "github.com/cluster-network-operator/cno/cmd/"+path)
			build.Env = append(os.Environ(), "CGO_ENABLED=0")
			if out, err := build.CombinedOutput(); err != nil {
				fmt.Fprintf(os.Stderr, "build %s: %v\n%s", path, err, out)
				return 1
			}
		}
		return m.Run()
	}())
}

// cluster is a link with nodes on it, and an API server.
type cluster struct {
	t          testing.TB
	api        *apitest.Server
	client     client.Client
	kubeconfig string
	link       netns.Namespace
	mode       agentconfig.Mode
	nodes      []*machine
	vnids      map[string]uint32
}

func newCluster(t testing.TB, mode agentconfig.Mode) *cluster {
	t.Helper()
	return clusterWith(t, mode, apitest.Options{})
}

// clusterWith is newCluster with options of the API server in addition.
func clusterWith(t testing.TB, mode agentconfig.Mode, options apitest.Options) *cluster {
	t.Helper()
	goroutines.DumpAfter(t, 5*time.Minute)
	for _, name := range []string{"portmap", "loopback"} {
		link := filepath.Join(plugins, name)
		if _, err := os.Lstat(link); err != nil {
			if err := os.Symlink(filepath.Join(assets.Dir(t, name), name), link); err != nil {
				t.Fatal(err)
			}
		}
	}
	definitions, err := crds.OpenShiftSDN()
	if err != nil {
		t.Fatal(err)
	}
	options.WithoutProjectCRDs, options.CRDs, options.ServiceCIDR = true, definitions, serviceNetwork
	c := &cluster{t: t, api: apitest.Start(t, options), link: netns.New(t, "link"), mode: mode, vnids: map[string]uint32{}}
	if err := sdnv1.AddToScheme(scheme.Scheme); err != nil {
		t.Fatal(err)
	}
	if c.client, err = client.New(c.api.Config, client.Options{Scheme: scheme.Scheme}); err != nil {
		t.Fatal(err)
	}
	c.permissions()
	c.link.Run("ip", "link", "add", "sw0", "type", "bridge")
	c.link.Run("ip", "link", "set", "sw0", "up")
	return c
}

// permissions gives agents the role that they have in a cluster.
func (c *cluster) permissions() {
	c.t.Helper()
	ns := c.api.Namespace(c.t)
	account := c.api.WithRoles(c.t, ns, "sdn", "../assets/clusterrole-sdn.yaml")
	config := clientcmdapi.NewConfig()
	config.Clusters["c"] = &clientcmdapi.Cluster{Server: c.api.Config.Host, CertificateAuthorityData: c.api.Config.CAData}
	config.AuthInfos["u"] = &clientcmdapi.AuthInfo{Token: account.BearerToken}
	config.Contexts["x"] = &clientcmdapi.Context{Cluster: "c", AuthInfo: "u"}
	config.CurrentContext = "x"
	c.kubeconfig = filepath.Join(c.t.TempDir(), "kubeconfig")
	if err := clientcmd.WriteToFile(*config, c.kubeconfig); err != nil {
		c.t.Fatal(err)
	}
}

func (c *cluster) create(object client.Object) {
	c.t.Helper()
	if err := c.client.Create(c.t.Context(), object); err != nil {
		c.t.Fatal(err)
	}
}

// namespace creates a namespace with a VNID, as the controller does.
func (c *cluster) namespace(name string, vnid uint32) {
	c.t.Helper()
	c.create(&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{"name": name}}})
	if c.mode != agentconfig.Subnet {
		c.create(&sdnv1.NetNamespace{ObjectMeta: metav1.ObjectMeta{Name: name}, NetName: name, NetID: vnid})
	}
}

// machine is a node.
type machine struct {
	*cluster
	name    string
	address netip.Addr
	at      netns.Namespace
	config  agentconfig.Config
	file    string
	// tools is a directory whose programs the agent finds before those of the system; empty for none.
	tools string
	// without is a capability that a process of the node lacks; empty for none.
	without privilege
	// plainPods are ends of a bridge without the agent's flows.
	plainPods []netns.Namespace
	// switchd and agent are the node's processes.
	switchd, agent *nodetest.Process
}

// node adds a node with a HostSubnet, and starts Open vSwitch and the agent on it.
func (c *cluster) node() *machine {
	c.t.Helper()
	m := c.stopped()
	m.startSwitch()
	m.startAgent()
	return m
}

// stopped adds a node with a HostSubnet.
func (c *cluster) stopped() *machine {
	c.t.Helper()
	i := len(c.nodes) + 1
	random := strings.ToLower(rand.Text()[:8])
	m := &machine{cluster: c, name: fmt.Sprintf("node%d", i), address: netip.AddrFrom4([4]byte{192, 0, 2, byte(i)})}
	m.at = netns.New(c.t, m.name)
	c.nodes = append(c.nodes, m)
	c.link.Run("ip", "link", "add", m.name, "type", "veth", "peer", "name", "eth0", "netns", m.at.Name)
	c.link.Run("ip", "link", "set", m.name, "master", "sw0", "up")
	m.at.Run("ip", "address", "add", m.address.String()+"/24", "dev", "eth0")
	m.at.Run("ip", "link", "set", "eth0", "up")
	m.at.Run("ip", "link", "set", "lo", "up")
	nodetest.ForwardAPI(c.t, m.at, c.api.Config.Host)
	m.configure(random)
	c.create(&sdnv1.HostSubnet{
		ObjectMeta: metav1.ObjectMeta{Name: m.name, Annotations: map[string]string{sdnv1.AnnotationNodeUID: "u" + random}},
		Host:       m.name, HostIP: m.address.String(), Subnet: fmt.Sprintf("10.128.%d.0/23", 2*i),
	})
	return m
}

func (m *machine) configure(random string) {
	m.t.Helper()
	run, dir := "/run/cno-test-"+random, m.t.TempDir()
	if err := os.MkdirAll(run, 0o700); err != nil {
		m.t.Fatal(err)
	}
	c := agentconfig.Default()
	c.Mode, c.MTU = m.mode, podMTU
	c.ClusterNetworks = []agentconfig.ClusterNetwork{{CIDR: netip.MustParsePrefix(clusterNetwork), HostPrefix: 23}}
	c.ServiceNetwork = netip.MustParsePrefix(serviceNetwork)
	c.CNI = agentconfig.CNI{ConfDir: filepath.Join(dir, "net.d"), BinDir: plugins, Socket: run + "/cni/socket"}
	c.StateDir, c.AddressDir = filepath.Join(dir, "state"), filepath.Join(dir, "networks")
	c.SwitchRunDir, c.SwitchDataDir, c.SwitchNamespace = run+"/ovs", filepath.Join(dir, "ovs"), "cnotest-"+random+"-ovs"
	m.config, m.file = c, filepath.Join(dir, agentconfig.FileName)
	m.write()
	m.t.Cleanup(func() {
		_ = os.RemoveAll(run)
		_ = exec.Command("ip", "netns", "del", c.SwitchNamespace).Run() // it does not exist after cleanup
	})
}

// write writes the configuration, which processes read when they start.
func (m *machine) write() {
	m.t.Helper()
	data, err := m.config.Encode()
	if err != nil {
		m.t.Fatal(err)
	}
	if err := os.WriteFile(m.file, data, 0o600); err != nil {
		m.t.Fatal(err)
	}
}

func (m *machine) start(command string) *nodetest.Process {
	m.t.Helper()
	environment := []string{"NODE_NAME=" + m.name, "KUBECONFIG=" + m.kubeconfig}
	if m.tools != "" {
		environment = append(environment, "PATH="+m.tools+":"+os.Getenv("PATH"))
	}
	return nodetest.Start(m.t, m.at, m.name+", "+command, environment, m.restricted(command, program, command, "--config", m.file)...)
}

func (m *machine) startSwitch() { m.t.Helper(); m.switchd = m.start("switch") }
func (m *machine) startAgent()  { m.t.Helper(); m.agent = m.start("run") }

// ready waits until pods can be started.
func (m *machine) ready() {
	m.t.Helper()
	eventually.Holds(m.t, m.name+" is ready", func() (string, bool) {
		out, err := m.readyz()
		return out, err == nil
	})
}

// readyz returns the answer of the agent's /readyz, and an error unless it is ready.
func (m *machine) readyz() (string, error) {
	return m.at.Try("curl", "-s", "--fail-with-body", "http://"+m.config.NodeHealthAddress+"/readyz")
}

// process returns the process of the node whose command line has a text, empty if there is none.
func (m *machine) process(text string) string {
	out, _ := exec.Command("pgrep", "-f", text).Output()
	return strings.TrimSpace(string(out))
}

// vswitchd returns the process of ovs-vswitchd, empty if it does not run.
func (m *machine) vswitchd() string {
	return m.process("ovs-vswitchd unix:" + m.config.SwitchRunDir + "/db.sock")
}

// databaseID returns the UUID of the root of Open vSwitch's database, empty if there is none.
func (m *machine) databaseID(t testing.TB) string {
	out, _ := exec.CommandContext(t.Context(), "ovs-vsctl", "--db=unix:"+m.config.SwitchRunDir+"/db.sock", "--timeout=5", "--bare", "--columns=_uuid", "list", "Open_vSwitch").Output()
	return strings.TrimSpace(string(out))
}

// kernelDatapath reports whether Open vSwitch uses the datapath of the kernel.
func kernelDatapath(t testing.TB) bool {
	t.Helper()
	kernel, err := ovs.KernelDatapath()
	if err != nil {
		t.Fatal(err)
	}
	return kernel
}

// vsctl changes the database of the node's Open vSwitch by hand.
func (m *machine) vsctl(t testing.TB, arguments ...string) {
	t.Helper()
	netns.Run(t, append([]string{"ovs-vsctl", "--db=unix:" + m.config.SwitchRunDir + "/db.sock", "--timeout=60"}, arguments...)...)
}

// running is a cluster of two nodes whose agents are ready.
func running(t testing.TB, mode agentconfig.Mode) (*cluster, *machine, *machine) {
	t.Helper()
	c := newCluster(t, mode)
	c.namespace("one", 10)
	c.namespace("two", 11)
	for range 2 {
		c.node()
	}
	for _, m := range c.nodes {
		m.ready()
	}
	return c, c.nodes[0], c.nodes[1]
}

// pod is a pod with a sandbox, as a container runtime has it.
type pod struct {
	netns.Namespace
	m         *machine
	ns, name  string
	uid       string
	address   netip.Addr
	hostPorts map[int]int
}

// schedule creates a pod on the node, without a sandbox.
func (m *machine) schedule(namespace, name string, labels map[string]string) *pod {
	m.t.Helper()
	return m.scheduled(&corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name, Labels: labels},
		Spec:       corev1.PodSpec{NodeName: m.name, Containers: []corev1.Container{{Name: "c", Image: "registry.test/c"}}},
	})
}

// scheduled creates a pod, without a sandbox.
func (m *machine) scheduled(object *corev1.Pod) *pod {
	m.t.Helper()
	m.create(object)
	return &pod{Namespace: netns.New(m.t, object.Name), m: m, ns: object.Namespace, name: object.Name, uid: string(object.UID)}
}

// call calls the plugins as a container runtime does.
func (p *pod) call(do func(*libcni.CNIConfig, *libcni.NetworkConfigList, *libcni.RuntimeConf) error) error {
	files, err := libcni.ConfFiles(p.m.config.CNI.ConfDir, []string{".conf", ".conflist", ".json"})
	if err != nil || len(files) != 1 {
		return fmt.Errorf("the configurations are %v, %v", files, err)
	}
	list, err := libcni.ConfListFromFile(files[0])
	if err != nil {
		return err
	}
	rt := &libcni.RuntimeConf{ContainerID: p.Namespace.Name, NetNS: p.Path(), IfName: "eth0", Args: [][2]string{
		{"IgnoreUnknown", "1"}, {"K8S_POD_NAMESPACE", p.ns}, {"K8S_POD_NAME", p.name}, {"K8S_POD_INFRA_CONTAINER_ID", p.Namespace.Name}, {"K8S_POD_UID", p.uid},
	}}
	if len(p.hostPorts) > 0 {
		var all []map[string]any
		for inside, outside := range p.hostPorts {
			all = append(all, map[string]any{"hostPort": outside, "containerPort": inside, "protocol": "tcp"})
		}
		rt.CapabilityArgs = map[string]any{"portMappings": all}
	}
	// Plugins run in the node's network namespace.
	return ns.WithNetNSPath(p.m.at.Path(), func(ns.NetNS) error {
		return do(libcni.NewCNIConfigWithCacheDir([]string{plugins}, filepath.Join(p.m.config.StateDir, "cache"), nil), list, rt)
	})
}

func (p *pod) add() error {
	return p.call(func(cni *libcni.CNIConfig, list *libcni.NetworkConfigList, rt *libcni.RuntimeConf) error {
		result, err := cni.AddNetworkList(p.m.t.Context(), list, rt)
		if err != nil {
			return err
		}
		full, err := current.GetResult(result)
		if err != nil {
			return err
		}
		if len(full.IPs) != 1 {
			return fmt.Errorf("the result has %d addresses", len(full.IPs))
		}
		p.address = netip.MustParsePrefix(full.IPs[0].Address.String()).Addr()
		return nil
	})
}

func (p *pod) check() error {
	return p.call(func(cni *libcni.CNIConfig, list *libcni.NetworkConfigList, rt *libcni.RuntimeConf) error {
		return cni.CheckNetworkList(p.m.t.Context(), list, rt)
	})
}

func (p *pod) del() error {
	return p.call(func(cni *libcni.CNIConfig, list *libcni.NetworkConfigList, rt *libcni.RuntimeConf) error {
		return cni.DelNetworkList(p.m.t.Context(), list, rt)
	})
}

// pod adds a pod, which must succeed. Its address is in its status, as the kubelet reports it.
func (m *machine) pod(namespace, name string, labels map[string]string) *pod {
	m.t.Helper()
	p := m.schedule(namespace, name, labels)
	if err := p.add(); err != nil {
		m.t.Fatalf("ADD of %s: %v", name, err)
	}
	p.report()
	return p
}

func (p *pod) report() {
	p.m.t.Helper()
	object := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: p.ns, Name: p.name}}
	if err := p.m.client.Get(p.m.t.Context(), client.ObjectKeyFromObject(object), object); err != nil {
		p.m.t.Fatal(err)
	}
	apitest.ChangeStatus(p.m.t, p.m.client, object, func() {
		object.Status.Phase, object.Status.PodIP, object.Status.PodIPs = corev1.PodRunning, p.address.String(), []corev1.PodIP{{IP: p.address.String()}}
	})
}

func kubeKey(object client.Object) client.ObjectKey { return client.ObjectKeyFromObject(object) }

// reuse lets several connections of a process have one source port.
func reuse(_, _ string, c syscall.RawConn) error {
	var failure error
	err := c.Control(func(fd uintptr) { failure = unix.SetsockoptInt(int(fd), unix.SOL_SOCKET, unix.SO_REUSEADDR, 1) })
	return errors.Join(err, failure)
}
