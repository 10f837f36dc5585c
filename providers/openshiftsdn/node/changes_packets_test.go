package node_test

import (
	"fmt"
	"net/netip"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	sdnv1 "github.com/cluster-network-operator/cno/api/sdn/v1"
	"github.com/cluster-network-operator/cno/internal/apitest"
	"github.com/cluster-network-operator/cno/internal/testing/eventually"
	"github.com/cluster-network-operator/cno/internal/testing/netns"
	"github.com/cluster-network-operator/cno/internal/testing/nodetest"
	"github.com/cluster-network-operator/cno/providers/openshiftsdn/agentconfig"
)

// renumber gives the node another address, and writes it to the HostSubnet as the controller does.
func (m *machine) renumber(t *testing.T, address string) {
	t.Helper()
	m.at.Run("ip", "address", "flush", "dev", "eth0")
	m.at.Run("ip", "address", "add", address+"/24", "dev", "eth0")
	m.address = netip.MustParseAddr(address)
	h := &sdnv1.HostSubnet{ObjectMeta: metav1.ObjectMeta{Name: m.name}}
	if err := m.client.Get(t.Context(), kubeKey(h), h); err != nil {
		t.Fatal(err)
	}
	apitest.Change(t, m.client, h, func() { h.HostIP = address })
}

// TestChangesOfNodes: what changes below pods that run leaves them their network, and nothing stale.
func TestChangesOfNodes(t *testing.T) {
	_, one, two := running(t, agentconfig.NetworkPolicy)
	near, next, far := one.pod("one", "near", nil), one.pod("one", "next", nil), two.pod("two", "far", nil)
	connected := func(t *testing.T) {
		t.Helper()
		nodetest.Reaches(t, near.Namespace, next.address, podMTU)
		nodetest.Reaches(t, near.Namespace, far.address, podMTU)
		nodetest.Reaches(t, far.Namespace, next.address, podMTU)
		nodetest.Reaches(t, one.at, far.address, podMTU)
	}
	connected(t)
	t.Run("the bridge is deleted", func(t *testing.T) {
		netns.Run(t, "ovs-vsctl", "--db=unix:"+one.config.SwitchRunDir+"/db.sock", "--timeout=30", "del-br", agentconfig.Bridge)
		connected(t)
		if err := near.check(); err != nil {
			t.Errorf("CHECK: %v", err)
		}
	})
	stale := func(t *testing.T, m *machine, address string) {
		t.Helper()
		eventually.Holds(t, "no flow of "+m.name+" has the former address", func() (string, bool) {
			out, err := ofctl(m, "dump-flows")
			return out, err == nil && !strings.Contains(out, address+",") && !strings.Contains(out, address+"->")
		})
	}
	t.Run("a node gets another address", func(t *testing.T) {
		two.renumber(t, "192.0.2.77")
		connected(t)
		stale(t, one, "192.0.2.2")
	})
	t.Run("two nodes exchange their addresses", func(t *testing.T) {
		first, second := one.address.String(), two.address.String()
		one.at.Run("ip", "address", "flush", "dev", "eth0") // no two have one address at a time
		two.renumber(t, first)
		one.renumber(t, second)
		connected(t)
	})
	t.Run("the link of a node is too short", func(t *testing.T) {
		one.at.Run("ip", "link", "set", "eth0", "mtu", "1400")
		eventually.Holds(t, "the node is not ready, with the MTU that fits", func() (string, bool) {
			out, err := one.readyz()
			return out, err != nil && strings.Contains(out, "has MTU 1400, and pods with MTU 1450 need 50 more for VXLAN; an MTU of 1350 fits")
		})
		late := one.schedule("one", "late", nil)
		if err := late.add(); err == nil || !strings.Contains(err.Error(), "the agent is not ready") {
			t.Errorf("ADD on a link that is too short: %v", err)
		}
		nodetest.Reaches(t, near.Namespace, next.address, podMTU)
		nodetest.Reaches(t, near.Namespace, far.address, 1300)
		one.at.Run("ip", "link", "set", "eth0", "mtu", "1500")
		one.ready()
		eventually.Holds(t, "the pod starts", func() (string, bool) { err := late.add(); return fmt.Sprint(err), err == nil })
		connected(t)
	})
}
