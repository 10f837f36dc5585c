package operator

import (
	"testing"
	"time"

	osv1 "github.com/openshift/api/operator/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	networkoperatorv1 "github.com/cluster-network-operator/cno/api/networkoperator/v1"
	operatorv1 "github.com/cluster-network-operator/cno/api/operator/v1"
	"github.com/cluster-network-operator/cno/internal/apitest"
)

func newConfig() *networkoperatorv1.NetworkConfig {
	return &networkoperatorv1.NetworkConfig{ObjectMeta: metav1.ObjectMeta{Name: "default"}, Spec: networkoperatorv1.NetworkConfigSpec{
		ClusterNetworks: []networkoperatorv1.ClusterNetwork{{CIDR: "10.128.0.0/14", HostSubnetLength: 9}},
		ServiceNetwork:  "10.96.0.0/16",
		DefaultNetwork: networkoperatorv1.DefaultNetworkDefinition{DefaultNetworkDefinition: operatorv1.DefaultNetworkDefinition{
			Type: operatorv1.NetworkTypeFlannel, FlannelConfig: &operatorv1.FlannelConfig{Interface: "eth1"}}},
	}}
}

func (c *cluster) config() *networkoperatorv1.NetworkConfig {
	var n networkoperatorv1.NetworkConfig
	_ = c.Client.Get(c.t.Context(), client.ObjectKey{Name: "default"}, &n)
	return &n
}

// synced reports whether the condition Synced of the NetworkConfig has a status and a reason.
func (c *cluster) synced(status osv1.ConditionStatus, reason string) func() bool {
	return func() bool {
		for _, have := range c.config().Status.Conditions {
			if have.Type == "Synced" {
				return have.Status == status && have.Reason == reason
			}
		}
		return false
	}
}

// editConfig changes the flannel settings of the NetworkConfig.
func (c *cluster) editConfig(change func(*operatorv1.FlannelConfig)) {
	c.t.Helper()
	n := c.config()
	apitest.Change(c.t, c.Client, n, func() { change(n.Spec.DefaultNetwork.FlannelConfig) })
}

func TestNetworkConfigIsFollowedUntilAnotherClientSetsTheNetwork(t *testing.T) {
	c := newCluster(t, apitest.Options{})
	c.create(newConfig())
	r := c.start()
	c.eventually("it becomes a network", c.has("interface", "eth1"))
	if got := c.network().Spec.ClusterNetwork[0].HostPrefix; got != 23 {
		t.Errorf("hostPrefix is %d, want 23", got)
	}
	c.eventually("it is in sync", c.synced(osv1.ConditionTrue, "AsExpected"))
	c.rolledOut(1)
	c.eventually("it mirrors the status", func() bool { return c.config().Status.Version == "v1" && len(c.config().Status.Conditions) > 4 })

	c.editConfig(func(f *operatorv1.FlannelConfig) { f.Interface = "eth2" })
	c.eventually("an edit is followed", c.has("interface", "eth2"))

	c.edit(func(f *operatorv1.FlannelConfig) { f.Interface = "eth3" })
	c.eventually("an edit of the network wins", c.synced(osv1.ConditionFalse, "NetworkDiffers"))
	c.eventually("and is applied", c.has("interface", "eth3"))
	c.editConfig(func(f *operatorv1.FlannelConfig) { f.Interface = "eth4" })
	r.http.settled(t)
	writes := r.http.writeCount()
	c.consistently("nothing flaps", time.Second, func() bool { return c.network().Spec.DefaultNetwork.FlannelConfig.Interface == "eth3" })
	if more := r.http.writeCount() - writes; more > 0 {
		t.Errorf("%d writes while the two differ", more)
	}
	c.edit(func(f *operatorv1.FlannelConfig) { f.Interface = "eth4" })
	c.eventually("the same again, they are in sync", c.synced(osv1.ConditionTrue, "AsExpected"))
}

func TestDeletingAppliedDefaultForcesAChangeOfTheNetworkConfig(t *testing.T) {
	c := newCluster(t, apitest.Options{})
	c.create(newConfig())
	c.start()
	c.eventually("its record exists", func() bool { return c.configMap(operatorNamespace, "applied-default")["applied"] != "" })
	c.eventually("and is claimed", c.claimed)
	c.editConfig(func(f *operatorv1.FlannelConfig) { f.Backend = operatorv1.FlannelBackendVXLAN })
	c.eventually("an unsafe change is refused", c.is("Degraded", osv1.ConditionTrue, "InvalidOperatorConfig"))
	if err := c.Client.Delete(t.Context(), &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: operatorNamespace, Name: "applied-default"}}); err != nil {
		t.Fatal(err)
	}
	c.eventually("it is forced", c.has("backend", "vxlan"))
	c.eventually("and the record is back", func() bool { return c.configMap(operatorNamespace, "applied-default")["applied"] != "" })

	c.eventually("and is claimed", c.claimed)
	if err := c.Client.Delete(t.Context(), newConfig()); err != nil {
		t.Fatal(err)
	}
	c.eventually("without the NetworkConfig it is deleted", func() bool { return c.configMap(operatorNamespace, "applied-default") == nil })
	c.consistently("and the network stays", 300*time.Millisecond, func() bool { return c.recorded() && c.has("backend", "vxlan")() })
}

// claimed reports whether the record belongs to the NetworkConfig.
func (c *cluster) claimed() bool {
	var cm corev1.ConfigMap
	return c.Client.Get(c.t.Context(), client.ObjectKey{Namespace: operatorNamespace, Name: "applied-cluster"}, &cm) == nil && len(cm.Annotations) > 0
}
