package node_test

import (
	"errors"
	"net"
	"os"
	"testing"
	"time"

	"github.com/containernetworking/plugins/pkg/ns"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/cluster-network-operator/cno/internal/testing/eventually"
	"github.com/cluster-network-operator/cno/internal/testing/netns"
	"github.com/cluster-network-operator/cno/internal/testing/nodetest"
	"github.com/cluster-network-operator/cno/providers/openshiftsdn/agentconfig"
)

// connected returns both ends of a TCP connection between two pods, over which data has passed in both directions.
func connected(t *testing.T, client, server *pod, port string) (opener, other net.Conn) {
	t.Helper()
	var listener net.Listener
	if err := ns.WithNetNSPath(server.Path(), func(ns.NetNS) (err error) { listener, err = net.Listen("tcp", ":"+port); return err }); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = listener.Close() })
	accepted := make(chan net.Conn, 1)
	go func() {
		if conn, err := listener.Accept(); err == nil {
			accepted <- conn
		}
	}()
	eventually.Holds(t, "the connection is made", func() (string, bool) {
		err := ns.WithNetNSPath(client.Path(), func(ns.NetNS) (err error) {
			opener, err = net.DialTimeout("tcp", server.address.String()+":"+port, 2*time.Second)
			return err
		})
		if err != nil {
			return err.Error(), false
		}
		return "", true
	})
	select {
	case other = <-accepted:
	case <-time.After(time.Minute):
		t.Fatal("the server has accepted no connection")
	}
	t.Cleanup(func() { _ = opener.Close(); _ = other.Close() })
	for _, ends := range [][2]net.Conn{{opener, other}, {other, opener}} {
		if !carries(t, ends[0], ends[1], time.Minute) {
			t.Fatal("the new connection carries no data")
		}
	}
	return opener, other
}

// carries sends data over a connection, and reports whether it arrives in time.
func carries(t *testing.T, from, to net.Conn, limit time.Duration) bool {
	t.Helper()
	if _, err := from.Write([]byte("data")); err != nil {
		t.Fatal(err)
	}
	if err := to.SetReadDeadline(time.Now().Add(limit)); err != nil {
		t.Fatal(err)
	}
	_, err := to.Read(make([]byte, 64))
	if err != nil && !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Fatal(err)
	}
	return err == nil
}

// TestConnectionsOverARestartOfOpenVSwitch: connection tracking is lost with ovs-vswitchd. Connections whose opener sends next continue. Those whose server sends
// next are new ones to the policies of the client: they continue unless these isolate it.
func TestConnectionsOverARestartOfOpenVSwitch(t *testing.T) {
	c, one, two := running(t, agentconfig.NetworkPolicy)
	c.create(&networkingv1.NetworkPolicy{ObjectMeta: metav1.ObjectMeta{Namespace: "one", Name: "deny"}, Spec: networkingv1.NetworkPolicySpec{
		PodSelector: metav1.LabelSelector{MatchLabels: map[string]string{"app": "isolated"}}, PolicyTypes: []networkingv1.PolicyType{networkingv1.PolicyTypeIngress},
	}})
	open, isolated := one.pod("one", "open", nil), one.pod("one", "isolated", map[string]string{"app": "isolated"})
	near, far := one.pod("two", "near", nil), two.pod("two", "far", nil)
	eventually.Holds(t, "the policy is enforced", func() (string, bool) {
		out, err := far.Try("ping", "-n", "-c", "1", "-W", "1", isolated.address.String())
		return out, err != nil
	})
	rows := []struct {
		why            string
		client, server *pod
		port           string
		serverFirst    bool
		continues      bool
		opener, other  net.Conn
	}{
		{why: "the opener sends next, on one node", client: open, server: near, port: "7001", continues: true},
		{why: "the opener sends next, to another node", client: open, server: far, port: "7002", continues: true},
		{why: "the opener sends next, and is isolated", client: isolated, server: near, port: "7003", continues: true},
		{why: "the opener sends next, and is isolated, to another node", client: isolated, server: far, port: "7004", continues: true},
		{why: "the server sends next, on one node", client: open, server: near, port: "7005", serverFirst: true, continues: true},
		{why: "the server sends next, from another node", client: open, server: far, port: "7006", serverFirst: true, continues: true},
		{why: "the server sends next to an isolated client", client: isolated, server: near, port: "7007", serverFirst: true},
		{why: "the server sends next to an isolated client, from another node", client: isolated, server: far, port: "7008", serverFirst: true},
	}
	for i := range rows {
		rows[i].opener, rows[i].other = connected(t, rows[i].client, rows[i].server, rows[i].port)
	}
	before := one.vswitchd()
	netns.Run(t, "kill", "-9", before)
	eventually.Holds(t, "another ovs-vswitchd runs", func() (string, bool) { now := one.vswitchd(); return now, now != "" && now != before })
	for _, p := range []*pod{near, far} {
		nodetest.Reaches(t, open.Namespace, p.address, podMTU)
	}
	for _, row := range rows {
		first, second := row.opener, row.other
		if row.serverFirst {
			first, second = second, first
		}
		limit := time.Minute
		if !row.continues {
			limit = 3 * time.Second
		}
		if got := carries(t, first, second, limit); got != row.continues {
			t.Errorf("%s: the connection continues: %t", row.why, got)
		} else if got && !carries(t, second, first, limit) {
			t.Errorf("%s: the answer does not arrive", row.why)
		}
	}
}
