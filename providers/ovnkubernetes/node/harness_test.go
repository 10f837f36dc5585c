package node_test

import (
	"crypto/rand"
	"fmt"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/cluster-network-operator/cno/internal/apitest"
	"github.com/cluster-network-operator/cno/internal/host/ovs"
	"github.com/cluster-network-operator/cno/internal/testing/assets"
	"github.com/cluster-network-operator/cno/internal/testing/eventually"
	"github.com/cluster-network-operator/cno/internal/testing/goroutines"
	"github.com/cluster-network-operator/cno/internal/testing/netns"
	"github.com/cluster-network-operator/cno/internal/testing/nodetest"
	"github.com/cluster-network-operator/cno/providers/ovnkubernetes/topology"
)

const (
	clusterNetwork = "10.128.0.0/14"
	serviceNetwork = "172.30.0.0/16"
	podMTU         = 1400
)

// program is ovnkube, and plugins the directory of the shim under the name of the network.
var program, plugins string

func TestMain(m *testing.M) {
	os.Exit(func() int {
		dir, err := os.MkdirTemp("", "ovnkube-test-")
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
		defer os.RemoveAll(dir)
		plugins = filepath.Join(dir, "plugins")
		program = filepath.Join(dir, "ovnkube")
		for path, output := range map[string]string{"ovnkube": program, "cno-cni": filepath.Join(plugins, "ovn-k8s-cni-overlay")} {
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

// cluster is a link with nodes on it, an API server, and the databases of OVN on its first node.
type cluster struct {
	t     testing.TB
	api   *apitest.Server
	token string
	link  netns.Namespace
	nodes []*machine
	tls   string
	ns    string
	// blocks are what a master would give nodes.
	blocks map[string]netip.Prefix
	pods   int
	// port is the UDP port of Geneve.
	port int
	// pools and services are the networks of pods and Services. links are those of nodes, one of each IP family that nodes have.
	pools, services string
	links           []netip.Prefix
	// certified is the CA of the databases.
	certified authority
	// masterToken is the token of a master, where there is one.
	masterToken string
}

// newCluster starts an API server and prepares a link for nodes.
func newCluster(t testing.TB) *cluster {
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
	c := &cluster{t: t, api: apitest.Start(t, apitest.Options{WithoutProjectCRDs: true}), link: netns.New(t, "link"), tls: t.TempDir(), blocks: map[string]netip.Prefix{}, port: 6081}
	c.pools, c.services, c.links = clusterNetwork+"/23", serviceNetwork, []netip.Prefix{netip.MustParsePrefix("192.0.2.0/24")}
	c.ns = c.api.Namespace(t)
	c.permissions()
	c.certified = newAuthority(t)
	c.trust(c.certified)
	c.present(c.certified)
	c.link.Run("ip", "link", "add", "sw0", "type", "bridge")
	c.link.Run("ip", "link", "set", "sw0", "up")
	return c
}

// permissions are all that an agent has.
func (c *cluster) permissions() {
	c.t.Helper()
	account := c.api.ServiceAccount(c.t, c.ns, "node")
	c.token = filepath.Join(c.t.TempDir(), "token")
	c.write(c.token, account.BearerToken)
	c.write(filepath.Join(c.tls, "api.crt"), string(c.api.Config.CAData))
	c.create(&rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: "node-agent"}, Rules: []rbacv1.PolicyRule{
		{APIGroups: []string{""}, Resources: []string{"nodes", "pods"}, Verbs: []string{"get", "list", "watch"}},
		{APIGroups: []string{"events.k8s.io"}, Resources: []string{"events"}, Verbs: []string{"create", "patch"}},
	}})
	c.create(&rbacv1.ClusterRoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: "node-agent"}, RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "node-agent"},
		Subjects: []rbacv1.Subject{{Kind: "ServiceAccount", Namespace: c.ns, Name: "node"}},
	})
}

func (c *cluster) write(file, content string) {
	c.t.Helper()
	if err := os.WriteFile(file, []byte(content), 0o600); err != nil {
		c.t.Fatal(err)
	}
}

// machine is a node.
type machine struct {
	*cluster
	name string
	// addresses are one of each IP family. address is that for tunnels.
	addresses []netip.Addr
	address   netip.Addr
	at        netns.Namespace
	// toAPI is the way of the node to the API server.
	toAPI *nodetest.Forwarder
	// dir has all that is kept, run the sockets: paths of sockets are short.
	dir, run  string
	vswitchNS string
	// reporter is the name of the agent's pod; empty has it report nothing.
	reporter  string
	processes map[string]*nodetest.Process
}

