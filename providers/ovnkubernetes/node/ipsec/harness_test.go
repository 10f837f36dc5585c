package ipsec_test

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/containernetworking/plugins/pkg/ns"
	"golang.org/x/sys/unix"
	certificatesv1 "k8s.io/api/certificates/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/cluster-network-operator/cno/internal/apitest"
	"github.com/cluster-network-operator/cno/internal/certs"
	"github.com/cluster-network-operator/cno/internal/controller/signer"
	"github.com/cluster-network-operator/cno/internal/testing/eventually"
	"github.com/cluster-network-operator/cno/internal/testing/goroutines"
	"github.com/cluster-network-operator/cno/internal/testing/netns"
	"github.com/cluster-network-operator/cno/internal/testing/nodetest"
	"github.com/cluster-network-operator/cno/providers/ovnkubernetes/agentconfig"
)

const (
	port = 6081
	// account is the user of the agents.
	account = "system:serviceaccount:" + agentconfig.Namespace + ":" + agentconfig.IPsecAccount
)

// program is ovnkube.
var program string

func TestMain(m *testing.M) {
	os.Exit(func() int {
		dir, err := os.MkdirTemp("", "ipsec-test-")
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
		defer os.RemoveAll(dir)
		program = filepath.Join(dir, "ovnkube")
		build := exec.Command("go", "build", "-o", program, "github.com/cluster-network-operator/cno/cmd/ovnkube")
		build.Env = append(os.Environ(), "CGO_ENABLED=0")
		if out, err := build.CombinedOutput(); err != nil {
			fmt.Fprintf(os.Stderr, "build ovnkube: %v\n%s", err, out)
			return 1
		}
		return m.Run()
	}())
}

// cluster is a link with nodes on it, an API server, and the signer.
type cluster struct {
	t         *testing.T
	api       *apitest.Server
	link      netns.Namespace
	nodes     []*machine
	authority atomic.Pointer[certs.CA]
	caFile    string
	signed    atomic.Int64
	// six is true if nodes have IPv6 addresses.
	six bool
}

// machine is a node.
type machine struct {
	*cluster
	name    string
	address netip.Addr
	at      netns.Namespace
	dir     string
	pod     *corev1.Pod
	agent   *nodetest.Process
}

// newCluster starts an API server with a signer, and adds nodes on which no agent runs yet.
func newCluster(t *testing.T, names ...string) *cluster {
	t.Helper()
	return newClusterOf(t, false, names...)
}

// newClusterOf is newCluster with nodes that have IPv6 addresses, if six is true.
func newClusterOf(t *testing.T, six bool, names ...string) *cluster {
	t.Helper()
	goroutines.DumpAfter(t, 5*time.Minute)
	c := &cluster{t: t, api: apitest.Start(t, apitest.Options{WithoutProjectCRDs: true}), link: netns.New(t, "link"), caFile: filepath.Join(t.TempDir(), "ca-bundle.crt"), six: six}
	c.create(&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: agentconfig.Namespace}})
	c.create(&corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: agentconfig.Namespace, Name: agentconfig.IPsecAccount}})
	c.create(&rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: "ipsec"}, Rules: []rbacv1.PolicyRule{
		{APIGroups: []string{""}, Resources: []string{"nodes"}, Verbs: []string{"list", "watch"}},
		{APIGroups: []string{""}, Resources: []string{"pods"}, Verbs: []string{"patch"}},
		{APIGroups: []string{"certificates.k8s.io"}, Resources: []string{"certificatesigningrequests"}, Verbs: []string{"create", "get"}},
	}})
	c.create(&rbacv1.ClusterRoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: "ipsec"}, RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "ipsec"},
		Subjects: []rbacv1.Subject{{Kind: "ServiceAccount", Namespace: agentconfig.Namespace, Name: agentconfig.IPsecAccount}},
	})
	c.newCA()
	go c.sign(t.Context())
	c.link.Run("ip", "link", "add", "sw0", "type", "bridge")
	c.link.Run("ip", "link", "set", "sw0", "up")
	for _, name := range names {
		c.node(name)
	}
	return c
}

func (c *cluster) create(o client.Object) {
	c.t.Helper()
	if err := c.api.Client.Create(c.t.Context(), o); err != nil {
		c.t.Fatal(err)
	}
}

// newCA has another CA sign from now on, and nodes trust that one alone.
func (c *cluster) newCA() {
	c.t.Helper()
	a, err := certs.NewCA("signer", time.Now(), 24*time.Hour)
	if err != nil {
		c.t.Fatal(err)
	}
	c.authority.Store(a)
	if err := os.WriteFile(c.caFile, a.Pair().Certificate, 0o600); err != nil {
		c.t.Fatal(err)
	}
}

