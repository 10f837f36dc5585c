package node_test

import (
	"fmt"
	"net"
	"sync"
	"testing"

	"github.com/containernetworking/plugins/pkg/ns"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	sdnv1 "github.com/cluster-network-operator/cno/api/sdn/v1"
	"github.com/cluster-network-operator/cno/internal/apitest"
	"github.com/cluster-network-operator/cno/internal/testing/eventually"
	"github.com/cluster-network-operator/cno/internal/testing/netns"
	"github.com/cluster-network-operator/cno/internal/testing/nodetest"
)

var group = &net.UDPAddr{IP: net.IPv4(239, 1, 1, 1), Port: 5000}

// member is a listener of the group, and what it has received.
type member struct {
	name string
	at   netns.Namespace
	mu   sync.Mutex
	got  map[string]bool
}

// join listens for datagrams of the group on an interface until the test ends.
func join(t *testing.T, at netns.Namespace, link, name string) *member {
	t.Helper()
	m := &member{name: name, at: at, got: map[string]bool{}}
	var conn *net.UDPConn
	if err := ns.WithNetNSPath(at.Path(), func(ns.NetNS) error {
		i, err := net.InterfaceByName(link)
		if err != nil {
			return err
		}
		conn, err = net.ListenMulticastUDP("udp4", i, group)
		return err
	}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	go func() {
		buffer := make([]byte, 64)
		for {
			n, _, err := conn.ReadFrom(buffer)
			if err != nil {
				return
			}
			m.mu.Lock()
			m.got[string(buffer[:n])] = true
			m.mu.Unlock()
		}
	}()
	return m
}

func (m *member) received(text string) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.got[text]
}

// cast sends a datagram to the group.
func cast(from netns.Namespace, text string) error {
	return ns.WithNetNSPath(from.Path(), func(ns.NetNS) error {
		conn, err := net.DialUDP("udp4", nil, group)
		if err != nil {
			return err
		}
		defer conn.Close()
		_, err = conn.Write([]byte(text))
		return err
	})
}

// multicast turns it on or off for a namespace.
func (c *cluster) multicast(namespace string, on bool) {
	c.t.Helper()
	n := &sdnv1.NetNamespace{ObjectMeta: metav1.ObjectMeta{Name: namespace}}
	if err := c.client.Get(c.t.Context(), kubeKey(n), n); err != nil {
		c.t.Fatal(err)
	}
	apitest.Change(c.t, c.client, n, func() {
		n.Annotations = map[string]string{}
		if on {
			n.Annotations[sdnv1.AnnotationMulticast] = "true"
		}
	})
}

// multicasts tests multicast of namespace one with pods on both nodes: it reaches the pods of the namespace while it is on, and nothing else at any time.
func multicasts(t *testing.T, c *cluster, one, two *machine) {
	sender, near, far := one.pod("one", "sender", nil), one.pod("one", "member", nil), two.pod("one", "far-member", nil)
	inside := []*member{join(t, near.Namespace, "eth0", "a pod of the node"), join(t, far.Namespace, "eth0", "a pod of the other node")}
	other, otherFar, global := one.pod("two", "other", nil), two.pod("two", "far-other", nil), two.pod("global", "all", nil)
	outside := []*member{
		join(t, other.Namespace, "eth0", "another namespace on the node"), join(t, otherFar.Namespace, "eth0", "another namespace on the other node"),
		join(t, global.Namespace, "eth0", "a global namespace"), join(t, one.at, "tun0", "the node"), join(t, two.at, "tun0", "the other node"), join(t, two.at, "eth0", "the link of the nodes"),
	}
	one.at.Run("ip", "route", "add", "224.0.0.0/4", "dev", "tun0")
	sent := 0
	// arrives sends a datagram, and waits until packets that are sent later have passed by the same ways.
	arrives := func(from netns.Namespace) string {
		t.Helper()
		sent++
		text := fmt.Sprint("datagram ", sent)
		if err := cast(from, text); err != nil {
			t.Fatal(err)
		}
		nodetest.Reaches(t, sender.Namespace, near.address, podMTU)
		nodetest.Reaches(t, sender.Namespace, far.address, podMTU)
		for _, m := range outside {
			if m.received(text) && m.at.Name != from.Name { // a sender receives its own packets
				t.Errorf("%s hears %s", m.name, text)
			}
		}
		return text
	}
	reached := func(text string) (all, none bool) {
		all, none = true, true
		for _, m := range inside {
			all, none = all && m.received(text), none && !m.received(text)
		}
		return all, none
	}
	if _, none := reached(arrives(sender.Namespace)); !none {
		t.Error("it is off, and a pod hears a datagram")
	}
	c.multicast("one", true)
	c.multicast("two", true) // each VNID has its own
	eventually.Holds(t, "the pods of the namespace hear it", func() (string, bool) {
		all, _ := reached(arrives(sender.Namespace))
		return "", all
	})
	if _, none := reached(arrives(one.at)); !none {
		t.Error("a pod hears a datagram of the node")
	}
	c.multicast("one", false)
	eventually.Holds(t, "it is off again", func() (string, bool) {
		_, none := reached(arrives(sender.Namespace))
		return "", none
	})
}
