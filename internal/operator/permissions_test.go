package operator

import (
	"fmt"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	networkv1 "github.com/cluster-network-operator/cno/api/network/v1"
	"github.com/cluster-network-operator/cno/internal/apitest"
	"github.com/cluster-network-operator/cno/internal/facts"
	"github.com/cluster-network-operator/cno/internal/manifest"
)

const (
	roleOfSecrets = "cluster-network-operator-secrets"
	roleOfPKIs    = "cluster-network-operator-pki"
)

func itself() []rbacv1.Subject {
	return []rbacv1.Subject{{Kind: "ServiceAccount", Namespace: operatorNamespace, Name: serviceAccount}}
}

func toRole(name string) rbacv1.RoleRef {
	return rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: name}
}

func roleBinding(namespace, name, role string) *rbacv1.RoleBinding {
	return &rbacv1.RoleBinding{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}, RoleRef: toRole(role), Subjects: itself()}
}

func clusterBinding(name, role string) *rbacv1.ClusterRoleBinding {
	return &rbacv1.ClusterRoleBinding{ObjectMeta: metav1.ObjectMeta{Name: name}, RoleRef: toRole(role), Subjects: itself()}
}

func podTemplate(change ...func(*corev1.PodSpec)) corev1.PodTemplateSpec {
	no := false
	p := corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{"app": "a"}}, Spec: corev1.PodSpec{
		AutomountServiceAccountToken: &no, Containers: []corev1.Container{{Name: "a", Image: "a:1"}}}}
	for _, f := range change {
		f(&p.Spec)
	}
	return p
}

func daemonSet(namespace string, change ...func(*corev1.PodSpec)) *appsv1.DaemonSet {
	template := podTemplate(change...)
	return &appsv1.DaemonSet{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "a"},
		Spec: appsv1.DaemonSetSpec{Selector: &metav1.LabelSelector{MatchLabels: template.Labels}, Template: template}}
}

func deployment(namespace, name string, change ...func(*corev1.PodSpec)) *appsv1.Deployment {
	template := podTemplate(change...)
	return &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name},
		Spec: appsv1.DeploymentSpec{Selector: &metav1.LabelSelector{MatchLabels: template.Labels}, Template: template}}
}

// hostPod is a pod on the network of its node, or on the pod network.
func hostPod(namespace string, host bool) *corev1.Pod {
	name := "on-the-pod-network"
	if host {
		name = "on-the-host"
	}
	spec := podTemplate(func(p *corev1.PodSpec) { p.HostNetwork = host }).Spec
	return &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}, Spec: spec}
}

// secret has what the API server requires of each type.
func secret(namespace, name string, t corev1.SecretType) *corev1.Secret {
	return &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name, Annotations: map[string]string{corev1.ServiceAccountNameKey: "default"}}, Type: t,
		Data: map[string][]byte{corev1.DockerConfigJsonKey: []byte("{}"), corev1.TLSCertKey: {}, corev1.TLSPrivateKeyKey: {}}}
}

// ofANewerRelease are objects with the operator's label, and names that no operand of this release has.
func ofANewerRelease() []client.Object {
	all := []client.Object{
		&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "openshift-newer"}}, clusterBinding("openshift-newer", "openshift-kube-proxy"),
		roleBinding("openshift-newer", "newer", "openshift-kube-proxy"), &rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: "openshift-newer"}},
		&corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: "openshift-newer", Name: "newer"}}, daemonSet("openshift-newer"),
	}
	for _, o := range all {
		o.SetLabels(map[string]string{manifest.LabelManagedBy: manifest.ManagedBy})
	}
	return all
}

