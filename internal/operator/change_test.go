package operator

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"strings"
	"testing"

	osv1 "github.com/openshift/api/operator/v1"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	operatorv1 "github.com/cluster-network-operator/cno/api/operator/v1"
	"github.com/cluster-network-operator/cno/internal/apitest"
	"github.com/cluster-network-operator/cno/internal/facts"
	"github.com/cluster-network-operator/cno/internal/networks"
	"github.com/cluster-network-operator/cno/internal/pipeline"
)

// damage deletes one object of the network and edits another.
func (c *cluster) damage() {
	c.t.Helper()
	gone := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: fakeNamespace, Name: "config-1"}}
	if err := c.Client.Delete(c.t.Context(), gone); err != nil {
		c.t.Fatal(err)
	}
	edited := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: fakeNamespace, Name: "config-2"}}
	if err := c.Client.Patch(c.t.Context(), edited, client.RawPatch("application/merge-patch+json", []byte(`{"data":{"backend":"edited"}}`))); err != nil {
		c.t.Fatal(err)
	}
}

// image returns the image of the fake's DaemonSet.
func (c *cluster) image() string {
	var d appsv1.DaemonSet
	if c.Client.Get(context.Background(), client.ObjectKey{Namespace: fakeNamespace, Name: fakeAgent}, &d) != nil {
		return ""
	}
	return d.Spec.Template.Spec.Containers[0].Image
}

// history returns the revisions that are kept.
func (c *cluster) history() []map[string]any {
	var revisions []map[string]any
	_ = json.Unmarshal([]byte(c.configMap(operatorNamespace, "applied-history")["revisions"]), &revisions)
	return revisions
}

func TestEditIsAppliedAndDeletedRecordForcesAnUnsafeOne(t *testing.T) {
	c := newCluster(t, apitest.Options{})
	c.create(newNetwork())
	c.start()
	c.eventually("the network is recorded", c.recorded)

	c.edit(func(f *operatorv1.FlannelConfig) { f.Interface = "eth1" })
	c.eventually("a safe edit is applied", c.has("interface", "eth1"))
	c.eventually("and its own revision", func() bool { return len(c.history()) == 2 })

	c.edit(func(f *operatorv1.FlannelConfig) { f.Backend = operatorv1.FlannelBackendVXLAN })
	c.eventually("an unsafe one is refused", c.is("Degraded", osv1.ConditionTrue, "InvalidOperatorConfig"))
	record := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: operatorNamespace, Name: "applied-cluster"}}
	if err := c.Client.Delete(t.Context(), record); err != nil {
		t.Fatal(err)
	}
	c.eventually("deleting the record forces it", c.has("backend", "vxlan"))
	c.eventually("and the history records it", func() bool { h := c.history(); return len(h) == 3 && h[2]["forced"] == true })
	c.eventually("and there is no error any more", c.is("Degraded", osv1.ConditionFalse, "AsExpected"))
}

func TestCorruptRecordIsAConditionAndNeverAFreshInstall(t *testing.T) {
	c := newCluster(t, apitest.Options{})
	c.create(newNetwork())
	r := c.start()
	c.eventually("the network is recorded", c.recorded)
	c.rolledOut(1)
	c.eventually("the network is available", c.is("Available", osv1.ConditionTrue, ""))
	r.stop()

	record := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: operatorNamespace, Name: "applied-cluster"}}
	good := c.configMap(operatorNamespace, "applied-cluster")["applied"]
	if err := c.Client.Patch(t.Context(), record, client.RawPatch("application/merge-patch+json", []byte(`{"data":{"applied":"{\"clusterNetwork\":"}}`))); err != nil {
		t.Fatal(err)
	}
	c.edit(func(f *operatorv1.FlannelConfig) { f.Backend = operatorv1.FlannelBackendVXLAN })
	c.start()
	c.eventually("it is reported", c.is("Degraded", osv1.ConditionTrue, "CorruptAppliedConfig"))
	if !c.has("backend", "host-gw")() {
		t.Error("something was applied")
	}
	if !c.is("Available", osv1.ConditionTrue, "")() {
		t.Errorf("the network is reported as down: %+v", c.condition("Available"))
	}
	c.damage()
	c.eventually("drift is repaired from the history", c.has("backend", "host-gw"))
	if !c.is("Degraded", osv1.ConditionTrue, "CorruptAppliedConfig")() {
		t.Errorf("the damaged record is no longer reported: %+v", c.condition("Degraded"))
	}
	if c.configMap(operatorNamespace, "applied-cluster")["applied"] == good {
		t.Error("the damaged record was overwritten")
	}

	content, err := json.Marshal(map[string]any{"data": map[string]string{"applied": good}})
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Client.Patch(t.Context(), record, client.RawPatch("application/merge-patch+json", content)); err != nil {
		t.Fatal(err)
	}
	c.eventually("restored, the record does its work again", c.is("Degraded", osv1.ConditionTrue, "InvalidOperatorConfig"))
}

