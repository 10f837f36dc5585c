package pki

import (
	"os"
	"path/filepath"
	"testing"

	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/cluster-network-operator/cno/internal/apitest"
	"github.com/cluster-network-operator/cno/internal/manifest"
)

// shipped returns config/rbac/pki.yaml and the other permissions that the controller uses.
func shipped(t *testing.T) []client.Object {
	t.Helper()
	root, err := apitest.RepositoryRoot()
	if err != nil {
		t.Fatal(err)
	}
	objects, err := manifest.DecodeAll(os.DirFS(filepath.Join(root, "config", "rbac")), "pki.yaml")
	if err != nil {
		t.Fatal(err)
	}
	all := []client.Object{
		&rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: "test-operator"}, Rules: []rbacv1.PolicyRule{
			{APIGroups: []string{""}, Resources: []string{"configmaps"}, Verbs: []string{"get", "create", "update"}},
			{APIGroups: []string{rbacv1.GroupName}, Resources: []string{"rolebindings"}, Verbs: []string{"get", "create", "update", "delete"}},
		}},
		&rbacv1.ClusterRoleBinding{ObjectMeta: metav1.ObjectMeta{Name: "test-operator"},
			RoleRef:  rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "test-operator"},
			Subjects: []rbacv1.Subject{{Kind: "ServiceAccount", Namespace: "openshift-network-operator", Name: "cluster-network-operator"}}},
	}
	for _, o := range objects {
		all = append(all, o.(client.Object))
	}
	return all
}
