package controller

import (
	"fmt"
	"net/netip"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	operatorv1 "github.com/cluster-network-operator/cno/api/operator/v1"
	"github.com/cluster-network-operator/cno/internal/etcdcluster/etcdclient"
	"github.com/cluster-network-operator/cno/internal/etcdcluster/etcdmanager"
	"github.com/cluster-network-operator/cno/internal/status"
	"github.com/cluster-network-operator/cno/internal/testing/etcdnodes"
	"github.com/cluster-network-operator/cno/providers/flannel/agentconfig"
)

const prefix = "/coreos.com/network"

// plain starts an etcd without TLS that a third party runs, and a world that uses it.
func plain(t *testing.T) (*world, etcdclient.Etcd) {
	t.Helper()
	external := &operatorv1.FlannelExternalEtcd{}
	w := newWorld(t, &operatorv1.FlannelConfig{Etcd: &operatorv1.FlannelEtcd{External: external}})
	url, etcd, _ := etcdnodes.External(t)
	external.Endpoints = []string{url}
	return w, etcd
}

func put(t *testing.T, etcd etcdclient.Etcd, key string, value []byte) {
	t.Helper()
	if _, err := etcd.Commit(t.Context(), etcdclient.Change{Put: map[string][]byte{key: value}}); err != nil {
		t.Fatal(err)
	}
}

// kept returns the values of all keys below the prefix.
func kept(t *testing.T, etcd etcdclient.Etcd) map[string]string {
	t.Helper()
	list, err := etcd.Read(t.Context(), prefix+"/")
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]string{}
	for _, kv := range list {
		out[strings.TrimPrefix(kv.Key, prefix+"/")] = string(kv.Value)
	}
	return out
}

// takeSubnet does what the agent of a node does: it takes a subnet.
func takeSubnet(t *testing.T, etcd etcdclient.Etcd, node, subnet, publicIP string) {
	t.Helper()
	r := agentconfig.Reservation{Node: node, Subnet: netip.MustParsePrefix(subnet), PublicIP: netip.MustParseAddr(publicIP)}
	value, err := r.Encode()
	if err != nil {
		t.Fatal(err)
	}
	put(t, etcd, agentconfig.ReservationKey(prefix, node), value)
	put(t, etcd, agentconfig.SubnetKey(prefix, r.Subnet, netip.Prefix{}), []byte(`{"PublicIP":"`+publicIP+`","BackendType":"host-gw"}`))
	tell(t, etcd, agentconfig.AgentStatus{Node: node, Ready: true, Subnet: r.Subnet, PublicIP: r.PublicIP, Interface: "eth0", Backend: "host-gw"})
}

func tell(t *testing.T, etcd etcdclient.Etcd, s agentconfig.AgentStatus) {
	t.Helper()
	value, err := s.Encode()
	if err != nil {
		t.Fatal(err)
	}
	put(t, etcd, agentconfig.AgentKey(prefix, s.Node), value)
}

func TestReservationsAreDeletedWithTheirNodes(t *testing.T) {
	w, etcd := plain(t)
	stays, leaves := w.Node("stays", 1, false), w.Node("leaves", 2, false)
	w.Until("the network configuration is written", func() bool { return kept(t, etcd)["config"] != "" })
	takeSubnet(t, etcd, "stays", "10.128.2.0/23", "127.0.1.1")
	takeSubnet(t, etcd, "leaves", "10.128.4.0/23", "127.0.1.2")
	w.Until("both reservations name their nodes", func() bool {
		all := kept(t, etcd)
		return strings.Contains(all["cno/reservations/stays"], string(stays.UID)) && strings.Contains(all["cno/reservations/leaves"], string(leaves.UID))
	})
	stays.Status.Conditions = []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionUnknown}}
	if err := w.API.Status().Update(t.Context(), stays); err != nil {
		t.Fatal(err)
	}
	w.RemoveNode("leaves")
	w.Turn()
	if all := kept(t, etcd); len(all) != 7 {
		t.Fatalf("something was deleted within the grace: %v", all)
	}
	w.Now = w.Now.Add(nodeGrace)
	w.Until("everything of the node that left is gone", func() bool { return len(kept(t, etcd)) == 4 })
	w.Now = w.Now.Add(48 * time.Hour)
	for range 3 {
		w.Turn()
	}
	all := kept(t, etcd)
	for _, key := range []string{"config", "cno/reservations/stays", "subnets/10.128.2.0-23", "cno/agents/stays"} {
		if all[key] == "" {
			t.Errorf("%s of a node that is only NotReady was deleted", key)
		}
	}
}

