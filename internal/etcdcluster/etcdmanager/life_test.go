package etcdmanager_test

import (
	"crypto/tls"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/cluster-network-operator/cno/internal/etcdcluster"
	"github.com/cluster-network-operator/cno/internal/etcdcluster/etcdclient"
	"github.com/cluster-network-operator/cno/internal/etcdcluster/etcdmanager"
	"github.com/cluster-network-operator/cno/internal/status"
	"github.com/cluster-network-operator/cno/internal/testing/etcdnodes"
)

// TestClusterLifecycle takes three members through what happens to them. Each part begins and ends with three
// members that are healthy; only the last does not.
func TestClusterLifecycle(t *testing.T) {
	w := newWorld(t)
	w.controlPlane("cp-0", "cp-1", "cp-2")
	w.Settle("cp-0", "cp-1", "cp-2")
	for _, part := range []struct {
		name string
		run  func(*testing.T, *world)
	}{
		{"the loss of one member is reported and does no harm", oneIsLost},
		{"a Node object recreated keeps its member", nodeObjectAgain},
		{"a deleted record is restored and never founds a second cluster", recordDeleted},
		{"a lost CA is replaced without losing the members", caLost},
		{"an image is rolled out one member at a time", imageIsRolledOut},
		{"a replaced node gets a new member", nodeReplaced},
		{"the seat of a deleted node is given to another one", nodeDeleted},
		{"two members that are left are reported until there is a third", twoAreLeft},
		{"a person can have a cluster founded again", foundedAgain},
	} {
		w.T = t
		if !t.Run(part.name, func(t *testing.T) {
			w.T = t
			part.run(t, w)
		}) {
			return
		}
	}
}

func TestMembersGrowFromOneToThree(t *testing.T) {
	w := newWorld(t)
	w.Node("worker", 9, false)
	w.Node("cp-0", 1, true)
	w.Settle("cp-0")
	w.Node("cp-1", 2, true)
	for range 10 {
		w.Turn()
	}
	if got := w.Voters(); !cmp.Equal(got, []string{"cp-0"}) {
		t.Fatalf("with two control-plane nodes, members are on %v: two would be worse than one", got)
	}
	w.Node("cp-2", 3, true)
	w.Settle("cp-0", "cp-1", "cp-2")
	for node, times := range w.Started {
		if times != 1 {
			t.Errorf("the member on %s was started %d times while the cluster grew", node, times)
		}
	}
	if value, err := w.etcd().Read(t.Context(), configKey); err != nil || len(value) != 1 {
		t.Errorf("the network's configuration is %v, error %v", value, err)
	}
	w.disksArePrivate()
	w.strangersAreRefused()
}

func (w *world) disksArePrivate() {
	w.T.Helper()
	for _, m := range w.Members().Members {
		info, err := os.Stat(filepath.Join(w.Disk(m.Node), m.Name))
		if err != nil || info.Mode().Perm() != 0o700 {
			w.T.Errorf("directory of %s: %v, error %v", m.Name, info, err)
		}
	}
}

// strangersAreRefused connects to the ports of members without a certificate.
func (w *world) strangersAreRefused() {
	w.T.Helper()
	for _, m := range w.Members().Members {
		for _, url := range []string{m.ClientURL, m.PeerURL} {
			conn, err := tls.Dial("tcp", strings.TrimPrefix(url, "https://"), &tls.Config{InsecureSkipVerify: true})
			if err == nil {
				_ = conn.SetDeadline(time.Now().Add(time.Minute))
				// In TLS 1.3, the client learns with its first read that it is refused.
				_, err = conn.Read(make([]byte, 1))
				conn.Close()
			}
			if err == nil || !strings.Contains(err.Error(), "certificate required") && !strings.Contains(err.Error(), "bad certificate") {
				w.T.Errorf("%s: a stranger got %v", url, err)
			}
		}
	}
}

func oneIsLost(t *testing.T, w *world) {
	before := w.Members()
	w.SwitchOff("cp-1")
	w.Until("the loss is reported", func() bool { return strings.Contains(w.Message("EtcdMemberDown"), "on node cp-1 does not answer") })
	if done, err := w.etcd().Commit(t.Context(), etcdclient.Change{Put: map[string][]byte{"/x": nil}}); err != nil || !done {
		t.Errorf("writing with two members of three: %v", err)
	}
	w.Now = w.Now.Add(10 * time.Minute) // less than certs.Skew: members use the real clock
	for range 5 {
		w.Turn()
	}
	if diff := cmp.Diff(before, w.Members()); diff != "" {
		t.Errorf("a member left although its node exists:\n%s", diff)
	}
	w.SwitchOn("cp-1")
	w.Settle("cp-0", "cp-1", "cp-2")
}

