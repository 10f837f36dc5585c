package operator

import (
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/cluster-network-operator/cno/internal/apitest"
)

// TestTheAllowlistNeedsNoMoreThanTheRoles runs the operator with the permissions that it ships with: a list of a user is installed on the
// nodes, and back when it is deleted.
func TestTheAllowlistNeedsNoMoreThanTheRoles(t *testing.T) {
	c := newCluster(t, apitest.Options{})
	for _, o := range shippedRBAC(t) {
		c.create(o.(client.Object))
	}
	c.start(withConfig(c.ServiceAccount(t, operatorNamespace, serviceAccount)), func(o *Options) { o.Facts.Images[multusImage] = "multus:v1" })
	const multus, name = "openshift-multus", "cni-sysctl-allowlist"
	c.create(&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: multus}})
	c.createFile("config", "openshift", "allowlist.yaml")
	// No controller makes the ConfigMap that each namespace has.
	c.create(&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: multus, Name: "kube-root-ca.crt"}})
	c.eventually("there is a list", func() bool { return c.configMap(multus, name)["allowlist.conf"] != "" })
	list := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: multus, Name: name}}
	patch := client.RawPatch("application/merge-patch+json", []byte(`{"data":{"allowlist.conf":"^mine$"}}`))
	if err := c.Client.Patch(t.Context(), list, patch); err != nil {
		t.Fatal(err)
	}
	ds := &appsv1.DaemonSet{}
	installed := func() string {
		if c.Client.Get(t.Context(), client.ObjectKey{Namespace: multus, Name: name + "-ds"}, ds) != nil {
			return ""
		}
		return ds.Spec.Template.Spec.Containers[0].Env[0].Value
	}
	c.eventually("it is installed on the nodes", func() bool { return installed() == "^mine$$" })
	if err := c.Client.Delete(t.Context(), list); err != nil {
		t.Fatal(err)
	}
	c.eventually("deleted, it is the default one on nodes, too", func() bool { return len(installed()) > 100 })
	apitest.ChangeStatus(t, c.Client, ds, func() {
		ds.Status = appsv1.DaemonSetStatus{ObservedGeneration: ds.Generation, DesiredNumberScheduled: 1, CurrentNumberScheduled: 1, UpdatedNumberScheduled: 1, NumberAvailable: 1, NumberReady: 1}
	})
	c.eventually("when they have it, the DaemonSet is deleted", func() bool {
		return apierrors.IsNotFound(c.Client.Get(t.Context(), client.ObjectKeyFromObject(ds), ds))
	})
	user := "system:serviceaccount:" + operatorNamespace + ":" + serviceAccount
	for _, r := range c.Requests(t) {
		if r.User.Username == user && denied(r) {
			t.Errorf("%s %s was answered %d", r.Verb, r.URI, r.Response.Code)
		}
	}
}
