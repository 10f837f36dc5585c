package controller

import (
	"context"
	"net/netip"
	"testing"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	corev1 "k8s.io/api/core/v1"

	operatorv1 "github.com/cluster-network-operator/cno/api/operator/v1"
	"github.com/cluster-network-operator/cno/internal/certs"
	"github.com/cluster-network-operator/cno/internal/etcdcluster"
	"github.com/cluster-network-operator/cno/internal/etcdcluster/etcdmanager"
	"github.com/cluster-network-operator/cno/internal/testing/etcdnodes"
	"github.com/cluster-network-operator/cno/providers/flannel/agentconfig"
	"github.com/cluster-network-operator/cno/providers/flannel/record"
)

// nodeCertificate is what the agent on a node would get.
func (w *world) nodeCertificate(node string) map[string][]byte {
	w.T.Helper()
	r, err := etcdmanager.DecodeRotation(w.Secret(operatorNamespace, record.Etcd.CASecret()))
	if err != nil {
		w.T.Fatal(err)
	}
	pair, err := r.Current.Issue(certs.Request{CommonName: record.Etcd.NodeUser(node), Usage: certs.Client, Life: 90 * 24 * time.Hour}, w.Now)
	if err != nil {
		w.T.Fatal(err)
	}
	return map[string][]byte{corev1.TLSCertKey: pair.Certificate, corev1.TLSPrivateKeyKey: pair.Key, etcdcluster.BundleKey: r.Bundle().PEM()}
}