// sign answers requests as the operator's signer does, by its own rules.
func (c *cluster) sign(ctx context.Context) {
	tick := time.NewTicker(100 * time.Millisecond)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		var all certificatesv1.CertificateSigningRequestList
		if c.api.Client.List(ctx, &all) != nil {
			continue // the server ends with the test
		}
		for i := range all.Items {
			c.answer(ctx, &all.Items[i])
		}
	}
}

func (c *cluster) answer(ctx context.Context, csr *certificatesv1.CertificateSigningRequest) {
	policy := signer.Nodes(account)
	name, _ := policy.NodeOf(csr)
	d := signer.Decide(csr, signer.Node{Name: name}, policy, time.Now())
	condition := certificatesv1.CertificateSigningRequestCondition{Type: certificatesv1.CertificateApproved, Status: corev1.ConditionTrue, Reason: "AutoApproved"}
	switch d.Action {
	case signer.Leave:
		return
	case signer.Sign:
	default:
		condition.Type, condition.Reason, condition.Message = certificatesv1.CertificateDenied, d.Reason(), d.Message()
	}
	csr.Status.Conditions = append(csr.Status.Conditions, condition)
	if c.api.Client.SubResource("approval").Update(ctx, csr) != nil || d.Action != signer.Sign {
		return // it is answered in the next turn
	}
	d.Template.NotBefore = time.Now() // so that half of its life is not over when it begins
	certificate, err := c.authority.Load().Certify(d.Template, d.Key)
	if err != nil {
		c.t.Error(err)
		return
	}
	csr.Status.Certificate = certificate
	if c.api.Client.Status().Update(ctx, csr) == nil {
		c.signed.Add(1)
	}
}

// node adds a node.
func (c *cluster) node(name string) *machine {
	c.t.Helper()
	m := &machine{cluster: c, name: name, address: c.address(byte(len(c.nodes) + 1)), dir: c.t.TempDir(), at: netns.New(c.t, name)}
	c.nodes = append(c.nodes, m)
	c.connect(m.at, name, m.address)
	nodetest.ForwardAPI(c.t, m.at, c.api.Config.Host)
	n := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name}}
	c.create(n)
	apitest.ChangeStatus(c.t, c.api.Client, n, func() {
		n.Status.Addresses = []corev1.NodeAddress{{Type: corev1.NodeInternalIP, Address: m.address.String()}}
	})
	m.pod = &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: agentconfig.Namespace, Name: "ovn-ipsec-" + name}, Spec: corev1.PodSpec{
		NodeName: name, ServiceAccountName: agentconfig.IPsecAccount, AutomountServiceAccountToken: new(false), Containers: []corev1.Container{{Name: "ovn-ipsec", Image: "ovn"}},
	}}
	c.create(m.pod)
	m.write("token", c.api.Pod(c.t, m.pod).BearerToken)
	m.write("api.crt", string(c.api.Config.CAData))
	m.write("encapsulation", "Auto\n")
	// Charon's pid file is below /run, which nodes do not share.
	m.write("charon", "#!/bin/sh\nexec unshare --mount --propagation private sh -c 'mount -t tmpfs tmpfs /run && exec /usr/lib/ipsec/charon'\n")
	if err := os.Chmod(filepath.Join(m.dir, "charon"), 0o700); err != nil {
		c.t.Fatal(err)
	}
	return m
}

// connect connects a namespace to the link.
func (c *cluster) connect(at netns.Namespace, name string, address netip.Addr) {
	c.t.Helper()
	c.link.Run("ip", "link", "add", name, "type", "veth", "peer", "name", "eth0", "netns", at.Name)
	c.link.Run("ip", "link", "set", name, "master", "sw0", "up")
	at.Run("ip", "address", "add", netip.PrefixFrom(address, address.BitLen()-8).String(), "dev", "eth0", "nodad")
	at.Run("ip", "link", "set", "eth0", "up")
}

// address returns the i-th address of the link.
func (c *cluster) address(i byte) netip.Addr {
	if c.six {
		return netip.AddrFrom16([16]byte{0: 0x20, 1: 0x01, 2: 0x0d, 3: 0xb8, 15: i})
	}
	return netip.AddrFrom4([4]byte{192, 0, 2, i})
}

func (m *machine) write(name, content string) {
	m.t.Helper()
	if err := os.WriteFile(filepath.Join(m.dir, name), []byte(content), 0o600); err != nil {
		m.t.Fatal(err)
	}
}