// node adds a node, on which nothing runs yet.
func (c *cluster) node() *machine {
	c.t.Helper()
	i := len(c.nodes) + 1
	random := strings.ToLower(rand.Text()[:8])
	m := &machine{
		cluster: c, name: fmt.Sprintf("node%d", i), dir: c.t.TempDir(), run: "/run/cno-test-" + random,
		vswitchNS: "cnotest-" + random + "-ovs", processes: map[string]*nodetest.Process{},
	}
	m.at = netns.New(c.t, m.name)
	c.nodes = append(c.nodes, m)
	if err := os.MkdirAll(m.run, 0o700); err != nil {
		c.t.Fatal(err)
	}
	c.t.Cleanup(func() {
		_ = os.RemoveAll(m.run)
		_ = exec.Command("ip", "netns", "del", m.vswitchNS).Run() // it does not exist after cleanup
	})
	c.link.Run("ip", "link", "add", m.name, "type", "veth", "peer", "name", "eth0", "netns", m.at.Name)
	c.link.Run("ip", "link", "set", m.name, "master", "sw0", "up")
	m.at.Run("ip", "link", "set", "eth0", "up")
	for _, l := range c.links {
		m.addresses = append(m.addresses, onLink(m.at, l, i))
	}
	m.address = m.addresses[slices.IndexFunc(m.addresses, func(a netip.Addr) bool { return a.Is6() == strings.Contains(strings.Split(c.pools, ",")[0], ":") })]
	m.toAPI = nodetest.ForwardAPI(m.t, m.at, m.api.Config.Host)
	return m
}

// onLink gives eth0 of a namespace the i-th address of a link.
func onLink(at netns.Namespace, link netip.Prefix, i int) netip.Addr {
	a := link.Addr()
	for range i {
		a = a.Next()
	}
	at.Run("ip", "address", "add", netip.PrefixFrom(a, link.Bits()).String(), "dev", "eth0", "nodad")
	return a
}

// settings are the arguments of all processes of the node.
func (m *machine) settings() []string {
	var addresses []string
	for _, a := range m.addresses {
		addresses = append(addresses, a.String())
	}
	return []string{
		"--config-file", filepath.Join(m.dir, "none"), "--loglevel", "info", "--encap-port", fmt.Sprint(m.port), "--encap-ip", strings.Join(addresses, ","), "--cluster-subnets", m.pools, "--k8s-service-cidrs", m.services,
		"--sb-address", "ssl:" + netip.AddrPortFrom(m.nodes[0].address, 6642).String(), "--sb-client-privkey", m.tls + "/pair/tls.key", "--sb-client-cert", m.tls + "/pair/tls.crt", "--sb-client-cacert", m.tls + "/bundle/ca-bundle.crt",
		"--k8s-apiserver", m.api.Config.Host, "--k8s-token", m.token, "--k8s-cacert", m.tls + "/api.crt", "--mtu", fmt.Sprint(podMTU), "--cni-conf-dir", filepath.Join(m.dir, "net.d"), "--cni-bin-dir", plugins,
		"--cni-server-dir", m.run, "--state-dir", filepath.Join(m.dir, "state"), "--ovs-run-dir", m.run + "/ovs", "--ovs-data-dir", filepath.Join(m.dir, "ovs"),
		"--ovn-run-dir", m.run + "/ovn", "--ovn-data-dir", filepath.Join(m.dir, "ovn"), "--ovs-namespace", m.vswitchNS,
		"--policy-audit", m.audit(), "--policy-audit-log", m.auditLog(),
		"--mtu-file", m.mtuFile(), "--pod-name", m.reporter,
	}
}

// audit is the file with the settings of audit messages, auditLog the file with the messages.
func (m *machine) audit() string    { return filepath.Join(m.dir, "policy-audit.json") }
func (m *machine) auditLog() string { return filepath.Join(m.dir, "log", "acl-audit-log.log") }

// mtuFile is the file with the MTU; tests write it.
func (m *machine) mtuFile() string { return filepath.Join(m.dir, "mtu.json") }

// start runs a command of ovnkube on the node, or the agent; its log is shown when the test fails.
func (m *machine) start(command string) {
	m.t.Helper()
	arguments := []string{program, command}
	settings := m.settings()
	switch command {
	case "ovn-node":
		arguments = []string{program, "--init-node", m.name}
	case "ovn-master":
		arguments, settings = []string{program, "--init-master", m.name}, m.masterArguments()
	}
	m.processes[command] = nodetest.Start(m.t, m.at, m.name+", "+command, nil, append(arguments, settings...)...)
}

