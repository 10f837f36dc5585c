package etcdmanager_test

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/cluster-network-operator/cno/internal/certs"
	"github.com/cluster-network-operator/cno/internal/etcdcluster/etcdclient"
	"github.com/cluster-network-operator/cno/internal/etcdcluster/etcdmanager"
)

// TestThreeMembersOutliveTheirCA deletes the Secret of the CA under three real members, which are killed meanwhile, as
// the operator is; and then every Secret.
func TestThreeMembersOutliveTheirCA(t *testing.T) {
	w := newWorld(t)
	w.Now = time.Now().Add(-72 * time.Hour) // members use the real clock, in which no certificate may be of the future
	nodes := []string{"cp-0", "cp-1", "cp-2"}
	w.controlPlane(nodes...)
	w.Settle(nodes...)
	if _, err := w.etcd().Commit(t.Context(), etcdclient.Change{Put: map[string][]byte{"/keep": []byte("me")}}); err != nil {
		t.Fatal(err)
	}
	first := w.signer(cluster.ClientSecret())
	w.Now = w.Now.Add(time.Minute) // a CA is named after the second of its making

	w.loseSecret(operatorNamespace, cluster.CASecret())
	w.trustMoves(func(updated int) {
		w.Kill(nodes[(updated+1)%3])
		w.Restart()
	})
	w.Settle(nodes...)
	if got := w.signer(cluster.ClientSecret()); got != first {
		t.Errorf("the client's certificate was signed by %s before agents had the time to trust it", got)
	}
	w.Now = w.Now.Add(etcdmanager.Policy(cluster).Overlap)
	w.Until("the new CA has signed everything", func() bool { return w.signed(first) == 0 })
	w.Settle(nodes...)

	w.loseSecret(operatorNamespace, cluster.CASecret())
	for _, name := range w.leaves() {
		w.loseSecret(cluster.Namespace, name)
	}
	w.trustMoves(func(int) {})
	w.Settle(nodes...)
	if got, err := w.etcd().Read(t.Context(), "/keep"); err != nil || len(got) != 1 {
		t.Errorf("what was kept: %v, error %v", got, err)
	}
}

// trustMoves takes turns until every member has another bundle, and calls a function for each that has. Time advances with each
// turn: a member that was ready after its restart, and is not any more, stalls later than others.
func (w *world) trustMoves(each func(updated int)) {
	w.T.Helper()
	before, seen := w.Members().Members[0].Trust, 0
	w.Until("every member has the new bundle", func() bool {
		w.Now = w.Now.Add(etcdmanager.StalledGrace / 10)
		updated := 0
		for _, m := range w.Members().Members {
			if m.Trust != before {
				updated++
			}
		}
		if updated > seen {
			seen = updated
			each(updated)
		}
		return updated == len(w.Members().Members)
	})
}

func (w *world) leaves() []string {
	out := []string{cluster.ClientSecret()}
	for _, m := range w.Members().Members {
		out = append(out, cluster.MemberSecret(m.Node))
	}
	return out
}

func (w *world) loseSecret(namespace, name string) {
	w.T.Helper()
	s := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}}
	if err := w.API.Delete(w.T.Context(), s); err != nil {
		w.T.Fatal(err)
	}
}

// signer returns the name of the CA that has signed what is in a Secret.
func (w *world) signer(name string) string {
	w.T.Helper()
	var s corev1.Secret
	if err := w.API.Get(w.T.Context(), client.ObjectKey{Namespace: cluster.Namespace, Name: name}, &s); err != nil {
		w.T.Fatal(err)
	}
	cert, _, err := certs.Pair{Certificate: s.Data[corev1.TLSCertKey], Key: s.Data[corev1.TLSPrivateKeyKey]}.Parse()
	if err != nil {
		w.T.Fatal(err)
	}
	return cert.Issuer.CommonName
}

// signed returns how many certificates a CA has signed.
func (w *world) signed(by string) (n int) {
	w.T.Helper()
	for _, name := range w.leaves() {
		if w.signer(name) == by {
			n++
		}
	}
	return n
}
