package ipsec_test

import (
	"encoding/pem"
	"net/netip"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/strongswan/govici/vici"

	"github.com/cluster-network-operator/cno/internal/testing/eventually"
	"github.com/cluster-network-operator/cno/internal/testing/netns"
	"github.com/cluster-network-operator/cno/internal/testing/nodetest"
	"github.com/cluster-network-operator/cno/providers/ovnkubernetes/agentconfig"
	"github.com/cluster-network-operator/cno/providers/ovnkubernetes/node/ipsec"
)

// TestTunnelsAreEncryptedInPhases turns IPsec on and off between nodes that send packets to each other all the time, with real keys of a real signer, and
// looks at every packet on the link.
func TestTunnelsAreEncryptedInPhases(t *testing.T) {
	c := newCluster(t, "node1", "node2", "node3")
	a, b := c.nodes[0], c.nodes[1]
	link := a.capture()
	forth, back := send(t, a, b), send(t, b, a)
	noLoss := func(what string) {
		t.Helper()
		for name, f := range map[string]*nodetest.Flow{"from node1": forth, "from node2": back} {
			if n, gap := f.Lost(t); n > 0 {
				t.Errorf("%s: %d packets %s are lost; the longest gap is %s", what, n, name, gap)
			}
		}
		forth, back = send(t, a, b), send(t, b, a)
	}
	gap := func(what string, limit time.Duration) {
		t.Helper()
		for name, f := range map[string]*nodetest.Flow{"from node1": forth, "from node2": back} {
			n, longest := f.Lost(t)
			t.Logf("%s: %d packets %s are lost; the longest gap is %s", what, n, name, longest)
			if longest > limit {
				t.Errorf("%s: the longest gap is %s", what, longest)
			}
		}
		forth, back = send(t, a, b), send(t, b, a)
	}
	encrypted := func(what string) {
		t.Helper()
		before, count := link.clear.Load(), forth.Count()
		eventually.Holds(t, "packets arrive", func() (string, bool) { return "", forth.Count() > count+200 })
		if after := link.clear.Load(); after != before {
			t.Errorf("%s: %d packets are in the clear", what, after-before)
		}
	}

	for _, m := range c.nodes {
		m.write("phase", string(agentconfig.PhaseAccept))
		m.start()
	}
	c.settled(agentconfig.PhaseAccept)
	encrypted("accept")
	noLoss("turned on")
	if r, err := a.report(); err != nil || r.ESP != "userspace" || r.Overhead != 73 || r.Expires == nil {
		t.Errorf("the report is %+v, %v", r, err)
	}

	stranger := netns.New(t, "stranger")
	c.connect(stranger, "stranger", netip.MustParseAddr("192.0.2.99"))
	forged := nodetest.DialUDP(t, stranger, netip.AddrPortFrom(b.address, port))
	forge := func() int {
		const sent = 50
		before := forth.Count()
		for i := range sent {
			// Numbers that the flow does not have.
			if _, err := forged.Write([]byte{1, 0, 0, 0, 0, 0, byte(i), byte(before), 'x'}); err != nil {
				t.Fatal(err)
			}
		}
		return forth.Foreign()
	}
	c.phase(agentconfig.PhaseRequire)
	noLoss("required")
	encrypted("require")
	forge()
	encrypted("require, while packets in the clear are sent")
	if n := forge(); n > 0 {
		t.Errorf("%d packets in the clear are accepted from a node without keys", n)
	}
	if out := b.at.Run("nft", "list", "table", "ip", "ovn-ipsec"); !strings.Contains(out, "packets 50") && !strings.Contains(out, "packets 100") {
		t.Errorf("packets in the clear are not counted: %s", out)
	}

	{ // certificates are renewed
		before := c.signed.Load()
		c.newCA()
		eventually.Holds(t, "every node has a certificate of the other CA", func() (string, bool) { return "", c.signed.Load() >= before+3 })
		c.settled(agentconfig.PhaseRequire)
		encrypted("renewed")
		noLoss("renewed")
		// Nodes present their certificates again, as they do regularly: those of the other CA are accepted.
		a.reauthenticate(t)
		encrypted("authenticated again")
		c.oneAssociation()
		gap("nodes have authenticated again", 10*time.Second)
	}

	{ // forth are two associations with the same node, as after both have begun at the same moment
		c.oneAssociation()
		for _, m := range []*machine{a, b} {
			m.load(t, "never")
		}
		a.begin(t, b)
		eventually.Holds(t, "node1 has two associations with node2", func() (string, bool) {
			out := a.associations()
			return out, strings.Count(out, "\novn-node2:") == 2 && strings.Count(out, "INSTALLED") == 6
		})
		c.oneAssociation()
		encrypted("with one association again")
		gap("an association of two is removed", 10*time.Second)
		for _, m := range []*machine{a, b} {
			m.load(t, "replace")
		}
	}

	{ // charon is killed
		clear, dead := link.clear.Load(), b.charon()
		pid, err := strconv.Atoi(dead)
		if err != nil {
			t.Fatal(err)
		}
		if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
			t.Fatal(err)
		}
		count := back.Count()
		eventually.Holds(t, "packets arrive again", func() (string, bool) { return "", forth.Count() > count+500 && back.Count() > count+500 })
		gap("charon of node2 was killed", 20*time.Second)
		if after := link.clear.Load(); after != clear {
			t.Errorf("%d packets are in the clear meanwhile", after-clear)
		}
		c.oneAssociation()
		c.settled(agentconfig.PhaseRequire)
		gap("until node2 has settled", 20*time.Second)
	}

	c.phase(agentconfig.PhaseAccept)
	c.phase(agentconfig.PhasePlain)
	noLoss("turned off")
	before := link.clear.Load()
	eventually.Holds(t, "packets are in the clear", func() (string, bool) { return "", link.clear.Load() > before+200 })
	for _, m := range c.nodes {
		m.agent.Stop(t)
	}
	noLoss("without agents")
	if out := a.at.Run("ip", "rule"); strings.Contains(out, "6081") {
		t.Errorf("routing rules are left: %s", out)
	}
	if out := a.at.Run("nft", "list", "tables"); strings.Contains(out, "ovn-ipsec") {
		t.Errorf("rules are left: %s", out)
	}
}