// TestLostRecordAndInventoryAreNoFreshInstall deletes the state of the operator while an unsafe edit is
// refused, which stays refused as long as the history exists, and is forced and marked without it.
func TestLostRecordAndInventoryAreNoFreshInstall(t *testing.T) {
	c := newCluster(t, apitest.Options{})
	c.create(newNetwork())
	r := c.start()
	c.eventually("the network is recorded", c.recorded)
	c.edit(func(f *operatorv1.FlannelConfig) { f.Backend = operatorv1.FlannelBackendVXLAN })
	c.eventually("an unsafe edit is refused", c.is("Degraded", osv1.ConditionTrue, "InvalidOperatorConfig"))
	r.stop()

	lose := func(names ...string) {
		for _, name := range names {
			if err := c.Client.Delete(t.Context(), &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: operatorNamespace, Name: name}}); err != nil {
				t.Fatal(err)
			}
		}
	}
	lose("applied-cluster", "network-inventory")
	r = c.start()
	c.eventually("the record is restored", c.recorded)
	c.damage()
	c.eventually("and what was applied is repaired", c.has("backend", "host-gw"))
	if h := c.history(); len(h) != 1 || h[0]["forced"] == true {
		t.Errorf("the history is %v", h)
	}
	if !c.is("Degraded", osv1.ConditionTrue, "InvalidOperatorConfig")() {
		t.Errorf("the edit is not refused: %+v", c.condition("Degraded"))
	}
	r.stop()

	lose("applied-cluster", "network-inventory", "applied-history")
	c.start()
	c.eventually("without any record the edit is applied", c.has("backend", "vxlan"))
	c.eventually("and marked as forced", func() bool { h := c.history(); return len(h) == 1 && h[0]["forced"] == true })
}

func TestDeletedNetworkObjectChangesNothing(t *testing.T) {
	c := newCluster(t, apitest.Options{})
	c.create(newNetwork())
	r := c.start()
	c.eventually("the network is recorded", c.recorded)
	if err := c.Client.Delete(t.Context(), newNetwork()); err != nil {
		t.Fatal(err)
	}
	before := len(r.http.snapshot())
	c.consistently("the DaemonSet is there", 500*1e6, func() bool { return c.image() != "" })
	for _, request := range r.http.snapshot()[before:] {
		// The objects of components and of nodes are deleted with the Network, if they exist already.
		expected := strings.Contains(request, "/events") || strings.Contains(request, "/operator-status") || strings.Contains(request, "/networkcomponents") ||
			strings.Contains(request, "/networknodes")
		if !strings.HasPrefix(request, http.MethodGet+" ") && !expected {
			t.Errorf("after the network was deleted: %s", request)
		}
	}
	c.create(newNetwork(func(s *operatorv1.NetworkSpec) { s.ClusterNetwork[0].CIDR = "10.0.0.0/14" }))
	c.eventually("what is applied still counts", c.is("Degraded", osv1.ConditionTrue, "InvalidOperatorConfig"))
}

func TestPausedNetworkIsNotChangedUntilResumed(t *testing.T) {
	c := newCluster(t, apitest.Options{})
	c.create(newNetwork())
	c.start()
	c.eventually("the network is recorded", c.recorded)
	c.annotate(pipeline.PausedAnnotation, "true")
	c.eventually("it is noticed", c.is("Upgradeable", osv1.ConditionFalse, "Paused"))
	c.edit(func(f *operatorv1.FlannelConfig) { f.Interface = "eth1" })
	c.damage()
	c.consistently("damage stays", 500*1e6, func() bool { return c.configMap(fakeNamespace, "config-1") == nil })
	c.annotate(pipeline.PausedAnnotation, "")
	c.eventually("resumed, the edit is applied and the damage repaired", c.has("interface", "eth1"))
}

// annotate sets an annotation of Network/cluster.
func (c *cluster) annotate(key, value string) {
	c.t.Helper()
	patch := fmt.Sprintf(`{"metadata":{"annotations":{%q:%q}}}`, key, value)
	n := &operatorv1.Network{ObjectMeta: metav1.ObjectMeta{Name: operatorv1.NetworkName}}
	if err := c.Client.Patch(c.t.Context(), n, client.RawPatch("application/merge-patch+json", []byte(patch))); err != nil {
		c.t.Fatal(err)
	}
}

func TestUnmanagedNetworkIsNotChanged(t *testing.T) {
	c := newCluster(t, apitest.Options{})
	c.create(newNetwork())
	c.start()
	c.eventually("the network is recorded", c.recorded)
	c.editSpec(func(s *operatorv1.NetworkSpec) { s.ManagementState = osv1.Unmanaged })
	c.eventually("it is noticed", c.is("Upgradeable", osv1.ConditionFalse, "Unmanaged"))
	c.damage()
	c.consistently("damage stays", 500*1e6, func() bool { return c.configMap(fakeNamespace, "config-1") == nil })
	c.editSpec(func(s *operatorv1.NetworkSpec) { s.ManagementState = osv1.Managed })
	c.eventually("managed again, it is repaired", c.has("backend", "host-gw"))
}

func TestAddingAMissingImageIsNotAnUpgrade(t *testing.T) {
	c := newCluster(t, apitest.Options{})
	c.createControlPlane()
	with := func(more facts.Images) setting {
		images := facts.Images{operatorImage: "o:v1", "FLANNEL_IMAGE": "f:v1", "ETCD_IMAGE": "e:v1"}
		maps.Copy(images, more)
		return func(o *Options) {
			o.Facts.APIServer, o.Facts.Images = facts.HostPort{Host: "192.0.2.10", Port: 6443}, images
		}
	}
	c.create(newNetwork())
	r := c.start(withRegistry(networks.Registry()), with(nil))
	c.eventually("the node is asked for its MTU", func() bool { return c.answerProbes(1450) == 1 })
	c.eventually("kube-proxy has no image", c.is("Degraded", osv1.ConditionTrue, "RenderError"))
	r.stop()
	c.start(withRegistry(networks.Registry()), with(facts.Images{operatorImage: "o:v1", "KUBE_PROXY_IMAGE": "k:v1"}))
	c.eventually("with the image it is installed", func() bool {
		return c.Client.Get(t.Context(), client.ObjectKey{Namespace: "openshift-kube-proxy", Name: "openshift-kube-proxy"}, &appsv1.DaemonSet{}) == nil
	})
	c.eventually("and that is all", func() bool { return !c.is("Degraded", osv1.ConditionTrue, "RenderError")() })
}
