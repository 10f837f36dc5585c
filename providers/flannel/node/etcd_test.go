package node_test

import (
	"context"
	"slices"
	"strings"
	"testing"

	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/cluster-network-operator/cno/internal/testing/eventually"
	"github.com/cluster-network-operator/cno/providers/flannel/agentconfig"
)

func TestTrafficContinuesWithoutEtcdAlsoAfterARestart(t *testing.T) {
	seg := newSegment(t)
	one, two := seg.node("node1", "192.168.0.100"), seg.node("node2", "192.168.0.200")
	one.ready()
	two.ready()
	pod1, _ := one.pod("cni0")
	_, addr2 := two.pod("cni0")
	pings(t, pod1, addr2)

	seg.etcd.Kill()
	losesNothing(t, pod1, addr2)
	one.restoresAtOnce("the route is deleted", func() { one.netns.Run("ip", "route", "del", two.subnet().String()) }, func() { one.hasRoute(to(two), true) })

	// As after a power failure of the node: the agent is killed, and the kernel has lost its state.
	before := one.subnet()
	one.kill()
	one.netns.Run("ip", "route", "del", two.subnet().String())
	one.start()
	one.waitReady()
	one.hasRoute(to(two), true)
	losesNothing(t, pod1, addr2)
	if one.subnet() != before {
		t.Errorf("the node had %s and has %s", before, one.subnet())
	}
	if out := one.netns.Run("curl", "-s", "http://127.0.0.1:19099/readyz"); !strings.Contains(out, "etcd cannot be reached") {
		t.Errorf("readyz does not report that etcd is unavailable: %s", out)
	}

	seg.etcd.Run()
	one.until("etcd is used again", func() (string, bool) {
		out := one.netns.Run("curl", "-s", "http://127.0.0.1:19099/metrics")
		return out, strings.Contains(out, "flanneld_etcd_connected 1") && strings.Contains(out, "flanneld_restored 0")
	})
	if one.subnet() != before {
		t.Errorf("the node had %s and has %s", before, one.subnet())
	}
	seg.put(prefix+"/subnets/10.1.77.0-24", `{"PublicIP":"192.168.0.77","PublicIPv6":null,"BackendType":"host-gw"}`)
	for _, m := range []*machine{one, two} {
		m.hasRoute("10.1.77.0/24 via 192.168.0.77 dev eth0", true)
		m.alive()
	}
}

func TestReturningNodeHasTheSameSubnetAfterItsLeaseExpired(t *testing.T) {
	seg := newSegment(t)
	one := seg.node("node1", "192.168.0.100")
	one.ready()
	before := one.subnet()
	one.kill()
	seg.remove(agentconfig.SubnetKey(prefix, before, noSubnet)) // as etcd does when the time is over
	// Its disk is lost too, and another node takes a subnet meanwhile.
	one.config.StateDir += "-new"
	two := seg.node("node2", "192.168.0.200")
	two.ready()
	one.ready()
	if one.subnet() != before || two.subnet() == before {
		t.Errorf("node1 had %s and has %s, node2 has %s", before, one.subnet(), two.subnet())
	}
}

func TestDeletedLeaseIsAcquiredAgainWithoutARestart(t *testing.T) {
	seg := newSegment(t)
	one, two := seg.node("node1", "192.168.0.100"), seg.node("node2", "192.168.0.200")
	one.ready()
	two.ready()
	two.hasRoute(to(one), true)
	key := agentconfig.SubnetKey(prefix, one.subnet(), noSubnet)
	for _, take := range []func(){
		func() { seg.remove(key) },
		func() { seg.revoke(key) },
		// The operator releases the node, which keeps running.
		func() { seg.remove(agentconfig.ReservationKey(prefix, "node1")); seg.remove(key) },
	} {
		take()
		eventually.Holds(t, "the lease is back", func() (string, bool) { return seg.get(key) })
		two.hasRoute(to(one), true)
		one.reports("itself", func(s agentconfig.AgentStatus) bool { return s.Subnet == one.subnet() && s.Ready })
		one.alive()
	}
	if _, ok := seg.get(agentconfig.ReservationKey(prefix, "node1")); !ok {
		t.Error("the reservation was not recreated")
	}
}