// TestTunnelsOverIPv6AreEncrypted turns IPsec on and off between IPv6 addresses of nodes.
func TestTunnelsOverIPv6AreEncrypted(t *testing.T) {
	c := newClusterOf(t, true, "node1", "node2")
	a, b := c.nodes[0], c.nodes[1]
	link := a.capture()
	forth, back := send(t, a, b), send(t, b, a)
	for _, m := range c.nodes {
		m.write("phase", string(agentconfig.PhaseAccept))
		m.start()
	}
	c.settled(agentconfig.PhaseAccept)
	c.phase(agentconfig.PhaseRequire)
	clear, encrypted, count := link.clear.Load(), link.encrypted.Load(), forth.Count()
	eventually.Holds(t, "packets arrive", func() (string, bool) { return "", forth.Count() > count+200 && back.Count() > count+200 })
	if n := link.clear.Load() - clear; n > 0 {
		t.Errorf("%d packets are in the clear", n)
	}
	if n := link.encrypted.Load() - encrypted; n < 200 {
		t.Errorf("%d packets of ESP are on the link", n)
	}
	if r, err := a.report(); err != nil || r.ESP != "userspace" || r.Overhead != 93 {
		t.Errorf("the report is %+v, %v", r, err)
	}

	stranger := netns.New(t, "stranger")
	c.connect(stranger, "stranger", c.address(99))
	forged := nodetest.DialUDP(t, stranger, netip.AddrPortFrom(b.address, port))
	for i := range 50 {
		// Numbers that the flow does not have.
		if _, err := forged.Write([]byte{1, 0, 0, 0, 0, 0, byte(i), 0, 'x'}); err != nil {
			t.Fatal(err)
		}
	}
	eventually.Holds(t, "packets in the clear are dropped", func() (string, bool) {
		out := b.at.Run("nft", "list", "table", "ip6", "ovn-ipsec")
		return out, strings.Contains(out, "packets 50 ")
	})
	if n := forth.Foreign(); n > 0 {
		t.Errorf("%d packets in the clear are accepted from a node without keys", n)
	}
	for name, f := range map[string]*nodetest.Flow{"from node1": forth, "from node2": back} {
		if n, gap := f.Lost(t); n > 0 {
			t.Errorf("%d packets %s are lost; the longest gap is %s", n, name, gap)
		}
	}

	c.phase(agentconfig.PhaseAccept)
	c.phase(agentconfig.PhasePlain)
	for _, m := range c.nodes {
		m.agent.Stop(t)
	}
	if out := a.at.Run("ip", "-6", "rule"); strings.Contains(out, "6081") {
		t.Errorf("routing rules are left: %s", out)
	}
	if out := a.at.Run("nft", "list", "tables"); strings.Contains(out, "ovn-ipsec") {
		t.Errorf("rules are left: %s", out)
	}
}

