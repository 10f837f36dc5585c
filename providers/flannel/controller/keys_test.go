package controller

import (
	"fmt"
	"net/netip"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	operatorv1 "github.com/cluster-network-operator/cno/api/operator/v1"
	"github.com/cluster-network-operator/cno/internal/certs"
	"github.com/cluster-network-operator/cno/internal/etcdcluster/etcdclient"
	"github.com/cluster-network-operator/cno/internal/etcdcluster/etcdmanager"
	"github.com/cluster-network-operator/cno/internal/status"
	"github.com/cluster-network-operator/cno/providers/flannel/agentconfig"
	"github.com/cluster-network-operator/cno/providers/flannel/record"
)

const prefix = "/coreos.com/network"

// plain starts an etcd without TLS that a third party runs, and a world that uses it.
func plain(t *testing.T) (*world, etcdclient.Etcd, *process) {
	t.Helper()
	external := &operatorv1.FlannelExternalEtcd{}
	w := newWorld(t, &operatorv1.FlannelConfig{Etcd: &operatorv1.FlannelEtcd{External: external}})
	url, peer := fmt.Sprintf("http://127.0.0.1:%d", w.ports[0]), fmt.Sprintf("http://127.0.0.1:%d", w.ports[1])
	external.Endpoints = []string{url}
	p := run(t, nil, etcdProgram(t), "--data-dir", t.TempDir(), "--unsafe-no-fsync", "--listen-client-urls", url, "--advertise-client-urls", url,
		"--listen-peer-urls", peer, "--initial-advertise-peer-urls", peer, "--initial-cluster", "default="+peer)
	t.Cleanup(p.kill)
	etcd, err := etcdclient.Dial(etcdclient.Target{Endpoints: []string{url}, Timeout: 10 * time.Second})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { etcd.Close() })
	return w, etcd, p
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

func TestReservationsGoWithTheirNodes(t *testing.T) {
	w, etcd, _ := plain(t)
	stays, leaves := w.node("stays", 1, false), w.node("leaves", 2, false)
	w.until("the network configuration is written", func() bool { return kept(t, etcd)["config"] != "" })
	takeSubnet(t, etcd, "stays", "10.128.2.0/23", "127.0.1.1")
	takeSubnet(t, etcd, "leaves", "10.128.4.0/23", "127.0.1.2")
	w.until("both reservations name their nodes", func() bool {
		all := kept(t, etcd)
		return strings.Contains(all["cno/reservations/stays"], string(stays.UID)) && strings.Contains(all["cno/reservations/leaves"], string(leaves.UID))
	})
	stays.Status.Conditions = []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionUnknown}}
	if err := w.api.Status().Update(t.Context(), stays); err != nil {
		t.Fatal(err)
	}
	w.removeNode("leaves")
	w.turn()
	if all := kept(t, etcd); len(all) != 7 {
		t.Fatalf("something was deleted within the grace: %v", all)
	}
	w.now = w.now.Add(nodeGrace)
	w.until("everything of the node that left is gone", func() bool { return len(kept(t, etcd)) == 4 })
	w.now = w.now.Add(48 * time.Hour)
	for range 3 {
		w.turn()
	}
	all := kept(t, etcd)
	for _, key := range []string{"config", "cno/reservations/stays", "subnets/10.128.2.0-23", "cno/agents/stays"} {
		if all[key] == "" {
			t.Errorf("%s of a node that is only NotReady is gone", key)
		}
	}
}

func TestANodeThatComesBackWithinTheGraceKeepsItsSubnet(t *testing.T) {
	w, etcd, _ := plain(t)
	w.node("n", 1, false)
	w.until("the network configuration is written", func() bool { return kept(t, etcd)["config"] != "" })
	takeSubnet(t, etcd, "n", "10.128.2.0/23", "127.0.1.1")
	w.turn()
	w.removeNode("n")
	w.turn()
	w.now = w.now.Add(nodeGrace - time.Second)
	w.turn()
	again := w.node("n", 1, false)
	w.now = w.now.Add(time.Hour)
	w.until("the reservation names the new node", func() bool { return strings.Contains(kept(t, etcd)["cno/reservations/n"], string(again.UID)) })
	if kept(t, etcd)["subnets/10.128.2.0-23"] == "" {
		t.Error("the lease is gone")
	}
}

