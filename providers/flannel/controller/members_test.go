package controller

import (
	"crypto/tls"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	operatorv1 "github.com/cluster-network-operator/cno/api/operator/v1"
	"github.com/cluster-network-operator/cno/internal/etcdcluster"
	"github.com/cluster-network-operator/cno/internal/etcdcluster/etcdclient"
	"github.com/cluster-network-operator/cno/internal/etcdcluster/etcdmanager"
	"github.com/cluster-network-operator/cno/providers/flannel/agentconfig"
	"github.com/cluster-network-operator/cno/providers/flannel/record"
)

// TestTheLifeOfACluster takes three members through what happens to them. Each part begins and ends with three
// members that are well; only the last does not.
func TestTheLifeOfACluster(t *testing.T) {
	w := newWorld(t, &operatorv1.FlannelConfig{})
	for i, name := range []string{"cp-0", "cp-1", "cp-2"} {
		w.node(name, i+1, true)
	}
	w.settle("cp-0", "cp-1", "cp-2")
	for _, part := range []struct {
		name string
		run  func(*testing.T, *world)
	}{
		{"the loss of one member is told and does no harm", oneIsLost},
		{"a Node object recreated keeps its member", nodeObjectAnew},
		{"a deleted record is restored and never founds a second cluster", recordDeleted},
		{"a lost authority is replaced without losing the members", authorityLost},
		{"an image goes round one member at a time", imageGoesRound},
		{"a replaced node gets a new member", nodeReplaced},
		{"the seat of a node that is gone goes to another", nodeGone},
		{"two members that are left are reported until there is a third", twoAreLeft},
		{"a person can have a cluster founded again", foundedAnew},
	} {
		w.t = t
		if !t.Run(part.name, func(t *testing.T) {
			w.t = t
			part.run(t, w)
		}) {
			return
		}
	}
}

// settle takes turns until exactly these nodes run voting members, there is nothing left to say, and some turns
// change nothing more.
func (w *world) settle(nodes ...string) {
	w.t.Helper()
	last, quiet := w.members(), 0
	w.until("the members are on "+strings.Join(nodes, ", "), func() bool {
		m := w.members()
		if quiet++; !cmp.Equal(m, last) || len(w.finding) > 0 {
			last, quiet = m, 0
		}
		return quiet > 3 && cmp.Equal(w.voters(), nodes) && len(m.Members) == len(nodes)
	})
}

func TestMembersGrowFromOneToThree(t *testing.T) {
	w := newWorld(t, &operatorv1.FlannelConfig{})
	w.node("worker", 9, false)
	w.node("cp-0", 1, true)
	w.settle("cp-0")
	w.node("cp-1", 2, true)
	for range 10 {
		w.turn()
	}
	if got := w.voters(); !cmp.Equal(got, []string{"cp-0"}) {
		t.Fatalf("with two control-plane nodes, members are on %v: two would be worse than one", got)
	}
	w.node("cp-2", 3, true)
	w.settle("cp-0", "cp-1", "cp-2")
	for node, times := range w.started {
		if times != 1 {
			t.Errorf("the member on %s was started %d times while the cluster grew", node, times)
		}
	}
	value, err := w.etcd().Read(t.Context(), "/coreos.com/network/config")
	if err != nil || len(value) != 1 || !strings.Contains(string(value[0].Value), `"Network":"10.128.0.0/14","SubnetLen":23`) {
		t.Errorf("flannel's network configuration is %v, error %v", value, err)
	}
	w.disksArePrivate()
	w.strangersAreRefused()
}

func (w *world) disksArePrivate() {
	w.t.Helper()
	for _, m := range w.members().Members {
		info, err := os.Stat(filepath.Join(w.disk(m.Node), m.Name))
		if err != nil || info.Mode().Perm() != 0o700 {
			w.t.Errorf("directory of %s: %v, error %v", m.Name, info, err)
		}
	}
}

// strangersAreRefused connects to the ports of members without a certificate.
func (w *world) strangersAreRefused() {
	w.t.Helper()
	for _, m := range w.members().Members {
		for _, url := range []string{m.ClientURL, m.PeerURL} {
			conn, err := tls.Dial("tcp", strings.TrimPrefix(url, "https://"), &tls.Config{InsecureSkipVerify: true})
			if err == nil {
				_ = conn.SetDeadline(time.Now().Add(5 * time.Second))
				// In TLS 1.3, the client learns with its first read that it is refused.
				_, err = conn.Read(make([]byte, 1))
				conn.Close()
			}
			if err == nil || !strings.Contains(err.Error(), "certificate required") && !strings.Contains(err.Error(), "bad certificate") {
				w.t.Errorf("%s: a stranger got %v", url, err)
			}
		}
	}
}