// TestOperatorCannotReadEverySecret tries with the operator's own account what its roles alone would let it do.
func TestOperatorCannotReadEverySecret(t *testing.T) {
	c := newCluster(t, apitest.Options{})
	for _, o := range shippedRBAC(t) {
		c.create(o.(client.Object))
	}
	account, err := c.ClientFor(c.ServiceAccount(t, operatorNamespace, serviceAccount))
	if err != nil {
		t.Fatal(err)
	}
	c.create(&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "tenant"}})
	c.create(&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "with-pki"}})
	c.create(&networkv1.OperatorPKI{ObjectMeta: metav1.ObjectMeta{Namespace: "with-pki", Name: "p"}, Spec: networkv1.OperatorPKISpec{TargetCert: networkv1.CertSpec{CommonName: "p"}}})
	c.create(deployment("tenant", "shop"))
	for _, p := range []*corev1.Pod{hostPod("tenant", true), hostPod("openshift-flannel", true), hostPod("openshift-flannel", false)} {
		c.create(p)
	}
	c.create(&networkingv1.NetworkPolicy{ObjectMeta: metav1.ObjectMeta{Namespace: "tenant", Name: "web"}})
	c.create(&rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: "openshift-kube-proxy"}})
	c.create(&rbacv1.ClusterRoleBinding{ObjectMeta: metav1.ObjectMeta{Name: "tenants"}, RoleRef: toRole("openshift-kube-proxy")})
	newer := ofANewerRelease()
	for _, o := range newer {
		c.create(o)
	}
	try := func(o client.Object) error {
		return account.Create(t.Context(), o.DeepCopyObject().(client.Object), client.DryRunAll)
	}
	c.eventually("the policy of pods is active", func() bool { return byPolicy(account.Delete(t.Context(), hostPod("tenant", true), client.DryRunAll)) })
	for _, policy := range []client.Object{daemonSet("tenant"), clusterBinding("evil", roleOfSecrets), roleBinding("tenant", roleOfPKIs, roleOfPKIs),
		&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "evil"}}} {
		c.eventually("the policies are active", func() bool { return byPolicy(try(policy)) })
	}
	for why, o := range map[string]client.Object{
		"every Secret":                       clusterBinding("openshift-kube-proxy", roleOfSecrets),
		"every Secret, by the other role":    clusterBinding("openshift-kube-proxy", roleOfPKIs),
		"Secrets of kube-system":             roleBinding("kube-system", serviceAccount, roleOfSecrets),
		"Secrets of a namespace without PKI": roleBinding("kube-system", roleOfPKIs, roleOfPKIs),
		"under another name":                 roleBinding("with-pki", "other", roleOfPKIs),
		"of the wrong role":                  roleBinding("with-pki", roleOfPKIs, roleOfSecrets),
		"a role of an operand for itself":    clusterBinding("evil", "openshift-kube-proxy"),
		"to a stranger":                      &rbacv1.RoleBinding{ObjectMeta: metav1.ObjectMeta{Namespace: "openshift-flannel", Name: "a"}, RoleRef: toRole(roleOfSecrets), Subjects: []rbacv1.Subject{{Kind: "User", Name: "mallory", APIGroup: rbacv1.GroupName}}},
		"a pod of kube-system":               daemonSet("kube-system"),
		"a router with the node's processes": deployment("tenant", "egress-router-a", func(p *corev1.PodSpec) { p.HostPID = true }),
		"a router with another account":      deployment("tenant", "egress-router-a", func(p *corev1.PodSpec) { p.ServiceAccountName = "admin" }),
		"a router with a Secret": deployment("tenant", "egress-router-a", func(p *corev1.PodSpec) {
			p.Volumes = []corev1.Volume{{Name: "s", VolumeSource: corev1.VolumeSource{Secret: &corev1.SecretVolumeSource{SecretName: "s"}}}}
		}),
		"a token of any account":          secret("openshift-flannel", "t", corev1.SecretTypeServiceAccountToken),
		"such a token as the pull secret": secret("openshift-flannel", facts.PullSecretName, corev1.SecretTypeServiceAccountToken),
		"a token that nodes join with":    secret("kube-system", "bootstrap-token-aaaaaa", corev1.SecretTypeBootstrapToken),
		"a Secret of a tenant":            secret("tenant", "s", corev1.SecretTypeOpaque),
		"credentials for a tenant":        secret("tenant", facts.PullSecretName, corev1.SecretTypeDockerConfigJson),
		"an account elsewhere":            &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: "kube-system", Name: "evil"}},
		"a service elsewhere":             &corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: "tenant", Name: "evil"}, Spec: corev1.ServiceSpec{Ports: []corev1.ServicePort{{Port: 1}}}},
		"a policy elsewhere":              &networkingv1.NetworkPolicy{ObjectMeta: metav1.ObjectMeta{Namespace: "tenant", Name: "default-deny"}},
		"a role of any name":              &rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: "evil"}},
	} {
		if err := try(o); !byPolicy(err) {
			t.Errorf("it creates %s: %v", why, err)
		}
	}
	for why, o := range map[string]client.Object{
		"cluster-admin":                          &rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: "cluster-admin"}},
		"its binding":                            &rbacv1.ClusterRoleBinding{ObjectMeta: metav1.ObjectMeta{Name: "cluster-admin"}},
		"a pod of a tenant":                      hostPod("tenant", true),
		"a pod of an operand on the pod network": hostPod("openshift-flannel", false),
		"a workload":                             &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: "tenant", Name: "shop"}},
		"a policy of a tenant":                   &networkingv1.NetworkPolicy{ObjectMeta: metav1.ObjectMeta{Namespace: "tenant", Name: "web"}},
		"a namespace":                            &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "tenant"}},
		"the API's service":                      &corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "kubernetes"}},
		"its own role binding":                   &rbacv1.ClusterRoleBinding{ObjectMeta: metav1.ObjectMeta{Name: "cluster-network-operator"}},
	} {
		if err := account.Delete(t.Context(), o, client.DryRunAll); !byPolicy(err) {
			t.Errorf("it deletes %s: %v", why, err)
		}
	}
	label := client.RawPatch(types.MergePatchType, fmt.Appendf(nil, `{"metadata":{"labels":{%q:%q}}}`, manifest.LabelManagedBy, manifest.ManagedBy))
	for _, o := range []client.Object{&rbacv1.ClusterRoleBinding{ObjectMeta: metav1.ObjectMeta{Name: "tenants"}}, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "tenant"}},
		&appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: "tenant", Name: "shop"}}} {
		if err := account.Patch(t.Context(), o, label, client.DryRunAll); !byPolicy(err) {
			t.Errorf("it labels %T %s as its own, so that it may delete it: %v", o, o.GetName(), err)
		}
	}
	for _, o := range newer {
		if err := account.Delete(t.Context(), o, client.DryRunAll); err != nil {
			t.Errorf("it does not delete %T %s, which a newer release has created: %v", o, o.GetName(), err)
		}
	}
	if err := account.Delete(t.Context(), hostPod("openshift-flannel", true), client.DryRunAll); err != nil {
		t.Errorf("it does not delete a pod of an operand on the network of its node: %v", err)
	}
	for why, o := range map[string]client.Object{
		"the Secrets of flannel's etcd": roleBinding("openshift-flannel", "other", roleOfSecrets),
		"a router":                      deployment("tenant", "egress-router-a"),
		"a policy of an operand":        &networkingv1.NetworkPolicy{ObjectMeta: metav1.ObjectMeta{Namespace: "openshift-flannel", Name: "default-deny"}},
		"an operand":                    daemonSet("openshift-flannel", func(p *corev1.PodSpec) { p.HostNetwork = true }),
		"the pull secret of an operand": secret("openshift-flannel", facts.PullSecretName, corev1.SecretTypeDockerConfigJson),
		"a certificate of an operand":   secret("openshift-flannel", "c", corev1.SecretTypeTLS),
		"Secrets beside an OperatorPKI": roleBinding("with-pki", roleOfPKIs, roleOfPKIs),
	} {
		c.eventually("it may create "+why, func() bool { return try(o) == nil })
	}
}

// byPolicy reports whether a policy refused a request.
func byPolicy(err error) bool {
	return apierrors.IsInvalid(err) && strings.Contains(err.Error(), "ValidatingAdmissionPolicy 'cluster-network-operator-own-")
}