// oneAssociation waits until nodes have one association with each peer: those that another one replaces are removed ten seconds later.
func (c *cluster) oneAssociation() {
	c.t.Helper()
	for _, m := range c.nodes {
		eventually.Holds(c.t, m.name+" has one association with each peer", func() (string, bool) {
			out := m.associations()
			return out, strings.Count(out, "\novn-") == len(c.nodes)-1
		})
	}
}

// associations is what charon lists, each after a line break.
func (m *machine) associations() string {
	m.t.Helper()
	return "\n" + netns.Run(m.t, "swanctl", "--list-sas", "--uri", "unix://"+m.dir+"/run/charon.vici")
}

// reauthenticate has the node present its certificate to all peers, and they theirs.
func (m *machine) reauthenticate(t *testing.T) {
	t.Helper()
	for _, peer := range m.nodes {
		if peer != m {
			m.charonDoes(t, "rekey", map[string]any{"ike": "ovn-" + peer.name, "reauth": "yes"})
		}
	}
}

// load loads the connections of the node again, which differ from those that the agent loads in what becomes of other associations with the same node, and in
// how soon a peer is asked whether it is alive: an association that begins now does not use an existing one.
func (m *machine) load(t *testing.T, unique string) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(m.dir, "state", "ipsec.crt"))
	if err != nil {
		t.Fatal(err)
	}
	block, _ := pem.Decode(text)
	if block == nil {
		t.Fatalf("the certificate of %s is not readable", m.name)
	}
	var peers []ipsec.Peer
	for _, n := range m.nodes {
		if n != m {
			peers = append(peers, ipsec.Peer{Name: n.name, Address: n.address})
		}
	}
	for name, connection := range ipsec.Desired(ipsec.Settings{Name: m.name, Address: m.address, Port: port, Certificate: block.Bytes}, peers) {
		connection.Unique, connection.DPD = unique, "4s"
		m.charonDoes(t, "load-conn", map[string]any{name: connection})
	}
}

// begin begins an association with a peer, with both children.
func (m *machine) begin(t *testing.T, peer *machine) {
	t.Helper()
	for _, child := range []string{"to", "from"} {
		m.charonDoes(t, "initiate", map[string]any{"ike": "ovn-" + peer.name, "child": child, "timeout": "10000"})
	}
}

// charonDoes gives the node's charon a command.
func (m *machine) charonDoes(t *testing.T, command string, argument any) {
	t.Helper()
	s, err := vici.NewSession(vici.WithAddr("unix", m.dir+"/run/charon.vici"))
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	in, err := vici.MarshalMessage(argument)
	if err != nil {
		t.Fatal(err)
	}
	if out, err := s.Call(t.Context(), command, in); err != nil || out.Err() != nil {
		t.Fatalf("%s: %v, %v", command, err, out.Err())
	}
}