func oneIsLost(t *testing.T, w *world) {
	before := w.members()
	w.switchOff("cp-1")
	w.until("the loss is told", func() bool { return strings.Contains(w.says("EtcdMemberDown"), "on node cp-1 does not answer") })
	if done, err := w.etcd().Commit(t.Context(), etcdclient.Change{Put: map[string][]byte{"/x": nil}}); err != nil || !done {
		t.Errorf("writing with two members of three: %v", err)
	}
	w.now = w.now.Add(10 * time.Minute) // less than certs.Skew: members use the real clock
	for range 5 {
		w.turn()
	}
	if diff := cmp.Diff(before, w.members()); diff != "" {
		t.Errorf("a member left although its node exists:\n%s", diff)
	}
	w.switchOn("cp-1")
	w.settle("cp-0", "cp-1", "cp-2")
}

func nodeReplaced(t *testing.T, w *world) {
	old := w.members()
	w.switchOff("cp-2")
	if err := os.RemoveAll(w.disk("cp-2")); err != nil {
		t.Fatal(err)
	}
	w.removeNode("cp-2")
	w.node("cp-2", 3, true)
	for range 5 {
		w.turn()
	}
	if diff := cmp.Diff(old.Members, w.members().Members); diff != "" {
		t.Fatalf("the seat was given away at once, although the machine may come back with its data:\n%s", diff)
	}
	w.now = w.now.Add(etcdmanager.ReplacedGrace)
	w.until("the old member is gone", func() bool { return len(w.voters()) == 2 })
	w.switchOn("cp-2")
	w.settle("cp-0", "cp-1", "cp-2")
	if got := w.members().Members[2]; got.Name == old.Members[2].Name || got.ID == old.Members[2].ID || got.UID == old.Members[2].UID {
		t.Errorf("the new machine poses as the old member: %+v", got)
	}
}

func nodeObjectAnew(t *testing.T, w *world) {
	before, started := w.members(), w.started["cp-1"]
	w.removeNode("cp-1")
	w.turn()
	fresh := w.node("cp-1", 2, true)
	w.until("the member has the new UID", func() bool {
		for _, m := range w.members().Members {
			if m.UID == string(fresh.UID) {
				return true
			}
		}
		return false
	})
	w.settle("cp-0", "cp-1", "cp-2")
	after := w.members()
	for i := range after.Members {
		after.Members[i].UID = before.Members[i].UID
	}
	if diff := cmp.Diff(before, after); diff != "" || w.started["cp-1"] != started {
		t.Errorf("started %d times more; the member has changed:\n%s", w.started["cp-1"]-started, diff)
	}
}

func nodeGone(t *testing.T, w *world) {
	w.node("cp-3", 4, true)
	w.turn()
	w.switchOff("cp-0")
	w.removeNode("cp-0")
	for range 3 {
		w.turn()
	}
	if got := len(w.members().Members); got != 3 {
		t.Fatalf("the seat was given away at once: %d members", got)
	}
	w.now = w.now.Add(etcdmanager.GoneGrace)
	w.settle("cp-1", "cp-2", "cp-3")
}

func twoAreLeft(_ *testing.T, w *world) {
	w.switchOff("cp-1")
	w.removeNode("cp-1")
	w.turn()
	w.now = w.now.Add(etcdmanager.GoneGrace)
	w.until("two members are reported", func() bool { return strings.Contains(w.says("EtcdTwoMembers"), "on nodes cp-2 and cp-3") })
	w.node("cp-4", 5, true)
	w.settle("cp-2", "cp-3", "cp-4")
}

func recordDeleted(t *testing.T, w *world) {
	before := w.members()
	if err := w.api.Delete(t.Context(), &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: record.Namespace, Name: record.Etcd.MembersConfigMap()}}); err != nil {
		t.Fatal(err)
	}
	w.settle("cp-0", "cp-1", "cp-2")
	if diff := cmp.Diff(before, w.members()); diff != "" {
		t.Errorf("restored (-before +after):\n%s", diff)
	}
}

