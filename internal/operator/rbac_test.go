package operator

import (
	"net/http"
	"slices"
	"strings"
	"testing"

	osv1 "github.com/openshift/api/operator/v1"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	networkoperatorv1 "github.com/cluster-network-operator/cno/api/networkoperator/v1"
	operatorv1 "github.com/cluster-network-operator/cno/api/operator/v1"
	"github.com/cluster-network-operator/cno/internal/apitest"
	"github.com/cluster-network-operator/cno/internal/facts"
	"github.com/cluster-network-operator/cno/internal/manifest"
	"github.com/cluster-network-operator/cno/internal/networks"
)

// shippedRBAC returns the objects of config/rbac, and the policies of config/admission that narrow what the operator's account may do.
func shippedRBAC(t *testing.T) []manifest.Typed {
	t.Helper()
	all := shippedIn(t, "rbac")
	for _, o := range shippedIn(t, "admission") {
		if strings.HasPrefix(o.GetName(), "cluster-network-operator-own-") {
			all = append(all, o)
		}
	}
	return all
}

// denied reports whether the API server refused a request: no role allows it, or a policy forbids it.
func denied(r apitest.Request) bool {
	return r.Response.Code == http.StatusForbidden || r.Response.Code == http.StatusUnauthorized || r.Response.Code == http.StatusUnprocessableEntity
}

// TestOperatorNeedsNoMoreThanItsRoles runs the operator with the real networks and only the permissions that
// config/rbac gives it, from nothing to a change, and looks for refusals.
func TestOperatorNeedsNoMoreThanItsRoles(t *testing.T) {
	c := newClusterWithRoles(t)
	config := c.ServiceAccount(t, operatorNamespace, serviceAccount)
	c.start(withConfig(config), withRegistry(networks.Registry()), func(o *Options) {
		o.WithoutLease = false
		o.Facts.APIServer = facts.HostPort{Host: "192.0.2.10", Port: 6443}
		o.Facts.Images = facts.Images{operatorImage: "o:v1", "FLANNEL_IMAGE": "f:v1", "ETCD_IMAGE": "e:v1", "KUBE_PROXY_IMAGE": "k:v1"}
	})
	c.create(secret(operatorNamespace, facts.PullSecretName, corev1.SecretTypeDockerConfigJson))
	network := newNetwork()
	c.create(network)
	c.eventually("the node is asked for its MTU", func() bool { return c.answerProbes(1450) == 1 })
	c.eventually("the nodes have objects", func() bool {
		var list networkoperatorv1.NetworkNodeList
		return c.Client.List(t.Context(), &list) == nil && len(list.Items) > 0 && len(list.Items[0].Status.Conditions) > 0
	})
	c.eventually("kube-proxy is applied", func() bool {
		return c.Client.Get(t.Context(), client.ObjectKey{Namespace: "openshift-kube-proxy", Name: "openshift-kube-proxy"}, &appsv1.DaemonSet{}) == nil
	})
	c.eventually("kube-proxy pulls with the pull secret of its namespace", func() bool {
		var d appsv1.DaemonSet
		err := c.Client.Get(t.Context(), client.ObjectKey{Namespace: "openshift-kube-proxy", Name: "openshift-kube-proxy"}, &d)
		return err == nil && len(d.Spec.Template.Spec.ImagePullSecrets) == 1 &&
			c.Client.Get(t.Context(), client.ObjectKey{Namespace: d.Namespace, Name: d.Spec.Template.Spec.ImagePullSecrets[0].Name}, &corev1.Secret{}) == nil
	})
	c.eventually("flannel's configuration is applied", func() bool { return c.configMap("openshift-flannel", "flannel-config") != nil })
	c.eventually("certificates are made", func() bool {
		return c.Client.Get(t.Context(), client.ObjectKey{Namespace: "openshift-flannel", Name: "flannel-etcd-client"}, &corev1.Secret{}) == nil
	})
	c.eventually("status is published", c.is("Available", osv1.ConditionFalse, "Startup"))
	c.anotherProxy()
	c.editSpec(func(s *operatorv1.NetworkSpec) { s.DeployKubeProxy = new(false) })
	c.eventually("the edit is dealt with", func() bool {
		n := c.network()
		return n.Generation == n.Status.ObservedGeneration
	})

	user := "system:serviceaccount:" + operatorNamespace + ":" + serviceAccount
	for _, r := range c.Requests(t) {
		if r.User.Username == user && denied(r) {
			t.Errorf("%s %s was answered %d", r.Verb, r.URI, r.Response.Code)
		}
	}
}

