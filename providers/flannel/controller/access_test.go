package controller

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/zap"
	corev1 "k8s.io/api/core/v1"

	"github.com/cluster-network-operator/cno/internal/certs"
	"github.com/cluster-network-operator/cno/internal/etcdcluster"
	"github.com/cluster-network-operator/cno/internal/etcdcluster/etcdclient"
	"github.com/cluster-network-operator/cno/internal/testing/etcdnodes"
	"github.com/cluster-network-operator/cno/internal/testing/eventually"
	"github.com/cluster-network-operator/cno/providers/flannel/agentconfig"
	"github.com/cluster-network-operator/cno/providers/flannel/record"
)

const accessPrefix = "/coreos.com/network"

// guarded is a real etcd of one member, as the operator configures it.
type guarded struct {
	t        *testing.T
	ca       *certs.CA
	endpoint string
}

func newGuarded(t *testing.T) *guarded {
	t.Helper()
	ca, err := certs.NewCA("flannel-etcd", time.Now(), 24*time.Hour)
	if err != nil {
		t.Fatal(err)
	}
	ports := etcdnodes.FreePorts(t)
	managed := etcdcluster.Managed{ClientPort: uint16(ports[0]), PeerPort: uint16(ports[1])}
	m := etcdcluster.Bootstrap([]etcdcluster.Candidate{{Name: "a", UID: "u", Address: netip.MustParseAddr("127.0.0.1")}}, managed, "t")
	dir := t.TempDir()
	pair, err := ca.Issue(m.Members[0].CertificateRequest(), time.Now())
	if err != nil {
		t.Fatal(err)
	}
	for name, content := range map[string][]byte{"tls.crt": pair.Certificate, "tls.key": pair.Key, "ca.crt": ca.Pair().Certificate} {
		if err := os.WriteFile(filepath.Join(dir, name), content, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	metrics := etcdnodes.FreePorts(t)[0]
	config, err := m.EtcdConfig(m.Members[0], etcdcluster.Paths{Data: dir, TLS: dir, MetricsURL: fmt.Sprintf("http://127.0.0.1:%d", metrics)})
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(dir, "etcd.yaml")
	if err := os.WriteFile(file, []byte(config+"unsafe-no-fsync: true\nlog-level: fatal\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	p := etcdnodes.Run(t, os.Stderr, "--config-file", file)
	t.Cleanup(p.Kill)
	return &guarded{t: t, ca: ca, endpoint: m.Members[0].ClientURL}
}

// tls is what a client with a common name presents.
func (g *guarded) tls(name string) *tls.Config {
	g.t.Helper()
	pair, err := g.ca.Issue(certs.Request{CommonName: name, Usage: certs.Client, Life: time.Hour}, time.Now())
	if err != nil {
		g.t.Fatal(err)
	}
	data := map[string][]byte{corev1.TLSCertKey: pair.Certificate, corev1.TLSPrivateKeyKey: pair.Key, etcdcluster.BundleKey: g.ca.Pair().Certificate}
	config, err := etcdclient.TLSConfig(data)
	if err != nil {
		g.t.Fatal(err)
	}
	return config
}

// operator is the connection of the operator, once etcd answers.
func (g *guarded) operator() etcdclient.Etcd {
	g.t.Helper()
	etcd, err := etcdclient.Dial(etcdclient.Target{Endpoints: []string{g.endpoint}, TLS: g.tls(etcdcluster.RootUser), Timeout: time.Minute})
	if err != nil {
		g.t.Fatal(err)
	}
	g.t.Cleanup(func() { _ = etcd.Close() })
	eventually.Succeeds(g.t, "etcd answers", func() error {
		_, err := etcd.Read(g.t.Context(), accessPrefix)
		return err
	})
	return etcd
}

// client has a certificate of the CA.
func (g *guarded) client(name string) *clientv3.Client {
	g.t.Helper()
	c, err := clientv3.New(clientv3.Config{Endpoints: []string{g.endpoint}, TLS: g.tls(name), Logger: zap.NewNop()})
	if err != nil {
		g.t.Fatal(err)
	}
	g.t.Cleanup(func() { _ = c.Close() })
	return c
}

// grant gives a node its permissions, with the subnet 10.1.third.0/24.
func (g *guarded) grant(c etcdclient.Etcd, node string, third int) string {
	g.t.Helper()
	subnet := netip.MustParsePrefix(fmt.Sprintf("10.1.%d.0/24", third))
	if err := c.Grant(g.t.Context(), record.Etcd.NodeUser(node), record.NodePermissions(accessPrefix, node, subnet, netip.Prefix{})); err != nil {
		g.t.Fatal(err)
	}
	return agentconfig.SubnetKey(accessPrefix, subnet, netip.Prefix{})
}

func isAgent(user string) bool { _, ok := record.Etcd.UserNode(user); return ok }

// refused reports whether etcd does not permit something; a watch has an error text of its own.
func refused(err error) bool {
	for _, target := range []error{rpctypes.ErrPermissionDenied, rpctypes.ErrUserEmpty, rpctypes.ErrUserNotFound} {
		if errors.Is(err, target) || err != nil && strings.Contains(err.Error(), rpctypes.ErrorDesc(target)) {
			return true
		}
	}
	return false
}

// TestNodeMayWriteOnlyItsOwnKeys is the table of attacks from a compromised node.
func TestNodeMayWriteOnlyItsOwnKeys(t *testing.T) {
	g := newGuarded(t)
	root, raw := g.operator(), g.client(etcdcluster.RootUser)
	own, other := g.grant(root, "own", 66), g.grant(root, "other", 20)
	if err := root.EnableAuth(t.Context(), isAgent); err != nil {
		t.Fatal(err)
	}
	victim := g.client(record.Etcd.NodeUser("other"))
	lease, err := victim.Grant(t.Context(), 3600)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := victim.Put(t.Context(), other, "{}", clientv3.WithLease(lease.ID)); err != nil {
		t.Fatal(err)
	}
	c := g.client(record.Etcd.NodeUser("own"))
	put := func(key string) func(context.Context) error {
		return func(ctx context.Context) error { _, err := c.Put(ctx, key, "{}"); return err }
	}
	remove := func(key string, options ...clientv3.OpOption) func(context.Context) error {
		return func(ctx context.Context) error { _, err := c.Delete(ctx, key, options...); return err }
	}
	members, err := raw.MemberList(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	member := members.Members[0].GetID()
	for name, attack := range map[string]func(context.Context) error{
		"another node's lease":                put(other),
		"half of another node's subnet":       put(accessPrefix + "/subnets/10.1.20.0-25"),
		"the whole network":                   put(accessPrefix + "/subnets/10.1.0.0-16"),
		"half of its own subnet":              put(accessPrefix + "/subnets/10.1.66.0-25"),
		"its own subnet with an IPv6 one":     put(own + "&::-0"),
		"a subnet that is free":               put(accessPrefix + "/subnets/10.1.77.0-24"),
		"its own reservation":                 put(agentconfig.ReservationKey(accessPrefix, "own")),
		"another node's reservation":          put(agentconfig.ReservationKey(accessPrefix, "other")),
		"another node's report":               put(agentconfig.AgentKey(accessPrefix, "other")),
		"the network configuration":           put(agentconfig.ConfigKey(accessPrefix)),
		"a key elsewhere":                     put("/elsewhere"),
		"deletes another node's lease":        remove(other),
		"deletes everything below the prefix": remove(accessPrefix, clientv3.WithPrefix()),
		"deletes everything":                  remove("\x00", clientv3.WithFromKey()),
		"deletes all leases":                  remove(agentconfig.SubnetDir(accessPrefix), clientv3.WithPrefix()),
		"deletes a range from its own key":    remove(own, clientv3.WithRange(own+"z")),
		"a transaction with another's key": func(ctx context.Context) error {
			_, err := c.Txn(ctx).Then(clientv3.OpPut(own, "{}"), clientv3.OpPut(other, "{}")).Commit()
			return err
		},
		"a nested transaction with another's key": func(ctx context.Context) error {
			_, err := c.Txn(ctx).Then(clientv3.OpTxn(nil, []clientv3.Op{clientv3.OpPut(other, "{}")}, nil)).Commit()
			return err
		},
		"ends another node's lease": func(ctx context.Context) error { _, err := c.Revoke(ctx, lease.ID); return err },
		"its key under another node's lease": func(ctx context.Context) error {
			_, err := c.Put(ctx, own, "{}", clientv3.WithLease(lease.ID))
			return err
		},
		"reads elsewhere":  func(ctx context.Context) error { _, err := c.Get(ctx, "/elsewhere"); return err },
		"reads everything": func(ctx context.Context) error { _, err := c.Get(ctx, "\x00", clientv3.WithFromKey()); return err },
		"watches everything": func(ctx context.Context) error {
			for resp := range c.Watch(ctx, "\x00", clientv3.WithFromKey()) {
				if err := resp.Err(); err != nil {
					return err
				}
			}
			return nil
		},
		"adds a member": func(ctx context.Context) error {
			_, err := c.MemberAdd(ctx, []string{"https://192.0.2.66:2380"})
			return err
		},
		"adds a learner": func(ctx context.Context) error {
			_, err := c.MemberAddAsLearner(ctx, []string{"https://192.0.2.66:2380"})
			return err
		},
		"removes a member": func(ctx context.Context) error { _, err := c.MemberRemove(ctx, member); return err },
		"moves a member": func(ctx context.Context) error {
			_, err := c.MemberUpdate(ctx, member, []string{"https://192.0.2.66:2380"})
			return err
		},
		"promotes a member": func(ctx context.Context) error { _, err := c.MemberPromote(ctx, member); return err },
		"takes a snapshot": func(ctx context.Context) error {
			r, err := c.Snapshot(ctx)
			if err != nil {
				return err
			}
			defer r.Close()
			_, err = io.Copy(io.Discard, r)
			return err
		},
		"defragments":      func(ctx context.Context) error { _, err := c.Defragment(ctx, g.endpoint); return err },
		"moves the leader": func(ctx context.Context) error { _, err := c.MoveLeader(ctx, member); return err },
		"hashes the store": func(ctx context.Context) error { _, err := c.HashKV(ctx, g.endpoint, 0); return err },
		"raises a downgrade": func(ctx context.Context) error {
			_, err := c.Downgrade(ctx, clientv3.DowngradeEnable, "3.6.0")
			return err
		},
		"disables the checks": func(ctx context.Context) error { _, err := c.AuthDisable(ctx); return err },
		"adds a user":         func(ctx context.Context) error { _, err := c.UserAdd(ctx, "evil", "evil"); return err },
		"deletes a user": func(ctx context.Context) error {
			_, err := c.UserDelete(ctx, record.Etcd.NodeUser("other"))
			return err
		},
		"sets the password of root": func(ctx context.Context) error {
			_, err := c.UserChangePassword(ctx, etcdcluster.RootUser, "evil")
			return err
		},
		"gives itself root": func(ctx context.Context) error {
			_, err := c.UserGrantRole(ctx, record.Etcd.NodeUser("own"), etcdcluster.RootUser)
			return err
		},
		"adds a role": func(ctx context.Context) error { _, err := c.RoleAdd(ctx, "evil"); return err },
		"gives its role more": func(ctx context.Context) error {
			_, err := c.RoleGrantPermission(ctx, record.Etcd.NodeUser("own"), accessPrefix, "", clientv3.PermissionType(clientv3.PermReadWrite))
			return err
		},
		"reads the users":        func(ctx context.Context) error { _, err := c.UserList(ctx); return err },
		"reads another user":     func(ctx context.Context) error { _, err := c.UserGet(ctx, record.Etcd.NodeUser("other")); return err },
		"reads the roles":        func(ctx context.Context) error { _, err := c.RoleList(ctx); return err },
		"reads another's role":   func(ctx context.Context) error { _, err := c.RoleGet(ctx, record.Etcd.NodeUser("other")); return err },
		"the shared certificate": func(ctx context.Context) error { _, err := g.client("flannel").Put(ctx, own, "{}"); return err },
		"a member's certificate": func(ctx context.Context) error { _, err := g.client("a-t").Put(ctx, own, "{}"); return err },
		"a node without permissions": func(ctx context.Context) error {
			_, err := g.client(record.Etcd.NodeUser("unknown")).Get(ctx, accessPrefix+"/", clientv3.WithPrefix())
			return err
		},
	} {
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		if err := attack(ctx); !refused(err) {
			t.Errorf("%s: etcd returns %v", name, err)
		}
		cancel()
	}
	if left, err := raw.Get(t.Context(), other); err != nil || len(left.Kvs) != 1 {
		t.Errorf("the other node's lease is %v, %v", left, err)
	}
	if _, err := c.Get(t.Context(), accessPrefix+"/", clientv3.WithPrefix()); err != nil {
		t.Errorf("a node cannot read: %v", err)
	}
	mine, err := c.Grant(t.Context(), 3600)
	if err != nil {
		t.Fatal(err)
	}
	for _, key := range []string{own, agentconfig.AgentKey(accessPrefix, "own")} {
		if _, err := c.Put(t.Context(), key, "{}", clientv3.WithLease(mine.ID)); err != nil {
			t.Errorf("a node cannot write %s: %v", key, err)
		}
	}
}

// TestPermissionsFollowTheReservation: a node that is moved to another subnet loses the former, and a deleted node loses all.
func TestPermissionsFollowTheReservation(t *testing.T) {
	g := newGuarded(t)
	root, raw := g.operator(), g.client(etcdcluster.RootUser)
	// Another client has prepared a way back in, while that was possible.
	if _, err := raw.UserAdd(t.Context(), "evil", "evil"); err != nil {
		t.Fatal(err)
	}
	if _, err := raw.UserAdd(t.Context(), etcdcluster.RootUser, "evil"); err != nil {
		t.Fatal(err)
	}
	nodeUser := record.Etcd.NodeUser("node")
	if _, err := raw.UserAddWithOptions(t.Context(), nodeUser, "", &clientv3.UserAddOptions{NoPassword: true}); err != nil {
		t.Fatal(err)
	}
	if _, err := raw.RoleAdd(t.Context(), etcdcluster.RootUser); err != nil && !errors.Is(err, rpctypes.ErrRoleAlreadyExist) {
		t.Fatal(err)
	}
	if _, err := raw.UserGrantRole(t.Context(), nodeUser, etcdcluster.RootUser); err != nil {
		t.Fatal(err)
	}
	before := g.grant(root, "node", 20)
	if err := root.EnableAuth(t.Context(), isAgent); err != nil {
		t.Fatal(err)
	}
	if user, err := raw.UserGet(t.Context(), nodeUser); err != nil || !slices.Equal(user.Roles, []string{nodeUser}) {
		t.Errorf("the user of the node has the roles %v, %v", user, err)
	}
	if enforced, err := root.AuthEnabled(t.Context()); err != nil || !enforced {
		t.Errorf("etcd checks permissions: %v, %v", enforced, err)
	}
	if err := root.ReplacePassword(t.Context(), etcdcluster.RootUser); err != nil {
		t.Fatal(err)
	}
	if _, err := raw.Authenticate(t.Context(), etcdcluster.RootUser, "evil"); err == nil {
		t.Error("the password of root that another client has set is accepted")
	}
	users, err := root.Users(t.Context())
	if err != nil || len(users) != 2 {
		t.Errorf("users are %v, %v", users, err)
	}
	c := g.client(record.Etcd.NodeUser("node"))
	after := g.grant(root, "node", 21)
	if _, err := c.Put(t.Context(), before, "{}"); !refused(err) {
		t.Errorf("the former subnet: %v", err)
	}
	if _, err := c.Put(t.Context(), after, "{}"); err != nil {
		t.Errorf("the new subnet: %v", err)
	}
	for range 2 { // the second time there is none
		if err := root.DeleteUser(t.Context(), record.Etcd.NodeUser("node")); err != nil {
			t.Error(err)
		}
	}
	if _, err := c.Put(t.Context(), after, "{}"); !refused(err) {
		t.Errorf("a deleted node: %v", err)
	}
}