func nodeReplaced(t *testing.T, w *world) {
	old := w.Members()
	w.SwitchOff("cp-2")
	if err := os.RemoveAll(w.Disk("cp-2")); err != nil {
		t.Fatal(err)
	}
	w.RemoveNode("cp-2")
	w.Node("cp-2", 3, true)
	for range 5 {
		w.Turn()
	}
	if diff := cmp.Diff(old.Members, w.Members().Members); diff != "" {
		t.Fatalf("the seat was reassigned at once, although the machine may return with its data:\n%s", diff)
	}
	w.Now = w.Now.Add(etcdmanager.ReplacedGrace)
	w.Until("the old member is gone", func() bool { return len(w.Voters()) == 2 })
	w.SwitchOn("cp-2")
	w.Settle("cp-0", "cp-1", "cp-2")
	if got := w.Members().Members[2]; got.Name == old.Members[2].Name || got.ID == old.Members[2].ID || got.UID == old.Members[2].UID {
		t.Errorf("the new machine poses as the old member: %+v", got)
	}
}

func nodeObjectAgain(t *testing.T, w *world) {
	before, started := w.Members(), w.Started["cp-1"]
	w.RemoveNode("cp-1")
	w.Turn()
	fresh := w.Node("cp-1", 2, true)
	w.Until("the member has the new UID", func() bool {
		for _, m := range w.Members().Members {
			if m.UID == string(fresh.UID) {
				return true
			}
		}
		return false
	})
	w.Settle("cp-0", "cp-1", "cp-2")
	after := w.Members()
	for i := range after.Members {
		after.Members[i].UID = before.Members[i].UID
	}
	if diff := cmp.Diff(before, after); diff != "" || w.Started["cp-1"] != started {
		t.Errorf("started %d times more; the member has changed:\n%s", w.Started["cp-1"]-started, diff)
	}
}

func nodeDeleted(t *testing.T, w *world) {
	w.Node("cp-3", 4, true)
	w.Turn()
	w.SwitchOff("cp-0")
	w.RemoveNode("cp-0")
	for range 3 {
		w.Turn()
	}
	if got := len(w.Members().Members); got != 3 {
		t.Fatalf("the seat was reassigned at once: %d members", got)
	}
	w.Now = w.Now.Add(etcdmanager.MissingNodeGrace)
	w.Settle("cp-1", "cp-2", "cp-3")
}

func twoAreLeft(_ *testing.T, w *world) {
	w.SwitchOff("cp-1")
	w.RemoveNode("cp-1")
	w.Turn()
	w.Now = w.Now.Add(etcdmanager.MissingNodeGrace)
	w.Until("two members are reported", func() bool { return strings.Contains(w.Message("EtcdTwoMembers"), "on nodes cp-2 and cp-3") })
	w.Node("cp-4", 5, true)
	w.Settle("cp-2", "cp-3", "cp-4")
}

func recordDeleted(t *testing.T, w *world) {
	before := w.Members()
	if err := w.API.Delete(t.Context(), &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: cluster.Namespace, Name: cluster.MembersConfigMap()}}); err != nil {
		t.Fatal(err)
	}
	w.Settle("cp-0", "cp-1", "cp-2")
	if diff := cmp.Diff(before, w.Members()); diff != "" {
		t.Errorf("restored (-before +after):\n%s", diff)
	}
}

func caLost(t *testing.T, w *world) {
	put := etcdclient.Change{Put: map[string][]byte{"/keep": []byte("me")}}
	if _, err := w.etcd().Commit(t.Context(), put); err != nil {
		t.Fatal(err)
	}
	if err := w.API.Delete(t.Context(), &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: operatorNamespace, Name: cluster.CASecret()}}); err != nil {
		t.Fatal(err)
	}
	trust := w.Members().Members[0].Trust
	w.Until("all members trust the new CA", func() bool {
		for _, m := range w.Members().Members {
			if m.Trust == trust {
				return false
			}
		}
		return len(w.Findings) == 0
	})
	w.Settle("cp-0", "cp-1", "cp-2")
	if got, err := w.etcd().Read(t.Context(), "/keep"); err != nil || len(got) != 1 {
		t.Errorf("what was kept: %v, error %v", got, err)
	}
}

