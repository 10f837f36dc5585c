package operator

import (
	"strings"
	"testing"

	osv1 "github.com/openshift/api/operator/v1"
	appsv1 "k8s.io/api/apps/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	operatorv1 "github.com/cluster-network-operator/cno/api/operator/v1"
	"github.com/cluster-network-operator/cno/internal/apitest"
)

// ready makes the DaemonSet of the fake look as if the pods of its current revision ran on one node. It reports nothing: who
// waits for something calls it until that has come, since the operator widens the step of a rollout meanwhile.
func (c *cluster) ready() {
	var d appsv1.DaemonSet
	if c.Client.Get(c.t.Context(), client.ObjectKey{Namespace: fakeNamespace, Name: fakeAgent}, &d) != nil {
		return
	}
	d.Status = appsv1.DaemonSetStatus{ObservedGeneration: d.Generation, DesiredNumberScheduled: 1, CurrentNumberScheduled: 1,
		UpdatedNumberScheduled: 1, NumberAvailable: 1, NumberReady: 1}
	_ = c.Client.Status().Update(c.t.Context(), &d) // a conflict: the next look writes it
}

// waits reports whether a condition reports, among others, that one thing waits for another.
func (c *cluster) waits(reason, message string) func() bool {
	return func() bool {
		for _, name := range []string{"Progressing", "Upgradeable"} {
			got := c.condition(name)
			if !strings.Contains(got.Reason+" "+got.Message, reason) && !strings.Contains(got.Message, message) {
				return false
			}
		}
		return c.is("Progressing", osv1.ConditionTrue, "")() && c.is("Upgradeable", osv1.ConditionFalse, "")()
	}
}

// atRest is a cluster whose network runs in version v1, healthy.
func atRest(t *testing.T) (*cluster, *run) {
	t.Helper()
	c := newCluster(t, apitest.Options{})
	c.create(newNetwork())
	r := c.start()
	c.eventually("the network is recorded as healthy", func() bool {
		c.ready()
		return c.recorded() && c.is("Progressing", osv1.ConditionFalse, "")() && len(c.history()) == 1 && c.history()[0]["outcome"] == "healthy"
	})
	return c, r
}

func TestAnUpgradeWaitsUntilTheChangeBeforeItIsHealthy(t *testing.T) {
	c, r := atRest(t)
	c.edit(func(f *operatorv1.FlannelConfig) { f.Interface = "eth1" })
	c.eventually("the change is rolled out", c.has("interface", "eth1"))
	r.stop()
	c.start(withVersion("v2"))
	c.eventually("the upgrade reports what it waits for", c.waits("UpgradeWaitsForConfig", "version v2 waits until revision 2"))
	if got := c.image(); got != "agent:1" {
		t.Errorf("meanwhile the image is %s", got)
	}
	c.eventually("it continues once the change is healthy", func() bool { c.ready(); return c.image() == "agent:2" })
}

func TestAChangeWaitsUntilTheUpgradeBeforeItIsHealthy(t *testing.T) {
	c, r := atRest(t)
	r.stop()
	c.start(withVersion("v2"))
	c.eventually("the upgrade is rolled out", func() bool { return c.image() == "agent:2" })
	c.edit(func(f *operatorv1.FlannelConfig) { f.Interface = "eth1" })
	c.eventually("the change reports what it waits for", c.waits("ConfigWaitsForUpgrade", "waits until version v2"))
	if c.has("interface", "eth1")() {
		t.Error("the change is made meanwhile")
	}
	c.eventually("it continues once the upgrade is healthy", func() bool { c.ready(); return c.has("interface", "eth1")() })
}