func authorityLost(t *testing.T, w *world) {
	put := etcdclient.Change{Put: map[string][]byte{"/keep": []byte("me")}}
	if _, err := w.etcd().Commit(t.Context(), put); err != nil {
		t.Fatal(err)
	}
	if err := w.api.Delete(t.Context(), &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: operatorNamespace, Name: record.Etcd.AuthoritySecret()}}); err != nil {
		t.Fatal(err)
	}
	trust := w.members().Members[0].Trust
	w.until("all members trust the new authority", func() bool {
		for _, m := range w.members().Members {
			if m.Trust == trust {
				return false
			}
		}
		return len(w.finding) == 0
	})
	w.settle("cp-0", "cp-1", "cp-2")
	if got, err := w.etcd().Read(t.Context(), "/keep"); err != nil || len(got) != 1 {
		t.Errorf("what was kept: %v, error %v", got, err)
	}
}

func imageGoesRound(t *testing.T, w *world) {
	w.images[record.EtcdImage] = "etcd:v2"
	before, most := maps.Clone(w.started), 0
	w.until("all members have the new image", func() bool {
		restarting := 0
		for _, m := range w.members().Members {
			if p := w.running[m.Node]; p == nil || p.hash != m.PodHash() {
				restarting++
			}
		}
		most = max(most, restarting)
		for node, times := range w.started {
			if times != before[node]+1 {
				return false
			}
		}
		return restarting == 0
	})
	if most != 1 {
		t.Errorf("%d members were started again at once", most)
	}
	w.settle("cp-0", "cp-1", "cp-2")
}

func foundedAnew(t *testing.T, w *world) {
	before := w.members()
	w.switchOff("cp-4")
	w.switchOff("cp-2")
	w.until("the loss of the quorum is told", func() bool { return w.says("EtcdUnreachable") != "" })
	w.removeNode("cp-4")
	w.removeNode("cp-2")
	w.turn()
	w.now = w.now.Add(etcdmanager.GoneGrace)
	w.until("what cannot be done is reported", func() bool { return strings.Contains(w.says("EtcdQuorumLost"), "node cp-2 was deleted") })

	var cm corev1.ConfigMap
	if err := w.api.Get(t.Context(), client.ObjectKey{Namespace: record.Namespace, Name: record.Etcd.MembersConfigMap()}, &cm); err != nil {
		t.Fatal(err)
	}
	cm.Annotations = map[string]string{etcdcluster.FoundAgain: "true"}
	if err := w.api.Update(t.Context(), &cm); err != nil {
		t.Fatal(err)
	}
	w.settle("cp-3")
	if after := w.members(); after.Token == before.Token {
		t.Error("the new cluster has the old one's token")
	}
	if got, err := w.etcd().Read(t.Context(), agentconfig.ConfigKey("/coreos.com/network")); err != nil || len(got) != 1 {
		t.Errorf("the new cluster has no network configuration: %v, error %v", got, err)
	}
}

// TestTheOnlyMemberFollowsTheAddressOfItsNode: its data are on the node's disk, and nowhere else.
func TestTheOnlyMemberFollowsTheAddressOfItsNode(t *testing.T) {
	w := newWorld(t, &operatorv1.FlannelConfig{})
	n := w.node("a", 1, true)
	w.settle("a")
	before := w.members().Members[0]
	root := w.etcdAs(w.secret(operatorNamespace, record.Etcd.RootSecret()))
	if _, err := root.Put(t.Context(), "/elsewhere", "kept"); err != nil {
		t.Fatal(err)
	}
	n.Status.Addresses[0].Address = address(9)
	if err := w.api.Status().Update(t.Context(), n); err != nil {
		t.Fatal(err)
	}
	w.kill("a")
	w.off["a"] = true // nothing can listen on the former address
	w.turn()
	w.now = w.now.Add(2 * etcdmanager.GoneGrace)
	w.until("the member is at the new address", func() bool { return w.members().Members[0].Address == address(9) })
	w.off["a"] = false
	w.restart() // the operator dies before it changes the URL in etcd
	w.settle("a")
	after := w.members()
	if m := after.Members[0]; m.Name != before.Name || m.ID != before.ID {
		t.Errorf("the member was %+v, and is %+v", before, m)
	}
	moved := w.etcdAs(w.secret(operatorNamespace, record.Etcd.RootSecret()))
	resp, err := moved.Get(t.Context(), "/elsewhere")
	if err != nil || len(resp.Kvs) != 1 || string(resp.Kvs[0].Value) != "kept" {
		t.Errorf("its data are %v, %v", resp, err)
	}
	list, err := moved.MemberList(t.Context())
	if err != nil || len(list.Members) != 1 || list.Members[0].GetPeerURLs()[0] != after.Members[0].PeerURL {
		t.Errorf("etcd lists %v, %v", list, err)
	}
	// It can grow from there.
	w.node("b", 2, true)
	w.node("c", 3, true)
	w.settle("a", "b", "c")
}