// TestMigrationFromASharedToPerNodeCertificates plays the agents of an earlier version, which share a
// certificate and choose their subnets, and then those of this one.
func TestMigrationFromASharedToPerNodeCertificates(t *testing.T) {
	w := newWorld(t, &operatorv1.FlannelConfig{})
	w.Node("a", 1, true)
	w.Node("b", 2, false)
	w.Until("etcd answers", func() bool {
		return w.Secret(record.Namespace, record.Etcd.ClientSecret()) != nil && len(w.Voters()) == 1 && w.Members().Members[0].ID != ""
	})
	old := w.Dial(w.Secret(record.Namespace, record.Etcd.ClientSecret()))
	write := func(c *clientv3.Client, key string, value []byte) error {
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		_, err := c.Put(ctx, key, string(value))
		return err
	}
	report := func(c *clientv3.Client, a agentconfig.AgentStatus) {
		t.Helper()
		value, err := a.Encode()
		if err != nil {
			t.Fatal(err)
		}
		if err := write(c, agentconfig.AgentKey(accessPrefix, a.Node), value); err != nil {
			t.Fatalf("%s cannot report: %v", a.Node, err)
		}
	}
	subnet := map[string]netip.Prefix{"a": netip.MustParsePrefix("10.128.2.0/23"), "b": netip.MustParsePrefix("10.128.4.0/23")}
	for i, name := range []string{"a", "b"} {
		value, err := agentconfig.Reservation{Node: name, Subnet: subnet[name], PublicIP: netip.MustParseAddr(etcdnodes.Address(i + 1))}.Encode()
		if err != nil {
			t.Fatal(err)
		}
		if err := write(old, agentconfig.ReservationKey(accessPrefix, name), value); err != nil {
			t.Fatal(err)
		}
		report(old, agentconfig.AgentStatus{Node: name})
	}
	leaseOf := func(name string) string { return agentconfig.SubnetKey(accessPrefix, subnet[name], netip.Prefix{}) }
	w.Until("the agents without a certificate are reported", func() bool { return w.Message("NodeCertificates") != "" })

	// One agent after the other has a certificate of its own; until the last one, the shared one serves.
	report(w.Dial(w.nodeCertificate("a")), agentconfig.AgentStatus{Node: "a", OwnCertificate: true})
	for range 5 {
		w.Turn()
	}
	if err := write(old, leaseOf("b"), []byte("{}")); err != nil || w.Members().NodeIdentity {
		t.Fatalf("while an agent of the earlier version runs: %v, %+v", err, w.Members())
	}
	// A client with the shared certificate prepares to return as another node, as an administrator, and as a member.
	member := w.Members().Members[0].Name
	for _, prepare := range []func() (any, error){
		func() (any, error) { return old.UserDelete(t.Context(), record.Etcd.NodeUser("a")) },
		func() (any, error) { return old.UserAdd(t.Context(), record.Etcd.NodeUser("a"), "evil") },
		func() (any, error) { return old.RoleAdd(t.Context(), etcdcluster.RootUser) },
		func() (any, error) {
			return old.UserGrantRole(t.Context(), record.Etcd.NodeUser("b"), etcdcluster.RootUser)
		},
		func() (any, error) { return old.UserAdd(t.Context(), member, "evil") },
		func() (any, error) { return old.UserAdd(t.Context(), "b", "evil") },
		func() (any, error) { return old.UserAdd(t.Context(), etcdcluster.RootUser, "evil") },
	} {
		if _, err := prepare(); err != nil {
			t.Fatal(err)
		}
	}
	b := w.Dial(w.nodeCertificate("b"))
	report(b, agentconfig.AgentStatus{Node: "b", OwnCertificate: true})
	w.Until("the shared certificate is removed", func() bool {
		s := w.Secret(record.Namespace, record.Etcd.ClientSecret())
		return w.Members().NodeIdentity && len(s[corev1.TLSCertKey]) == 0 && len(s[etcdcluster.BundleKey]) > 0
	})
	if err := write(old, leaseOf("b"), []byte("{}")); !refused(err) {
		t.Errorf("the shared certificate: %v", err)
	}
	for _, user := range []string{record.Etcd.NodeUser("a"), record.Etcd.NodeUser("b"), member, "b", etcdcluster.RootUser} {
		if _, err := old.Authenticate(t.Context(), user, "evil"); err == nil {
			t.Errorf("the password that another client has set for user %s is accepted", user)
		}
	}
	if _, err := b.UserList(t.Context()); !refused(err) {
		t.Errorf("a node that another client has made an administrator: %v", err)
	}
	if err := write(b, leaseOf("b"), []byte("{}")); err != nil {
		t.Errorf("a node's own lease: %v", err)
	}
	if err := write(b, leaseOf("a"), []byte("{}")); !refused(err) {
		t.Errorf("another node's lease: %v", err)
	}

	// The operator continues with it, also after a restart: a node joins, another one is deleted.
	w.Restart()
	w.Node("c", 3, false)
	c := w.Dial(w.nodeCertificate("c"))
	w.Until("the new node can report", func() bool {
		value, err := agentconfig.AgentStatus{Node: "c", OwnCertificate: true}.Encode()
		return err == nil && write(c, agentconfig.AgentKey(accessPrefix, "c"), value) == nil
	})
	var reserved agentconfig.Reservation
	w.Until("the new node has a reservation", func() bool {
		resp, err := c.Get(t.Context(), agentconfig.ReservationKey(accessPrefix, "c"))
		if err != nil || len(resp.Kvs) == 0 {
			return false
		}
		reserved, err = agentconfig.DecodeReservation(resp.Kvs[0].Value)
		return err == nil
	})
	own := agentconfig.SubnetKey(accessPrefix, reserved.Subnet, netip.Prefix{})
	w.Until("the new node can take its lease", func() bool { return write(c, own, []byte("{}")) == nil })
	w.RemoveNode("b")
	w.Turn()
	w.Now = w.Now.Add(2 * nodeGrace)
	w.Until("the deleted node can do nothing", func() bool { return refused(write(b, leaseOf("b"), []byte("{}"))) })
	if w.Message("EtcdUnreachable") != "" || w.Message("FlannelControllerError") != "" {
		t.Errorf("findings are %v", w.Findings)
	}
}