// newClusterWithRoles starts a cluster with the permissions of config/rbac and a control-plane node.
func newClusterWithRoles(t *testing.T) *cluster {
	t.Helper()
	c := newCluster(t, apitest.Options{})
	for _, o := range shippedRBAC(t) {
		c.create(o.(client.Object))
	}
	c.createControlPlane()
	return c
}

// createControlPlane makes the one node that an etcd can run on.
func (c *cluster) createControlPlane() {
	c.t.Helper()
	node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "cp-0", Labels: map[string]string{"node-role.kubernetes.io/control-plane": ""}}}
	c.create(node)
	apitest.ChangeStatus(c.t, c.Client, node, func() {
		node.Status.Addresses = []corev1.NodeAddress{{Type: corev1.NodeInternalIP, Address: "192.0.2.10"}}
	})
}

// answerProbes sets the results of running probes, and returns their number.
func (c *cluster) answerProbes(mtu int) int {
	c.t.Helper()
	var pods corev1.PodList
	if err := c.Client.List(c.t.Context(), &pods, client.InNamespace(operatorNamespace)); err != nil {
		c.t.Fatal(err)
	}
	n := 0
	for i := range pods.Items {
		p := &pods.Items[i]
		if !strings.HasPrefix(p.Name, "mtu-prober-") || p.Status.Phase == corev1.PodSucceeded {
			continue
		}
		p.Status = corev1.PodStatus{Phase: corev1.PodSucceeded, ContainerStatuses: []corev1.ContainerStatus{{
			Name: "probe-mtu", State: corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{Message: answerOf(mtu)}}}}}
		if err := c.Client.Status().Update(c.t.Context(), p); err == nil {
			n++
		}
	}
	return n
}

func answerOf(mtu int) string { return `{"mtu":` + itoa(mtu) + `,"links":["eth0"]}` }

// TestRolesHaveNoWildcards keeps wildcards and other ways around the roles out of them.
func TestRolesHaveNoWildcards(t *testing.T) {
	everywhere := map[string]bool{}
	for _, o := range shippedRBAC(t) {
		if binding, ok := o.(*rbacv1.ClusterRoleBinding); ok {
			everywhere[binding.RoleRef.Name] = true
		}
	}
	for _, o := range shippedRBAC(t) {
		for _, r := range rulesOf(o) {
			for _, word := range append(append(append([]string{}, r.Verbs...), r.Resources...), r.APIGroups...) {
				if word == "*" || word == "escalate" || word == "impersonate" || word == "bind" && len(r.ResourceNames) != 1 {
					t.Errorf("%s has %q in %v", manifest.KeyOf(o), word, r)
				}
			}
			// Secrets by one name are no one else's. A name is not considered when a Secret is created: the policy own-secrets restricts
			// which, and TestOperatorCannotReadEverySecret tries it.
			one := len(r.ResourceNames) == 1 || len(r.Verbs) == 1 && r.Verbs[0] == "create"
			if slices.Contains(r.Resources, "secrets") && o.GetNamespace() == "" && everywhere[o.GetName()] && !one {
				t.Errorf("%s gives the Secrets of all namespaces", manifest.KeyOf(o))
			}
		}
	}
}

// TestPermissionsInADeletedNamespaceAreRestored removes flannel's namespace, and with it the permission to create
// Secrets there.
func TestPermissionsInADeletedNamespaceAreRestored(t *testing.T) {
	c := newCluster(t, apitest.Options{})
	for _, o := range shippedRBAC(t) {
		c.create(o.(client.Object))
	}
	binding := &rbacv1.RoleBinding{ObjectMeta: metav1.ObjectMeta{Namespace: "openshift-flannel", Name: serviceAccount}}
	if err := c.Client.Delete(t.Context(), binding); err != nil { // no namespace is ever deleted here, since no controller empties it
		t.Fatal(err)
	}
	c.createControlPlane()
	c.create(newNetwork())
	c.start(withConfig(c.ServiceAccount(t, operatorNamespace, serviceAccount)), withRegistry(networks.Registry()), func(o *Options) {
		o.Facts.APIServer = facts.HostPort{Host: "192.0.2.10", Port: 6443}
		o.Facts.Images = facts.Images{operatorImage: "o:v1", "FLANNEL_IMAGE": "f:v1", "ETCD_IMAGE": "e:v1", "KUBE_PROXY_IMAGE": "k:v1"}
	})
	c.eventually("the node is asked for its MTU", func() bool { return c.answerProbes(1450) == 1 })
	c.eventually("the binding is back", func() bool {
		return c.Client.Get(t.Context(), client.ObjectKeyFromObject(binding), binding) == nil
	})
	c.eventually("and works", func() bool {
		return c.Client.Get(t.Context(), client.ObjectKey{Namespace: "openshift-flannel", Name: "flannel-etcd-client"}, &corev1.Secret{}) == nil
	})
}