func TestNodeThatReturnsWithinTheGracePeriodKeepsItsSubnet(t *testing.T) {
	w, etcd := plain(t)
	w.Node("n", 1, false)
	w.Until("the network configuration is written", func() bool { return kept(t, etcd)["config"] != "" })
	takeSubnet(t, etcd, "n", "10.128.2.0/23", "127.0.1.1")
	w.Turn()
	w.RemoveNode("n")
	w.Turn()
	w.Now = w.Now.Add(nodeGrace - time.Second)
	w.Turn()
	again := w.Node("n", 1, false)
	w.Now = w.Now.Add(time.Hour)
	w.Until("the reservation names the new node", func() bool { return strings.Contains(kept(t, etcd)["cno/reservations/n"], string(again.UID)) })
	if kept(t, etcd)["subnets/10.128.2.0-23"] == "" {
		t.Error("the lease was deleted")
	}
}

func TestALeaseOfAnotherNodeIsNotDeleted(t *testing.T) {
	w, etcd := plain(t)
	w.Until("the network configuration is written", func() bool { return kept(t, etcd)["config"] != "" })
	takeSubnet(t, etcd, "ghost", "10.128.2.0/23", "127.0.1.1")
	put(t, etcd, prefix+"/subnets/10.128.2.0-23", []byte(`{"PublicIP":"127.0.1.9"}`))
	w.Turn()
	w.Now = w.Now.Add(nodeGrace)
	w.Until("the reservation is gone", func() bool { return kept(t, etcd)["cno/reservations/ghost"] == "" })
	if kept(t, etcd)["subnets/10.128.2.0-23"] == "" {
		t.Error("the lease of another node was deleted")
	}
}

func TestThePrefixOfAnotherClusterIsNotChanged(t *testing.T) {
	w, etcd := plain(t)
	const foreign = `{"Network":"10.0.0.0/8","SubnetLen":24,"Backend":{"Type":"vxlan"}}`
	put(t, etcd, prefix+"/config", []byte(foreign))
	put(t, etcd, prefix+"/subnets/10.1.2.0-24", []byte(`{"PublicIP":"203.0.113.7","BackendType":"vxlan"}`))
	w.Until("it is reported", func() bool {
		return strings.Contains(w.Message("EtcdPrefixInUse"), "for the network 10.0.0.0/8 with subnets of length 24, and nodes that are not of this cluster use it (203.0.113.7 has 10.1.2.0/24)")
	})
	if got := kept(t, etcd)["config"]; got != foreign {
		t.Fatalf("it was overwritten by %s", got)
	}
	if _, err := etcd.Commit(t.Context(), etcdclient.Change{Delete: []string{prefix + "/subnets/10.1.2.0-24"}}); err != nil {
		t.Fatal(err)
	}
	w.Until("it is taken over once no one uses it", func() bool { return strings.Contains(kept(t, etcd)["config"], "10.128.0.0/14") && len(w.Findings) == 0 })
}

func TestForcedChangeOfTheNetworkDeletesOwnLeases(t *testing.T) {
	w, etcd := plain(t)
	w.Node("n", 1, false)
	w.Until("the network configuration is written", func() bool { return kept(t, etcd)["config"] != "" })
	takeSubnet(t, etcd, "n", "10.128.2.0/23", "127.0.1.1")
	w.spec.ClusterNetwork[0] = operatorv1.ClusterNetworkEntry{CIDR: "10.64.0.0/16", HostPrefix: 24}
	w.Until("the new one is written", func() bool { return strings.Contains(kept(t, etcd)["config"], "10.64.0.0/16") })
	if got := w.Message("EtcdPrefixInUse"); got != "" {
		t.Error(got)
	}
}

