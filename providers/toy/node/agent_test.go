package node_test

import (
	"fmt"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/cluster-network-operator/cno/internal/testing/eventually"
	"github.com/cluster-network-operator/cno/internal/testing/netns"
)

func TestPodsTalk(t *testing.T) {
	c := running(t, 2, "10.0.0.0/16", 24)
	one, two := c.nodes[0], c.nodes[1]
	a, b, far := one.pod(), one.pod(), two.pod()
	reaches(t, a.Namespace, b.addr)
	reaches(t, a.Namespace, far.addr)
	reaches(t, far.Namespace, b.addr)
	reaches(t, one.at, far.addr)
	reaches(t, a.Namespace, netip.MustParseAddr("192.0.2.1"))
	if err := a.check(); err != nil {
		t.Errorf("CHECK: %v", err)
	}
	if again, err := one.attach(a.Namespace); err != nil || again.addr != a.addr {
		t.Errorf("ADD again gives %s, %v; it was %s", again.addr, err, a.addr)
	}
	one.at.Run("ip", "route", "delete", a.addr.String())
	if err := a.check(); err == nil || !strings.Contains(err.Error(), "the route to "+a.addr.String()+" is missing") {
		t.Errorf("CHECK of a pod without a route: %v", err)
	}
	for range 2 {
		if err := a.detach(); err != nil {
			t.Errorf("DEL: %v", err)
		}
	}
	if out := a.Run("ip", "-br", "link"); strings.Contains(out, "eth0") {
		t.Errorf("after DEL the pod has %s", out)
	}
}

func TestRoutesAreRepaired(t *testing.T) {
	c := running(t, 2, "10.0.0.0/16", 24)
	m := c.nodes[0]
	route := func() string { return strings.TrimSpace(m.at.Run("ip", "route", "show", "proto", "116")) }
	want := route()
	if !strings.HasSuffix(want, "via 192.0.2.2 dev eth0") {
		t.Fatalf("the route is %q", want)
	}
	to, _, _ := strings.Cut(want, " ")
	for _, harm := range [][]string{
		{"ip", "route", "delete", to},
		{"ip", "route", "replace", to, "via", "192.0.2.9", "proto", "116"},
	} {
		m.at.Run(harm...)
		eventually.Holds(t, strings.Join(harm, " ")+" is repaired", func() (string, bool) { return route(), route() == want })
	}
	delete(c.facts.NodeAddresses, "node2")
	c.render()
	eventually.Holds(t, "the route to a deleted node is removed", func() (string, bool) { return route(), route() == "" })
}

func TestAnAgentThatRestartsDelaysPodsAndLosesNone(t *testing.T) {
	c := running(t, 1, "10.0.0.0/16", 24)
	m := c.nodes[0]
	before := m.pod()
	m.kill()
	reaches(t, m.at, before.addr)
	attached := make(chan error, 1)
	var late *pod
	sandbox := netns.New(t, "late")
	go func() {
		var err error
		late, err = m.attach(sandbox)
		attached <- err
	}()
	eventually.Holds(t, "the shim waits for the agent", func() (string, bool) {
		out, err := exec.Command("pgrep", "-f", "-x", filepath.Join(plugins, "toy")).CombinedOutput()
		return string(out), err == nil
	})
	m.start()
	if err := <-attached; err != nil {
		t.Fatalf("ADD that waited for the agent: %v", err)
	}
	reaches(t, late.Namespace, before.addr)
	if late.addr == before.addr {
		t.Errorf("two pods have %s", late.addr)
	}
	if err := before.check(); err != nil {
		t.Errorf("CHECK after the restart: %v", err)
	}
	m.stop()
	reaches(t, late.Namespace, before.addr)
}

