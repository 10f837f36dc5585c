package etcdsnapshot

import (
	"context"
	"fmt"
	"net"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/zap"

	"github.com/cluster-network-operator/cno/internal/certs"
	"github.com/cluster-network-operator/cno/internal/etcdcluster"
	"github.com/cluster-network-operator/cno/internal/etcdcluster/etcdclient"
	"github.com/cluster-network-operator/cno/internal/testing/assets"
	"github.com/cluster-network-operator/cno/internal/testing/eventually"
)

// threeMembers are three real etcds with the configuration that is rendered, on addresses of the loopback.
type threeMembers struct {
	t       *testing.T
	members etcdcluster.Membership
	dirs    map[string]string // by node
	running map[string]*exec.Cmd
	root    etcdclient.Target
}

func newThreeMembers(t *testing.T) *threeMembers {
	t.Helper()
	ca, err := certs.NewCA("toy-etcd", time.Now(), 24*time.Hour)
	if err != nil {
		t.Fatal(err)
	}
	managed := etcdcluster.Managed{ClientPort: freePort(t), PeerPort: freePort(t)}
	var candidates []etcdcluster.Candidate
	for i, name := range []string{"a", "b", "c"} {
		candidates = append(candidates, etcdcluster.Candidate{Name: name, UID: name, Address: address(i)})
	}
	c := &threeMembers{t: t, members: etcdcluster.Bootstrap(candidates, managed, "0000000a"), dirs: map[string]string{}, running: map[string]*exec.Cmd{}}
	t.Cleanup(c.stop)
	all := ""
	for i := range c.members.Members {
		m := &c.members.Members[i]
		m.State = etcdcluster.New // all found it together, as nothing runs yet
		all += "," + m.Name + "=" + m.PeerURL
		c.dirs[m.Node] = t.TempDir()
		c.write(m.Node, ca, m.CertificateRequest())
	}
	for i := range c.members.Members {
		c.members.Members[i].InitialCluster = all[1:]
	}
	pair, err := ca.Issue(etcdcluster.RootRequest(), time.Now())
	if err != nil {
		t.Fatal(err)
	}
	c.root.Timeout = 5 * time.Second
	if c.root.TLS, err = etcdclient.TLSConfig(map[string][]byte{"tls.crt": pair.Certificate, "tls.key": pair.Key, etcdcluster.BundleKey: ca.Pair().Certificate}); err != nil {
		t.Fatal(err)
	}
	for _, m := range c.members.Members {
		c.root.Endpoints = append(c.root.Endpoints, m.ClientURL)
	}
	return c
}

func address(i int) netip.Addr { return netip.AddrFrom4([4]byte{127, 0, 3, byte(i + 1)}) }

// freePort returns a port that is free on the addresses of all members.
func freePort(t *testing.T) uint16 {
	t.Helper()
	for {
		first, err := net.Listen("tcp", netip.AddrPortFrom(address(0), 0).String())
		if err != nil {
			t.Fatal(err)
		}
		defer first.Close()
		port, free := uint16(first.Addr().(*net.TCPAddr).Port), true
		for i := 1; i < 3; i++ {
			l, err := net.Listen("tcp", netip.AddrPortFrom(address(i), port).String())
			if free = free && err == nil; err == nil {
				defer l.Close()
			}
		}
		if free {
			return port
		}
	}
}

func (c *threeMembers) write(node string, ca *certs.CA, want certs.Request) {
	c.t.Helper()
	pair, err := ca.Issue(want, time.Now())
	if err != nil {
		c.t.Fatal(err)
	}
	for name, content := range map[string][]byte{"tls.crt": pair.Certificate, "tls.key": pair.Key, "ca.crt": ca.Pair().Certificate} {
		if err := os.WriteFile(filepath.Join(c.dirs[node], name), content, 0o600); err != nil {
			c.t.Fatal(err)
		}
	}
}

func (c *threeMembers) data(node string) string { return filepath.Join(c.dirs[node], "data") }

// start starts the members with the configuration that the record calls for.
func (c *threeMembers) start() {
	c.t.Helper()
	for i, m := range c.members.Members {
		dir := c.dirs[m.Node]
		metrics := fmt.Sprintf("http://%s:%d", address(i), freePort(c.t))
		config, err := c.members.EtcdConfig(m, etcdcluster.Paths{Data: c.data(m.Node), TLS: dir, MetricsURL: metrics})
		if err != nil {
			c.t.Fatal(err)
		}
		file := filepath.Join(dir, "etcd.yaml")
		if err := os.WriteFile(file, []byte(config+"unsafe-no-fsync: true\nlog-level: error\n"), 0o600); err != nil {
			c.t.Fatal(err)
		}
		cmd := exec.Command(filepath.Join(assets.Dir(c.t, "etcd"), "etcd"), "--config-file", file)
		cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
		cmd.Stderr = c.t.Output()
		if err := cmd.Start(); err != nil {
			c.t.Fatal(err)
		}
		c.running[m.Node] = cmd
	}
}

// stop kills all members.
func (c *threeMembers) stop() {
	for node, cmd := range c.running {
		_ = cmd.Process.Kill() // it may have ended
		_ = cmd.Wait()
		delete(c.running, node)
	}
}

// connect returns a connection as the root user, once etcd answers.
func (c *threeMembers) connect() etcdclient.Etcd {
	c.t.Helper()
	etcd, err := etcdclient.Dial(c.root)
	if err != nil {
		c.t.Fatal(err)
	}
	c.t.Cleanup(func() { _ = etcd.Close() })
	eventually.Holds(c.t, "etcd answers", func() (string, bool) {
		_, err := etcd.Read(c.t.Context(), "/")
		return fmt.Sprint(err), err == nil
	})
	return etcd
}