func TestErrorsOfAgentsNameNodeAndPeer(t *testing.T) {
	ready := func(name string) etcdmanager.Node {
		n := etcdmanager.Node{Ready: true}
		n.Name = name
		return n
	}
	nodes := map[string]etcdmanager.Node{"a": ready("a"), "b": ready("b"), "silent": ready("silent"), "down": {}}
	peer := agentconfig.Peer{Node: "b", PublicIP: netip.MustParseAddr("198.51.100.2"), Subnet: netip.MustParsePrefix("10.128.4.0/23")}
	s := store{
		reservations: map[string]reservation{"silent": {Reservation: agentconfig.Reservation{Subnet: netip.MustParsePrefix("10.128.6.0/23")}}, "down": {}, "a": {}},
		agents: map[string]agent{
			"a": {AgentStatus: agentconfig.AgentStatus{Node: "a", Interface: "eth0", PublicIP: netip.MustParseAddr("192.0.2.1"), Backend: "host-gw", OffLink: []agentconfig.Peer{peer}, ForeignBackend: []agentconfig.Peer{peer}, DetachedPods: 2, Detached: []string{"shop/db", "shop/web"}}},
			"b": {AgentStatus: agentconfig.AgentStatus{Node: "b", ConflictingCNI: []string{"05-calico.conflist"}, Errors: []string{"nft is missing"},
				UnansweredEtcd: []string{"10.0.0.1:12379", "10.0.0.2:12379"}}},
			// A deleted node has no errors.
			"gone": {AgentStatus: agentconfig.AgentStatus{Node: "gone", Errors: []string{"lost"}}},
		},
	}
	want := map[string]string{
		"PeersOffLink":      "node a cannot route to b (address 198.51.100.2, subnet 10.128.4.0/23): not on the link of its interface eth0 (address 192.0.2.1). Host-gw needs all nodes on one link",
		"PeersOtherBackend": "node a uses host-gw and cannot reach b",
		"ConflictingCNI":    "node b has 05-calico.conflist, which its container runtime reads before flannel's",
		"PodsDetached":      "node a has 2 pods without a connection to the network: shop/db and shop/web. They started before the network was installed again",
		"AgentErrors":       "node b: cannot connect to 10.0.0.1:12379 (timeout); a firewall may drop it; node b: nft is missing",
		"AgentSilent": "node silent is Ready and holds 10.128.6.0/23, but its agent has not reported for 10 minutes: it reaches no member of etcd, or does not run. " +
			"Read the log of the flanneld pod on that node",
	}
	// The other member does not answer the operator either: that is reported of the member.
	got := agentFindings(s, nodes, map[string]bool{"10.0.0.2:12379": true})
	for _, f := range got {
		if w, ok := want[f.Reason]; !ok || !strings.HasPrefix(f.Message, w) || f.Effect != status.Degraded || f.Component != "Flannel" {
			t.Errorf("%s: %q, want %q", f.Reason, f.Message, w)
		}
	}
	if len(got) != len(want) {
		t.Errorf("%d findings, want %d", len(got), len(want))
	}
}

func TestErrorsOfManyNodesAreSummarized(t *testing.T) {
	nodes, s := map[string]etcdmanager.Node{}, store{agents: map[string]agent{}}
	for i := range 100 {
		name := fmt.Sprintf("n%02d", i)
		nodes[name] = etcdmanager.Node{}
		s.agents[name] = agent{AgentStatus: agentconfig.AgentStatus{Errors: []string{"broken"}}}
	}
	got := agentFindings(s, nodes, nil)
	if len(got) != 1 || !strings.HasSuffix(got[0].Message, "node n04: broken; and 95 more") {
		t.Errorf("%v", got)
	}
}
