package etcdmanager_test

import (
	"testing"

	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/cluster-network-operator/cno/internal/testing/etcdnodes"
)

// TestANodeGetsACertificateWhileAMemberIsDown is about the first day of a CA, in which members might not trust it yet.
func TestANodeGetsACertificateWhileAMemberIsDown(t *testing.T) {
	w := newWorld(t)
	nodes := []string{"cp-0", "cp-1", "cp-2"}
	w.controlPlane(nodes...)
	w.Settle(nodes...)
	w.letAgentsRequest()
	agent := w.Agent("cp-0")
	w.SwitchOff("cp-2")
	w.Turn() // its pod is reported as not ready
	if _, err := w.Sign(agent, "example-etcd-one-down", etcdnodes.Request(t, cluster, "cp-0")); err != nil {
		t.Error(err)
	}
	if _, err := w.Sign(agent, "example-etcd-hostile", etcdnodes.Request(t, cluster, "cp-1")); err == nil {
		t.Error("node cp-0 has a certificate of node cp-1")
	}
}

// letAgentsRequest permits agents to request certificates.
func (w *world) letAgentsRequest() {
	w.T.Helper()
	role := &rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: cluster.App}, Rules: []rbacv1.PolicyRule{
		{APIGroups: []string{"certificates.k8s.io"}, Resources: []string{"certificatesigningrequests"}, Verbs: []string{"create", "get"}},
	}}
	binding := &rbacv1.ClusterRoleBinding{ObjectMeta: metav1.ObjectMeta{Name: cluster.App},
		RoleRef:  rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: role.Name},
		Subjects: []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Namespace: cluster.Namespace, Name: cluster.ServiceAccount}}}
	w.Server.Create(w.T, role)
	w.Server.Create(w.T, binding)
}