// revoke ends the etcd lease of a key.
func (s *segment) revoke(key string) {
	s.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), eventually.Limit)
	defer cancel()
	resp, err := s.kv.Get(ctx, key)
	if err != nil || len(resp.Kvs) != 1 {
		s.t.Fatalf("%s: %v, %v", key, resp, err)
	}
	if _, err := s.kv.Revoke(ctx, clientv3.LeaseID(resp.Kvs[0].Lease)); err != nil {
		s.t.Fatal(err)
	}
}

func TestEmptyEtcdRemovesNoRoute(t *testing.T) {
	seg := newSegment(t)
	one, two := seg.node("node1", "192.168.0.100"), seg.node("node2", "192.168.0.200")
	one.ready()
	two.ready()
	one.hasRoute(to(two), true)
	subnets := one.subnet().String() + two.subnet().String()

	two.stop() // so that only node1 returns at once
	seg.etcd.Wipe()
	seg.etcd.Run()
	eventually.Holds(t, "the lease is in the new etcd", func() (string, bool) {
		return seg.get(agentconfig.SubnetKey(prefix, one.subnet(), noSubnet))
	})
	if !slices.Contains(one.routes(), to(two)) {
		t.Errorf("the empty etcd removes the route to the other node: %q", one.routes())
	}
	two.ready()
	if got := one.subnet().String() + two.subnet().String(); got != subnets {
		t.Errorf("the nodes had %s and have %s", subnets, got)
	}
	one.hasRoute(to(two), true)
	two.hasRoute(to(one), true)
}

func TestANodeStartsBeforeEtcdDoes(t *testing.T) {
	seg := newSegment(t)
	seg.etcd.Kill()
	m := seg.node("node1", "192.168.0.100")
	m.start()
	m.until("the agent reports what it waits for", func() (string, bool) {
		out, err := m.netns.Try("curl", "-s", "http://127.0.0.1:19099/readyz")
		return out, err == nil && strings.Contains(out, "not ready") && strings.Contains(out, "etcd cannot be reached")
	})
	seg.etcd.Run()
	m.waitReady()
}

func TestSubnetHeldByAnotherNodeIsReported(t *testing.T) {
	seg := newSegment(t)
	key := prefix + "/subnets/10.1.15.0-24"
	seg.put(key, `{"PublicIP":"192.168.0.77","PublicIPv6":null,"BackendType":"host-gw"}`)
	seg.reserve("node1", "10.1.15.0/24")
	m := seg.node("node1", "192.168.0.100")
	m.start()
	m.reports("who holds its subnet", func(s agentconfig.AgentStatus) bool {
		return !s.Ready && len(s.Errors) == 1 && containsAll(s.Errors[0], "10.1.15.0/24", "192.168.0.77")
	})
	seg.remove(key)
	m.waitReady()
	m.reports("that it holds it", func(s agentconfig.AgentStatus) bool {
		return s.Ready && len(s.Errors) == 0 && s.Subnet.String() == "10.1.15.0/24"
	})
}

// A firewall drops what a node sends to one of two members: the agent works with the other, and its report names the address.
func TestFirewalledEtcdAddressIsReported(t *testing.T) {
	seg := newSegment(t)
	m := seg.node("node1", "192.168.0.100")
	dropped := gateway + ":2399"
	m.config.Etcd.Endpoints = append(m.config.Etcd.Endpoints, "http://"+dropped)
	m.netns.Run("iptables", "-A", "OUTPUT", "-p", "tcp", "--dport", "2399", "-j", "DROP")
	m.ready()
	m.until("the report names the address", func() (string, bool) {
		out, _ := seg.get(agentconfig.AgentKey(prefix, m.name))
		return out, strings.Contains(out, `"unansweredEtcd":["`+dropped+`"]`)
	})
	want := "cannot connect to " + dropped + " (timeout); a firewall may drop it"
	if out := m.netns.Run("curl", "-s", "http://127.0.0.1:19099/readyz"); !strings.HasPrefix(out, "ready") || !strings.Contains(out, want) {
		t.Errorf("readyz does not name the address: %s", out)
	}
	m.netns.Run("iptables", "-F", "OUTPUT")
	m.until("the report no longer has it", func() (string, bool) {
		out, found := seg.get(agentconfig.AgentKey(prefix, m.name))
		return out, found && !strings.Contains(out, "unansweredEtcd")
	})
}
