package node_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// cleanup runs flanneld cleanup on the node.
func (m *machine) cleanup() {
	m.t.Helper()
	cmd := exec.Command("nsenter", "--net="+m.netns.Path(), program, "cleanup", "--config", filepath.Join(m.dir, "flanneld.json"))
	if out, err := cmd.CombinedOutput(); err != nil {
		m.t.Errorf("cleanup of %s: %v\n%s", m.name, err, out)
	}
}

// identity are the files of a node's certificate for etcd.
var identity = []string{"etcd-client.crt", "etcd-client.key", "etcd-client.key.pending"}

// pristine fails the test if anything of flannel is on the node.
func (m *machine) pristine(routes []string) {
	m.t.Helper()
	if got := m.routes(); !slices.Equal(got, routes) {
		m.t.Errorf("%s has the routes %q, want %q", m.name, got, routes)
	}
	if out := m.netns.Run("ip", "-o", "link"); strings.Contains(out, "flannel") || strings.Contains(out, "cni0") {
		m.t.Errorf("%s has interfaces:\n%s", m.name, out)
	}
	if out, err := m.netns.Try("nft", "list", "tables"); err == nil && strings.Contains(out, "flannel") {
		m.t.Errorf("%s has tables:\n%s", m.name, out)
	}
	files := []string{m.config.SubnetFile, filepath.Join(m.config.CNI.ConfDir, "10-flannel.conflist")}
	for _, name := range append(identity, "state.json") {
		files = append(files, filepath.Join(m.config.StateDir, name))
	}
	for _, name := range files {
		if _, err := os.Stat(name); !os.IsNotExist(err) {
			m.t.Errorf("%s has %s: %v", m.name, name, err)
		}
	}
}

func TestCleanupRestoresTheNode(t *testing.T) {
	seg := newSegment(t)
	one, two := seg.node("node1", "192.168.0.100"), seg.node("node2", "192.168.0.200")
	before := one.routes()
	one.netns.Run("ip", "route", "add", "10.1.200.0/24", "via", "192.168.0.1", "proto", "static")
	static := one.routes()
	one.ready()
	two.ready()
	one.until("there is a route to the other node", func() (string, bool) { return "", len(one.routes()) > len(before)+1 })
	one.pod("cni0")
	one.stop()
	two.stop()
	for _, name := range identity {
		if err := os.WriteFile(filepath.Join(one.config.StateDir, name), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	one.cleanup()
	// Someone's own route into the network stays.
	one.pristine(static)
	one.cleanup() // what is removed already is no error
	two.cleanup()
}

func TestCleanupRemovesTheTunnel(t *testing.T) {
	one, _ := vxlanPair(t)
	one.until("there is a tunnel", func() (string, bool) {
		out, err := one.netns.Try("ip", "link", "show", "flannel.7")
		return out, err == nil
	})
	one.stop()
	one.cleanup()
	if out := one.netns.Run("ip", "-o", "link"); strings.Contains(out, "flannel") {
		t.Errorf("it is left:\n%s", out)
	}
}