// start starts the agent.
func (m *machine) start() {
	m.t.Helper()
	m.agent = nodetest.Start(m.t, m.at, m.name, []string{agentconfig.VariableNode + "=" + m.name}, program, agentconfig.CommandIPsec, "--config-file", m.dir+"/none",
		"--encap-ip", m.address.String(), "--pod-name", m.pod.Name, "--k8s-apiserver", m.api.Config.Host, "--k8s-token", m.dir+"/token", "--k8s-cacert", m.dir+"/api.crt",
		"--state-dir", m.dir+"/state", "--ipsec-config-dir", m.dir, "--ipsec-cacert", m.caFile, "--ipsec-run-dir", m.dir+"/run", "--ipsec-charon", m.dir+"/charon", "--loglevel", "debug")
}

// phase has all nodes go to a phase, and waits until they report it, with keys for all peers and no problem.
func (c *cluster) phase(p agentconfig.Phase) {
	c.t.Helper()
	for _, m := range c.nodes {
		m.write("phase", string(p))
	}
	c.settled(p)
}

func (c *cluster) settled(p agentconfig.Phase) {
	c.t.Helper()
	for _, m := range c.nodes {
		if m.agent == nil {
			continue
		}
		eventually.Holds(c.t, fmt.Sprintf("%s is in phase %s with keys for all peers", m.name, p), func() (string, bool) {
			r, err := m.report()
			return fmt.Sprintf("%+v, %v", r, err), err == nil && r.Phase == p && r.Peers == len(c.nodes)-1 && len(r.Missing) == 0 && len(r.Problems) == 0
		})
	}
}

// report is what the agent has reported last.
func (m *machine) report() (agentconfig.Report, error) {
	var pod corev1.Pod
	if err := m.api.Client.Get(m.t.Context(), client.ObjectKeyFromObject(m.pod), &pod); err != nil {
		return agentconfig.Report{}, err
	}
	text := pod.Annotations[agentconfig.IPsecAnnotation]
	if text == "" {
		return agentconfig.Report{}, errors.New("there is no report")
	}
	return agentconfig.ParseReport(text)
}

// charon returns the process of the node's charon.
func (m *machine) charon() string {
	m.t.Helper()
	for _, pid := range strings.Fields(netns.Run(m.t, "ip", "netns", "pids", m.at.Name)) {
		if text, err := os.ReadFile("/proc/" + pid + "/cmdline"); err == nil && strings.HasPrefix(string(text), "/usr/lib/ipsec/charon") {
			return pid
		}
	}
	m.t.Fatalf("charon does not run on %s", m.name)
	return ""
}

// secret is in each packet of tunnels.
const secret = "the pods of this cluster say so"

// send sends packets from one node to the port of tunnels of another one.
func send(t *testing.T, from, to *machine) *nodetest.Flow {
	t.Helper()
	return nodetest.Send(t, from.at, to.at, netip.AddrPortFrom(to.address, port), secret)
}

// capture counts the packets on the link that have a secret in the clear, and those of ESP.
type capture struct{ clear, encrypted atomic.Int64 }

// toOrFrom reports whether a UDP header has a port.
func toOrFrom(header []byte, port uint16) bool {
	return binary.BigEndian.Uint16(header) == port || binary.BigEndian.Uint16(header[2:]) == port
}

// capture captures what the link carries to and from a node.
func (m *machine) capture() *capture {
	m.t.Helper()
	c := &capture{}
	var socket int
	if err := ns.WithNetNSPath(m.link.Path(), func(ns.NetNS) (err error) {
		socket, err = unix.Socket(unix.AF_PACKET, unix.SOCK_RAW, 0x0300) // ETH_P_ALL
		if err != nil {
			return err
		}
		link, err := net.InterfaceByName(m.name)
		if err != nil {
			return err
		}
		if err := unix.SetsockoptTimeval(socket, unix.SOL_SOCKET, unix.SO_RCVTIMEO, &unix.Timeval{Usec: 200_000}); err != nil {
			return err
		}
		return unix.Bind(socket, &unix.SockaddrLinklayer{Protocol: 0x0300, Ifindex: link.Index})
	}); err != nil {
		m.t.Fatal(err)
	}
	done, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		buffer := make([]byte, 4000)
		for {
			select {
			case <-done:
				return
			default:
			}
			n, _, err := unix.Recvfrom(socket, buffer, 0)
			if err != nil {
				continue // nothing was sent for some time
			}
			switch frame := string(buffer[:n]); {
			case strings.Contains(frame, secret):
				c.clear.Add(1)
			case n > 62 && (toOrFrom(buffer[34:], 4500) || toOrFrom(buffer[54:], 4500)): // after the header of IPv4 or IPv6
				c.encrypted.Add(1)
			}
		}
	}()
	m.t.Cleanup(func() { close(done); <-ended; _ = unix.Close(socket) })
	return c
}