func imageIsRolledOut(t *testing.T, w *world) {
	w.image = "etcd:v2"
	before, most := maps.Clone(w.Started), 0
	w.Until("all members have the new image", func() bool {
		restarting := 0
		for _, m := range w.Members().Members {
			if !w.Runs(m) {
				restarting++
			}
		}
		most = max(most, restarting)
		for node, times := range w.Started {
			if times != before[node]+1 {
				return false
			}
		}
		return restarting == 0
	})
	if most != 1 {
		t.Errorf("%d members were started again at once", most)
	}
	w.Settle("cp-0", "cp-1", "cp-2")
}

func foundedAgain(t *testing.T, w *world) {
	before := w.Members()
	w.SwitchOff("cp-4")
	w.SwitchOff("cp-2")
	w.Until("the loss of the quorum is reported", func() bool {
		return slices.ContainsFunc(w.Findings, func(f status.Finding) bool { return f.Reason == "EtcdUnreachable" && f.Meanwhile == status.Progressing })
	})
	if w.Message("EtcdMemberDown") == "" {
		t.Error("the members that do not answer are not named")
	}
	w.SwitchOff("cp-3")
	w.Until("only the cluster is reported if no member answers", func() bool { return w.Message("EtcdUnreachable") != "" && w.Message("EtcdMemberDown") == "" })
	w.SwitchOn("cp-3")
	w.RemoveNode("cp-4")
	w.RemoveNode("cp-2")
	w.Turn()
	w.Now = w.Now.Add(etcdmanager.MissingNodeGrace)
	w.Until("what cannot be done is reported", func() bool { return strings.Contains(w.Message("EtcdQuorumLost"), "node cp-2 was deleted") })

	var cm corev1.ConfigMap
	if err := w.API.Get(t.Context(), client.ObjectKey{Namespace: cluster.Namespace, Name: cluster.MembersConfigMap()}, &cm); err != nil {
		t.Fatal(err)
	}
	cm.Annotations = map[string]string{etcdcluster.FoundAgain: "true"}
	if err := w.API.Update(t.Context(), &cm); err != nil {
		t.Fatal(err)
	}
	w.Settle("cp-3")
	if after := w.Members(); after.Token == before.Token {
		t.Error("the new cluster has the old one's token")
	}
	if got, err := w.etcd().Read(t.Context(), configKey); err != nil || len(got) != 1 {
		t.Errorf("the new cluster has no network configuration: %v, error %v", got, err)
	}
}

// TestTheOnlyMemberFollowsTheAddressOfItsNode: its data are on the node's disk, and nowhere else.
func TestTheOnlyMemberFollowsTheAddressOfItsNode(t *testing.T) {
	w := newWorld(t)
	n := w.Node("a", 1, true)
	w.Settle("a")
	before := w.Members().Members[0]
	root := w.Dial(w.Secret(operatorNamespace, cluster.RootSecret()))
	if _, err := root.Put(t.Context(), "/elsewhere", "kept"); err != nil {
		t.Fatal(err)
	}
	n.Status.Addresses[0].Address = etcdnodes.Address(9)
	if err := w.API.Status().Update(t.Context(), n); err != nil {
		t.Fatal(err)
	}
	w.SwitchOff("a") // nothing can listen on the former address
	w.Turn()
	w.Now = w.Now.Add(2 * etcdmanager.MissingNodeGrace)
	w.Until("the member is at the new address", func() bool { return w.Members().Members[0].Address == etcdnodes.Address(9) })
	w.SwitchOn("a")
	w.Restart() // the operator is killed before it changes the URL in etcd
	w.Settle("a")
	after := w.Members()
	if m := after.Members[0]; m.Name != before.Name || m.ID != before.ID {
		t.Errorf("the member was %+v, and is %+v", before, m)
	}
	moved := w.Dial(w.Secret(operatorNamespace, cluster.RootSecret()))
	resp, err := moved.Get(t.Context(), "/elsewhere")
	if err != nil || len(resp.Kvs) != 1 || string(resp.Kvs[0].Value) != "kept" {
		t.Errorf("its data are %v, %v", resp, err)
	}
	list, err := moved.MemberList(t.Context())
	if err != nil || len(list.Members) != 1 || list.Members[0].GetPeerURLs()[0] != after.Members[0].PeerURL {
		t.Errorf("etcd lists %v, %v", list, err)
	}
	// It can grow from there.
	w.Node("b", 2, true)
	w.Node("c", 3, true)
	w.Settle("a", "b", "c")
}