func TestALeaseThatIsSomebodyElsesByNowIsNotDeleted(t *testing.T) {
	w, etcd, _ := plain(t)
	w.until("the network configuration is written", func() bool { return kept(t, etcd)["config"] != "" })
	takeSubnet(t, etcd, "ghost", "10.128.2.0/23", "127.0.1.1")
	put(t, etcd, prefix+"/subnets/10.128.2.0-23", []byte(`{"PublicIP":"127.0.1.9"}`))
	w.turn()
	w.now = w.now.Add(nodeGrace)
	w.until("the reservation is gone", func() bool { return kept(t, etcd)["cno/reservations/ghost"] == "" })
	if kept(t, etcd)["subnets/10.128.2.0-23"] == "" {
		t.Error("the lease of another node was deleted")
	}
}

func TestThePrefixOfAnotherClusterIsLeftAlone(t *testing.T) {
	w, etcd, _ := plain(t)
	const theirs = `{"Network":"10.0.0.0/8","SubnetLen":24,"Backend":{"Type":"vxlan"}}`
	put(t, etcd, prefix+"/config", []byte(theirs))
	put(t, etcd, prefix+"/subnets/10.1.2.0-24", []byte(`{"PublicIP":"203.0.113.7","BackendType":"vxlan"}`))
	w.until("it is told", func() bool {
		return strings.Contains(w.says("EtcdPrefixInUse"), "for the network 10.0.0.0/8 with subnets of length 24, and nodes that are not of this cluster use it (203.0.113.7 has 10.1.2.0/24)")
	})
	if got := kept(t, etcd)["config"]; got != theirs {
		t.Fatalf("it was overwritten by %s", got)
	}
	if _, err := etcd.Commit(t.Context(), etcdclient.Change{Delete: []string{prefix + "/subnets/10.1.2.0-24"}}); err != nil {
		t.Fatal(err)
	}
	w.until("it is taken over once no one uses it", func() bool { return strings.Contains(kept(t, etcd)["config"], "10.128.0.0/14") && len(w.finding) == 0 })
}

func TestAForcedChangeOfTheNetworkTakesOurOwnLeasesAlong(t *testing.T) {
	w, etcd, _ := plain(t)
	w.node("n", 1, false)
	w.until("the network configuration is written", func() bool { return kept(t, etcd)["config"] != "" })
	takeSubnet(t, etcd, "n", "10.128.2.0/23", "127.0.1.1")
	w.spec.ClusterNetwork[0] = operatorv1.ClusterNetworkEntry{CIDR: "10.64.0.0/16", HostPrefix: 24}
	w.until("the new one is written", func() bool { return strings.Contains(kept(t, etcd)["config"], "10.64.0.0/16") })
	if got := w.says("EtcdPrefixInUse"); got != "" {
		t.Error(got)
	}
}

func TestAnEtcdThatDoesNotAnswerIsToldAndTriedLessAndLessOften(t *testing.T) {
	w, etcd, process := plain(t)
	w.until("the network configuration is written", func() bool { return kept(t, etcd)["config"] != "" })
	process.kill()
	var waits []time.Duration
	for range 4 {
		r, err := w.loop.Reconcile(t.Context(), reconcile.Request{})
		if err != nil {
			t.Fatalf("it is an error of the pass, which would be retried at once: %v", err)
		}
		waits = append(waits, r.RequeueAfter)
	}
	if got := w.says("EtcdUnreachable"); !strings.Contains(got, "does not answer: ") || !strings.Contains(got, "connection refused") || !strings.Contains(got, "pods that run keep their network") {
		t.Errorf("it says %q", got)
	}
	if waits[0] != time.Second || waits[1] != 2*time.Second || waits[3] != 8*time.Second {
		t.Errorf("tried again after %v", waits)
	}
}

