package controller

import (
	"context"
	"testing"

	rbacv1 "k8s.io/api/rbac/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	operatorv1 "github.com/cluster-network-operator/cno/api/operator/v1"
	"github.com/cluster-network-operator/cno/internal/testing/etcdnodes"
	"github.com/cluster-network-operator/cno/providers/flannel/record"
)

// applyRoles applies the roles that are rendered for agents.
func (w *world) applyRoles() {
	w.T.Helper()
	objects, _ := w.render()
	for _, o := range objects {
		if kind := o.Key().Kind; kind == "ClusterRole" || kind == "ClusterRoleBinding" {
			if err := w.API.Apply(w.T.Context(), client.ApplyConfigurationFromUnstructured(o.Object), client.FieldOwner("test"), client.ForceOwnership); err != nil {
				w.T.Fatal(err)
			}
		}
	}
	w.T.Cleanup(func() {
		for _, o := range []client.Object{&rbacv1.ClusterRole{}, &rbacv1.ClusterRoleBinding{}} {
			o.SetName("openshift-flannel")
			_ = w.API.Delete(context.Background(), o)
		}
	})
}

// TestANodesCertificateComesFromTheTokenOfItsPod has a real API server report which node a request comes from.
func TestANodesCertificateComesFromTheTokenOfItsPod(t *testing.T) {
	w := newWorld(t, &operatorv1.FlannelConfig{})
	w.Node("a", 1, true)
	w.Until("etcd answers", func() bool { return len(w.Voters()) == 1 && w.Members().Members[0].ID != "" })
	w.applyRoles()
	agent := w.Agent("a")
	request := etcdnodes.Request(t, record.Etcd, "a")
	certificate, err := w.Sign(agent, "flannel-etcd-good", request)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := w.Sign(agent, "flannel-etcd-hostile", etcdnodes.Request(t, record.Etcd, "b")); err == nil {
		t.Error("node a has a certificate of node b")
	}
	if again, err := agent.Sign(t.Context(), "flannel-etcd-good", request); err != nil || string(again) != string(certificate) {
		t.Errorf("the same request again: %v", err)
	}
}
