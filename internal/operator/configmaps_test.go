package operator

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/cluster-network-operator/cno/internal/apitest"
	"github.com/cluster-network-operator/cno/internal/facts"
	"github.com/cluster-network-operator/cno/internal/manifest"
	"github.com/cluster-network-operator/cno/internal/networks"
)

// TestAConfigMapThatIsChangedWithoutTheOperatorsLabelIsRestored: operands among the ConfigMaps of flannel's namespace are read from a cache
// that has all of them, with the label and without.
func TestAConfigMapThatIsChangedWithoutTheOperatorsLabelIsRestored(t *testing.T) {
	c := newCluster(t, apitest.Options{})
	c.createControlPlane()
	c.create(newNetwork())
	c.start(withRegistry(networks.Registry()), func(o *Options) {
		o.Facts.APIServer = facts.HostPort{Host: "192.0.2.10", Port: 6443}
		o.Facts.Images = facts.Images{operatorImage: "o:v1", "FLANNEL_IMAGE": "f:v1", "ETCD_IMAGE": "e:v1", "KUBE_PROXY_IMAGE": "k:v1"}
	})
	c.eventually("the node is asked for its MTU", func() bool { return c.answerProbes(1450) == 1 })
	c.eventually("the network is recorded", c.recorded)
	const namespace, name = "openshift-flannel", "flannel-config"
	before := c.configMap(namespace, name)
	patch := client.RawPatch("application/merge-patch+json", []byte(`{"metadata":{"labels":null},"data":{"flanneld.json":"{}"}}`))
	if err := c.Client.Patch(t.Context(), &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}}, patch); err != nil {
		t.Fatal(err)
	}
	c.eventually("it is restored", func() bool {
		var cm corev1.ConfigMap
		err := c.Client.Get(t.Context(), client.ObjectKey{Namespace: namespace, Name: name}, &cm)
		return err == nil && cm.Labels[manifest.LabelManagedBy] == manifest.ManagedBy && cm.Data["flanneld.json"] == before["flanneld.json"]
	})
	if err := c.Client.Delete(t.Context(), &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}}); err != nil {
		t.Fatal(err)
	}
	c.eventually("it is created again", func() bool { return c.configMap(namespace, name) != nil })
}