func TestTheCredentialsOfAnExternalEtcdAreCopiedOrAskedFor(t *testing.T) {
	w := newWorld(t, &operatorv1.FlannelConfig{Etcd: &operatorv1.FlannelEtcd{External: &operatorv1.FlannelExternalEtcd{
		Endpoints: []string{"https://127.0.0.1:1"}, CAConfigMap: "ca", ClientCertificateSecret: "client",
	}}})
	w.turn()
	if got := w.says("EtcdCredentials"); !strings.Contains(got, `ConfigMap openshift-network-operator/ca must hold the authorities of the external etcd under the key ca-bundle.crt`) {
		t.Errorf("without a ConfigMap it says %q", got)
	}
	r, _, err := certs.Rotation{}.Step(etcdmanager.Policy(record.Etcd), w.now)
	if err != nil {
		t.Fatal(err)
	}
	ca := &corev1.ConfigMap{Data: map[string]string{"ca-bundle.crt": string(r.Current.Pair().Key)}}
	ca.Namespace, ca.Name = operatorNamespace, "ca"
	if err := w.api.Create(t.Context(), ca); err != nil {
		t.Fatal(err)
	}
	w.turn()
	if got := w.says("EtcdCredentials"); !strings.Contains(got, "block 1 is a private key") {
		t.Errorf("with a private key among the authorities it says %q", got)
	}
	ca.Data["ca-bundle.crt"] = string(r.Bundle().PEM())
	if err := w.api.Update(t.Context(), ca); err != nil {
		t.Fatal(err)
	}
	w.turn()
	if got := w.says("EtcdCredentials"); !strings.Contains(got, "Secret openshift-network-operator/client must hold the certificate and key") {
		t.Errorf("without a Secret it says %q", got)
	}
	pair, err := r.Current.Issue(record.Etcd.ClientRequest(), w.now)
	if err != nil {
		t.Fatal(err)
	}
	secret := &corev1.Secret{Type: corev1.SecretTypeTLS, Data: map[string][]byte{corev1.TLSCertKey: pair.Certificate, corev1.TLSPrivateKeyKey: pair.Key}}
	secret.Namespace, secret.Name = operatorNamespace, "client"
	if err := w.api.Create(t.Context(), secret); err != nil {
		t.Fatal(err)
	}
	var copied corev1.Secret
	w.until("it is copied", func() bool {
		return w.api.Get(t.Context(), client.ObjectKey{Namespace: "openshift-flannel", Name: "flannel-etcd-client"}, &copied) == nil && w.members().ClientTrust != ""
	})
	if string(copied.Data["tls.crt"]) != string(pair.Certificate) || string(copied.Data["ca.crt"]) != ca.Data["ca-bundle.crt"] {
		t.Error("the copy differs")
	}
}

func TestWhatAgentsComplainOfNamesNodeAndPeer(t *testing.T) {
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
			// A node that is gone has nothing to complain of.
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
	got := complaints(s, nodes, map[string]bool{"10.0.0.2:12379": true})
	for _, f := range got {
		if w, ok := want[f.Reason]; !ok || !strings.HasPrefix(f.Message, w) || f.Effect != status.Degraded || f.Component != "Flannel" {
			t.Errorf("%s: %q, want %q", f.Reason, f.Message, w)
		}
	}
	if len(got) != len(want) {
		t.Errorf("%d findings, want %d", len(got), len(want))
	}
}

func TestComplaintsOfManyNodesStayReadable(t *testing.T) {
	nodes, s := map[string]etcdmanager.Node{}, store{agents: map[string]agent{}}
	for i := range 100 {
		name := fmt.Sprintf("n%02d", i)
		nodes[name] = etcdmanager.Node{}
		s.agents[name] = agent{AgentStatus: agentconfig.AgentStatus{Errors: []string{"broken"}}}
	}
	got := complaints(s, nodes, nil)
	if len(got) != 1 || !strings.HasSuffix(got[0].Message, "node n04: broken; and 95 more") {
		t.Errorf("%v", got)
	}
}