func TestNothingLeaksOverARestart(t *testing.T) {
	c := running(t, 1, "10.0.0.0/24", 28)
	m := c.nodes[0]
	p := m.pod()
	m.kill()
	p.m.at.Run("ip", "netns", "del", p.Name)
	m.start()
	eventually.Holds(t, "the attachment of the namespace is forgotten", func() (string, bool) {
		records, err := filepath.Glob(filepath.Join(m.config.StateDir, "attachments", "*.json"))
		links := m.at.Run("ip", "-br", "link")
		return fmt.Sprint(records, err, links), err == nil && len(records) == 0 && !strings.Contains(links, "toy")
	})
}

func TestEveryAddressIsUsedOnce(t *testing.T) {
	c := running(t, 1, "10.0.0.0/24", 29)
	m := c.nodes[0]
	var pods []*pod
	var addresses []netip.Addr
	for range 6 { // the first and the last address of the block are not given out
		pods = append(pods, m.pod())
		addresses = append(addresses, pods[len(pods)-1].addr)
	}
	slices.SortFunc(addresses, netip.Addr.Compare)
	if len(slices.Compact(addresses)) != 6 || addresses[0].As4()[3]%8 != 1 || addresses[5].As4()[3]%8 != 6 {
		t.Errorf("six pods have the addresses %v", addresses)
	}
	sandbox := netns.New(t, "seventh")
	if _, err := m.attach(sandbox); err == nil || !strings.Contains(err.Error(), "all addresses of this node's block") {
		t.Errorf("a seventh pod: %v", err)
	}
	if err := pods[3].detach(); err != nil {
		t.Fatal(err)
	}
	if p, err := m.attach(sandbox); err != nil || p.addr != pods[3].addr {
		t.Errorf("the address of a deleted pod is not given out: %v, %v", p.addr, err)
	}
}

func TestAgentsAreReadyAfterTheirDependencies(t *testing.T) {
	c := newCluster(t, "10.0.0.0/16", 24)
	m := c.node()
	m.config.BinDir = t.TempDir()
	m.start()
	readyz := func(want string) {
		t.Helper()
		eventually.Holds(t, "readyz contains "+want, func() (string, bool) {
			out, err := m.at.Try("curl", "-s", "http://"+m.config.HealthAddress+"/readyz")
			return out, err == nil && strings.HasPrefix(out, "not ready") && strings.Contains(out, want)
		})
	}
	readyz("read the table of nodes")
	if err := os.WriteFile(m.config.NodesFile, []byte(`{"nodes":{}}`), 0o600); err != nil {
		t.Fatal(err)
	}
	readyz("the operator has not given this node a block yet")
	c.render()
	readyz("the CNI configuration waits for plugins that are not in " + m.config.BinDir + ": toy, loopback")
	if entries, err := os.ReadDir(m.config.ConfDir); err == nil && len(entries) > 0 {
		t.Errorf("the CNI configuration exists: %v", entries)
	}
	if out, err := m.at.Try(program, "install-cni", "--from", plugins, "--to", m.config.BinDir); err != nil {
		t.Fatal(out)
	}
	m.ready()
}

func TestCleanup(t *testing.T) {
	c := running(t, 2, "10.0.0.0/16", 24)
	m := c.nodes[0]
	p := m.pod()
	m.stop()
	for range 2 {
		if out, err := m.at.Try(program, "cleanup", "--config", filepath.Join(m.dir, "toy.json")); err != nil {
			t.Fatal(out)
		}
	}
	left := m.at.Run("ip", "route", "show", "proto", "116") + p.Run("ip", "route")
	if links := m.at.Run("ip", "-br", "link"); left != "" || strings.Contains(links, "toy") {
		t.Errorf("after cleanup there are routes %q, links %s", left, links)
	}
	for _, path := range []string{m.config.StateDir, filepath.Join(m.config.ConfDir, "10-toy.conflist"), filepath.Dir(m.config.Socket)} {
		if _, err := os.Stat(path); !os.IsNotExist(err) {
			t.Errorf("%s is still there: %v", path, err)
		}
	}
}
