package node_test

import (
	"encoding/json"
	"fmt"
	"net"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/containernetworking/plugins/pkg/ns"
	"golang.org/x/sys/unix"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/cluster-network-operator/cno/internal/testing/eventually"
	"github.com/cluster-network-operator/cno/internal/testing/nodetest"
	"github.com/cluster-network-operator/cno/providers/ovnkubernetes/topology"
)

// group is the multicast group of TestMulticastReachesPodsThatHaveJoined, with a port.
var group = net.UDPAddr{IP: net.IPv4(239, 1, 1, 1), Port: 5000}

// member is a pod that has joined the group.
type member struct {
	*net.UDPConn
	name string
}

// TestMulticastReachesPodsThatHaveJoined: pods on both nodes join a group. Packets reach them while their namespace has the annotation; those with a TTL of 1 stay on the
// switch of their node.
func TestMulticastReachesPodsThatHaveJoined(t *testing.T) {
	c := governed(t)
	one, two := c.nodes[0], c.nodes[1]
	sender, pods := one.governedPod("sender"), []*pod{one.governedPod("near"), two.governedPod("far")}
	nodetest.Reaches(t, sender.Namespace, pods[1].addr(), podMTU)
	never := func(why string, members []member) {
		t.Helper()
		eventually.Holds(t, why, func() (string, bool) { got := multicast(t, sender, 8, members); return got, got == "" })
		eventually.Stays(t, 3*time.Second, why, func() (string, bool) { got := multicast(t, sender, 8, members); return got, got == "" })
	}
	reaches := func(ttl int, members []member, want string) {
		t.Helper()
		eventually.Holds(t, fmt.Sprintf("packets with a TTL of %d reach %s", ttl, want), func() (string, bool) {
			got := multicast(t, sender, ttl, members)
			return got, got == want
		})
	}
	leave := func(members []member) {
		t.Helper()
		for _, m := range members {
			if err := m.Close(); err != nil {
				t.Fatal(err)
			}
		}
	}
	members := join(t, pods)
	never("without the annotation no packet passes", members)
	leave(members)
	c.allowMulticast(true)
	c.agreesWhole("with multicast")
	// A switch that has not seen that pods join asks its ports after a while. Pods join again earlier, in case that the rules were not active yet.
	members = join(t, pods)
	joined := time.Now()
	eventually.Holds(t, "packets reach pods that have joined, on both nodes", func() (string, bool) {
		if time.Since(joined) > 10*time.Second {
			leave(members)
			members, joined = join(t, pods), time.Now()
		}
		got := multicast(t, sender, 8, members)
		return got, got == "near far"
	})
	reaches(1, members, "near")
	reaches(8, members, "near far")
	c.agreesWhole("with members of a group")
	c.allowMulticast(false)
	never("without the annotation no packet passes any more", members)
}

// allowMulticast sets the annotation of the namespace of the pods.
func (c *cluster) allowMulticast(allowed bool) {
	c.t.Helper()
	patch, err := json.Marshal(map[string]any{"metadata": map[string]any{"annotations": map[string]string{topology.Multicast: fmt.Sprint(allowed)}}})
	if err != nil {
		c.t.Fatal(err)
	}
	if err := c.api.Client.Patch(c.t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: c.ns}}, client.RawPatch("application/merge-patch+json", patch)); err != nil {
		c.t.Fatal(err)
	}
}

// join has pods join the group.
func join(t *testing.T, pods []*pod) (members []member) {
	t.Helper()
	for _, p := range pods {
		if err := ns.WithNetNSPath(p.Path(), func(ns.NetNS) error {
			link, err := net.InterfaceByName("eth0")
			if err != nil {
				return err
			}
			conn, err := net.ListenMulticastUDP("udp4", link, &group)
			if err != nil {
				return err
			}
			t.Cleanup(func() { _ = conn.Close() }) // it may be closed already
			members = append(members, member{conn, p.name})
			return nil
		}); err != nil {
			t.Fatal(err)
		}
	}
	return members
}

// multicast sends a packet to the group, and returns the names of the members that get it.
func multicast(t *testing.T, from *pod, ttl int, members []member) string {
	t.Helper()
	text := fmt.Sprint(time.Now().UnixNano())
	setTTL := func(_, _ string, conn syscall.RawConn) (err error) {
		if controlErr := conn.Control(func(fd uintptr) { err = unix.SetsockoptInt(int(fd), unix.IPPROTO_IP, unix.IP_MULTICAST_TTL, ttl) }); controlErr != nil {
			return controlErr
		}
		return err
	}
	if err := ns.WithNetNSPath(from.Path(), func(ns.NetNS) error {
		conn, err := (&net.Dialer{Control: setTTL}).DialContext(t.Context(), "udp4", group.String())
		if err != nil {
			return err
		}
		_, err = conn.Write([]byte(text))
		_ = conn.Close() // the packet is sent
		return err
	}); err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, m := range members {
		if err := m.SetReadDeadline(time.Now().Add(300 * time.Millisecond)); err != nil {
			t.Fatal(err)
		}
		for buffer := make([]byte, 100); ; {
			n, err := m.Read(buffer)
			if err != nil { // no packet any more
				break
			}
			if string(buffer[:n]) == text {
				got = append(got, m.name)
				break
			}
		}
	}
	return strings.Join(got, " ")
}
