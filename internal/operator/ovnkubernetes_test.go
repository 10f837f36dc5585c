package operator

import (
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	networkv1 "github.com/cluster-network-operator/cno/api/network/v1"
	operatorv1 "github.com/cluster-network-operator/cno/api/operator/v1"
	"github.com/cluster-network-operator/cno/internal/apitest"
	"github.com/cluster-network-operator/cno/internal/facts"
	"github.com/cluster-network-operator/cno/internal/networks"
)

// TestOVNKubernetesIsDeployedWithTheRolesOfTheOperator runs the operator with nothing but the roles and policies that are shipped: it
// deploys OVN-Kubernetes with its certificate, follows the control-plane nodes, and no request is refused.
func TestOVNKubernetesIsDeployedWithTheRolesOfTheOperator(t *testing.T) {
	const namespace = "openshift-ovn-kubernetes"
	c := newCluster(t, apitest.Options{})
	for _, o := range shippedRBAC(t) {
		c.create(o.(client.Object))
	}
	c.createControlPlane()
	c.start(withConfig(c.ServiceAccount(t, operatorNamespace, serviceAccount)), withRegistry(networks.Registry()), func(o *Options) {
		o.WithoutLease = false
		o.Facts.APIServer = facts.HostPort{Host: "192.0.2.10", Port: 6443}
		o.Facts.Images = facts.Images{operatorImage: "o:v1", "OVN_IMAGE": "ovn:v1", "KUBE_PROXY_IMAGE": "k:v1"}
	})
	network := newNetwork()
	network.Spec.DefaultNetwork = operatorv1.DefaultNetworkDefinition{Type: operatorv1.NetworkTypeOVNKubernetes}
	c.create(network)
	c.eventually("the node is asked for its MTU", func() bool { return c.answerProbes(1450) == 1 })
	exists := func(name string, into client.Object) func() bool {
		return func() bool {
			return c.Client.Get(t.Context(), client.ObjectKey{Namespace: namespace, Name: name}, into) == nil
		}
	}
	var master, node appsv1.DaemonSet
	c.eventually("masters are applied", exists("ovnkube-master", &master))
	c.eventually("agents are applied", exists("ovnkube", &node))
	if mtu := c.configMap(namespace, "ovn-config")["mtu"]; mtu != "1350" {
		t.Errorf("pods get the MTU %s, want that of the node less 100", mtu)
	}
	c.eventually("the PKI controller makes the certificate", exists("ovn-cert", &corev1.Secret{}))
	c.eventually("... and the CA that pods mount", exists("ovn-ca", &corev1.ConfigMap{}))
	south := func(want string) func() bool {
		return func() bool {
			cm := c.configMap(namespace, "ovn-config")
			return cm != nil && cm["OvnSouth"] == want
		}
	}
	c.eventually("nodes are configured with the southbound database of the control plane", south("ssl:192.0.2.10:6642"))

	second := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "cp-1", Labels: map[string]string{"node-role.kubernetes.io/master": ""}}}
	c.create(second)
	apitest.ChangeStatus(t, c.Client, second, func() {
		second.Status.Addresses = []corev1.NodeAddress{{Type: corev1.NodeInternalIP, Address: "192.0.2.9"}}
	})
	c.eventually("a second control-plane node joins", south("ssl:192.0.2.9:6642,ssl:192.0.2.10:6642"))

	if err := c.Client.Delete(t.Context(), &networkv1.OperatorPKI{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "ovn"}}); err != nil {
		t.Fatal(err)
	}
	c.eventually("a deleted OperatorPKI is created again", exists("ovn", &networkv1.OperatorPKI{}))

	user := "system:serviceaccount:" + operatorNamespace + ":" + serviceAccount
	for _, r := range c.Requests(t) {
		if r.User.Username == user && denied(r) {
			t.Errorf("%s %s was answered %d", r.Verb, r.URI, r.Response.Code)
		}
	}
}