func put(ctx context.Context, etcd etcdclient.Etcd, key, value string) error {
	_, err := etcd.Commit(ctx, etcdclient.Change{Put: map[string][]byte{key: []byte(value)}})
	return err
}

// TestALostClusterIsRestoredFromASnapshot: all members lose their disks, and each is restored from one snapshot. Users and their
// permissions are restored, too, and a client that has seen later revisions has to read everything again.
func TestALostClusterIsRestoredFromASnapshot(t *testing.T) {
	c, ctx := newThreeMembers(t), t.Context()
	c.start()
	before := c.connect()
	if err := put(ctx, before, "/network/kept", "before the snapshot"); err != nil {
		t.Fatal(err)
	}
	if err := before.EnableAuth(ctx, func(string) bool { return true }); err != nil {
		t.Fatal(err)
	}
	if err := before.Grant(ctx, "toy:node:a", []etcdcluster.Permission{{Key: "/network/a", Write: true}}); err != nil {
		t.Fatal(err)
	}
	snapshot, err := Take(ctx, before, filepath.Join(c.data("a"), Directory), time.Now())
	if err != nil {
		t.Fatal(err)
	}
	if err := put(ctx, before, "/network/later", "after the snapshot"); err != nil {
		t.Fatal(err)
	}
	later, err := before.Read(ctx, "/network/later")
	if err != nil || len(later) != 1 {
		t.Fatalf("read %v, %v", later, err)
	}

	if _, err := Restore(c.members, "a", snapshot, c.data("a"), noon); err == nil || !strings.Contains(err.Error(), "an etcd uses") {
		t.Errorf("a member that runs is restored: %v", err)
	}
	c.stop()
	for _, m := range c.members.Members[1:] {
		if err := os.RemoveAll(filepath.Join(c.data(m.Node), m.Name)); err != nil {
			t.Fatal(err)
		}
	}
	for i, m := range c.members.Members {
		former, err := Restore(c.members, m.Node, snapshot, c.data(m.Node), noon)
		if err != nil {
			t.Fatal(err)
		}
		if (former != "") != (i == 0) {
			t.Errorf("%s: its former data are in %q", m.Node, former)
		}
	}
	c.start()

	after := c.connect()
	kept, err := after.Read(ctx, "/network/")
	if err != nil || len(kept) != 1 || string(kept[0].Value) != "before the snapshot" {
		t.Errorf("after it was restored, etcd has %v, %v", kept, err)
	}
	list, err := after.List(ctx)
	if err != nil || len(list) != 3 {
		t.Errorf("etcd lists the members %v, %v", list, err)
	}
	if enforced, err := after.AuthEnabled(ctx); err != nil || !enforced {
		t.Errorf("etcd checks permissions: %t, %v", enforced, err)
	}
	users, err := after.Users(ctx)
	if err != nil || len(users) != 2 {
		t.Errorf("the users are %v, %v", users, err)
	}
	c.reread(later[0].Revision)
}

// reread checks that a watch from a revision that was lost ends with the word that it is compacted, instead of waiting for that revision to
// come again.
func (c *threeMembers) reread(revision int64) {
	c.t.Helper()
	client, err := clientv3.New(clientv3.Config{Endpoints: c.root.Endpoints, TLS: c.root.TLS, Logger: zap.NewNop()})
	if err != nil {
		c.t.Fatal(err)
	}
	defer client.Close()
	ctx, cancel := context.WithTimeout(c.t.Context(), time.Minute)
	defer cancel()
	resp, open := <-client.Watch(ctx, "/network/", clientv3.WithPrefix(), clientv3.WithRev(revision))
	if !open || resp.CompactRevision <= revision {
		c.t.Errorf("a watch from revision %d gets %+v, %v", revision, resp, resp.Err())
	}
}

func TestWhatCannotBeRestored(t *testing.T) {
	m := etcdcluster.Membership{Members: []etcdcluster.Member{
		{Name: "a-1", Node: "a", PeerURL: "https://192.0.2.1:2380", State: etcdcluster.Existing},
		{Name: "b-1", Node: "b", State: etcdcluster.Promised},
	}}
	dir := t.TempDir()
	good, err := Take(t.Context(), stream{content: database()}, dir, noon)
	if err != nil {
		t.Fatal(err)
	}
	bad := filepath.Join(dir, "bad")
	if err := os.WriteFile(bad, database()[1:], 0o600); err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct{ node, snapshot, want string }{
		{"a", filepath.Join(dir, "missing"), "no such file"},
		{"a", bad, "incomplete"},
		{"b", good, "no member of etcd runs on node \"b\""},
		{"c", good, "the record has members on a"},
		{"a", good, "failed to open database"},
	} {
		data := t.TempDir()
		if err := os.MkdirAll(filepath.Join(data, "a-1", "member"), 0o700); err != nil {
			t.Fatal(err)
		}
		if _, err := Restore(m, tt.node, tt.snapshot, data, noon); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("node %s, %s: the error is %v, want one with %q", tt.node, tt.snapshot, err, tt.want)
		}
		if left, err := os.ReadDir(data); err != nil || len(left) != 1 || left[0].Name() != "a-1" {
			t.Errorf("%s: the data of the member is not what it was: %v, %v", tt.want, left, err)
		}
	}
}
