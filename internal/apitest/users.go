package apitest

import (
	"os"
	"testing"

	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/envtest"
	"sigs.k8s.io/yaml"
)

// User returns the configuration of a user who has a client certificate and no permissions but those that RBAC
// gives to the name and the groups.
func (s *Server) User(tb testing.TB, name string, groups ...string) *rest.Config {
	tb.Helper()
	user, err := s.env.AddUser(envtest.User{Name: name, Groups: groups}, &rest.Config{QPS: -1})
	if err != nil {
		tb.Fatalf("add user %s: %v", name, err)
	}
	return user.Config()
}

// ServiceAccount returns the configuration of a service account, with a token as a pod of that account has
// it. The account is created if it is missing; its namespace must exist.
func (s *Server) ServiceAccount(tb testing.TB, namespace, name string) *rest.Config {
	tb.Helper()
	account := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}}
	if err := s.Client.Create(tb.Context(), account); client.IgnoreAlreadyExists(err) != nil {
		tb.Fatalf("create service account: %v", err)
	}
	return s.token(tb, account, nil)
}

// WithRoles is ServiceAccount with the permissions of the ClusterRoles in YAML files, until the test ends: a program that is tested with the roles that it has in
// a cluster shows that they suffice.
func (s *Server) WithRoles(tb testing.TB, namespace, name string, files ...string) *rest.Config {
	tb.Helper()
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			tb.Fatalf("read role: %v", err)
		}
		role := &rbacv1.ClusterRole{}
		if err := yaml.UnmarshalStrict(data, role); err != nil {
			tb.Fatalf("decode role %s: %v", file, err)
		}
		s.Create(tb, role)
		s.Create(tb, &rbacv1.ClusterRoleBinding{
			ObjectMeta: metav1.ObjectMeta{Name: role.Name}, RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: role.Name},
			Subjects: []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Namespace: namespace, Name: name}},
		})
	}
	return s.ServiceAccount(tb, namespace, name)
}

// Pod returns the configuration of a pod, with a token that is bound to it, as its kubelet gives it. Pod and service account must exist.
func (s *Server) Pod(tb testing.TB, pod *corev1.Pod) *rest.Config {
	tb.Helper()
	account := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: pod.Namespace, Name: pod.Spec.ServiceAccountName}}
	return s.token(tb, account, &authenticationv1.BoundObjectReference{Kind: "Pod", APIVersion: "v1", Name: pod.Name, UID: pod.UID})
}

// token returns the configuration of a service account with a token, bound to an object if that is not nil.
func (s *Server) token(tb testing.TB, account *corev1.ServiceAccount, bound *authenticationv1.BoundObjectReference) *rest.Config {
	tb.Helper()
	request := &authenticationv1.TokenRequest{Spec: authenticationv1.TokenRequestSpec{BoundObjectRef: bound}}
	if err := s.Client.SubResource("token").Create(tb.Context(), account, request); err != nil {
		tb.Fatalf("request token for %s/%s: %v", account.Namespace, account.Name, err)
	}
	config := rest.AnonymousClientConfig(s.Config)
	config.BearerToken = request.Status.Token
	return config
}