// central runs OVN's databases and ovn-northd on the node, as masters do, and opens the southbound database to the nodes.
func (m *machine) central() {
	m.t.Helper()
	for _, command := range []string{"nb-ovsdb", "sb-ovsdb", "run-ovn-northd"} {
		m.start(command)
	}
	eventually.Holds(m.t, "the southbound database is open to nodes", func() (string, bool) {
		_, err := ovs.Control(m.run+"/ovn/ovnsb_db.ctl").Call(m.t.Context(), "ovsdb-server/add-remote", "pssl:6642:"+m.address.String())
		return fmt.Sprint(err), err == nil
	})
	eventually.Holds(m.t, "the northbound database is served", func() (string, bool) {
		_, err := os.Stat(m.run + "/ovn/ovnnb_db.sock")
		return fmt.Sprint(err), err == nil
	})
	m.nbctl("lr-add", topology.ClusterRouter)
}

// nbctl changes the northbound database of the cluster.
func (c *cluster) nbctl(arguments ...string) string {
	c.t.Helper()
	return netns.Run(c.t, append([]string{"ovn-nbctl", "--db=unix:" + c.nodes[0].run + "/ovn/ovnnb_db.sock", "--timeout=60"}, arguments...)...)
}

// join does for a node what the master does: its block, switch and ports.
func (m *machine) join(i int) {
	m.t.Helper()
	block := netip.PrefixFrom(netip.AddrFrom4([4]byte{10, 128, byte(2 * i), 0}), 23)
	m.blocks[m.name] = block
	router, management := topology.RouterAddress(block), topology.ManagementAddress(block)
	m.create(&corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: m.name, Annotations: map[string]string{topology.NodeSubnets: topology.EncodeNodeSubnets([]netip.Prefix{block})}}})
	m.nbctl("ls-add", m.name, "--", "lrp-add", topology.ClusterRouter, topology.RouterPort(m.name), topology.MAC(router.Addr()).String(), router.String(),
		"--", "lsp-add", m.name, topology.SwitchPort(m.name), "--", "lsp-set-type", topology.SwitchPort(m.name), "router", "--", "lsp-set-addresses", topology.SwitchPort(m.name), "router",
		"--", "lsp-set-options", topology.SwitchPort(m.name), "router-port="+topology.RouterPort(m.name),
		"--", "lsp-add", m.name, topology.ManagementPort(m.name), "--", "lsp-set-addresses", topology.ManagementPort(m.name), topology.MAC(management.Addr()).String()+" "+management.Addr().String(),
		"--", "lr-policy-add", topology.ClusterRouter, "1004", fmt.Sprintf("inport == %q && ip4.dst != %s", topology.RouterPort(m.name), clusterNetwork), "reroute", management.Addr().String())
	if i == 0 { // policies only see packets that a route admits
		m.nbctl("lr-route-add", topology.ClusterRouter, "0.0.0.0/0", management.Addr().String())
	}
}

// running is a cluster of two nodes whose agents are ready.
func running(t testing.TB) *cluster { return runningOn(t, 6081) }

// runningOn is running with a UDP port of Geneve.
func runningOn(t testing.TB, port int) *cluster {
	t.Helper()
	c := newCluster(t)
	c.port = port
	for range 2 {
		c.node()
	}
	c.nodes[0].central()
	for i, m := range c.nodes {
		m.join(i)
		for _, command := range []string{"ovs-server", "ovn-controller", "ovn-node"} {
			m.start(command)
		}
	}
	for _, m := range c.nodes {
		m.ready()
	}
	return c
}

// readyz returns what the agent reports.
func (m *machine) readyz() (string, error) {
	return m.at.Try("curl", "-s", "--fail-with-body", "http://127.0.0.1:19105/readyz")
}

// ready waits until pods can be started.
func (m *machine) ready() {
	m.t.Helper()
	eventually.Holds(m.t, m.name+" is ready", func() (string, bool) {
		out, err := m.readyz()
		return out, err == nil
	})
}

// vswitchd returns the process of ovs-vswitchd, empty if it does not run.
func (m *machine) vswitchd() string {
	out, _ := exec.Command("pgrep", "-f", "ovs-vswitchd unix:"+m.run+"/ovs/db.sock").Output()
	return strings.TrimSpace(string(out))
}

// ports returns the ports of the integration bridge.
func (m *machine) ports() string {
	m.t.Helper()
	return netns.Run(m.t, "ovs-vsctl", "--db=unix:"+m.run+"/ovs/db.sock", "list-ports", topology.IntegrationBridge)
}
