package operator

import (
	"strings"
	"testing"
	"time"

	osv1 "github.com/openshift/api/operator/v1"

	operatorv1 "github.com/cluster-network-operator/cno/api/operator/v1"
	"github.com/cluster-network-operator/cno/internal/apitest"
)

func TestNetworkIsInstalledReportedAndRecorded(t *testing.T) {
	c := newCluster(t, apitest.Options{})
	c.create(newNetwork())
	r := c.start()
	c.eventually("the network reports that it starts", c.is("Available", osv1.ConditionFalse, "Startup"))
	c.rolledOut(3)
	c.eventually("the network is available", c.is("Available", osv1.ConditionTrue, "AsExpected"))
	c.eventually("and settled", c.is("Progressing", osv1.ConditionFalse, "AsExpected"))
	if !c.recorded() {
		t.Errorf("record is %v", c.configMap(operatorNamespace, "applied-cluster"))
	}
	if n := c.network(); n.Status.Version != "v1" || n.Status.ObservedGeneration != n.Generation {
		t.Errorf("status is of version %q, generation %d", n.Status.Version, n.Status.ObservedGeneration)
	}

	r.http.settled(t)
	before := r.http.snapshot()
	time.Sleep(3 * time.Second)
	if after := r.http.snapshot(); len(after) > len(before) {
		t.Errorf("an idle cluster sees requests: %s", strings.Join(after[len(before):], "\n"))
	}

	r.stop()
	again := c.start()
	time.Sleep(3 * time.Second)
	again.http.settled(t)
	requests := again.http.snapshot()
	t.Logf("%d requests after a restart:\n%s", len(requests), strings.Join(requests, "\n"))
	if len(requests) > 30 || again.http.writeCount() > 0 {
		t.Errorf("a restart on a converged cluster makes %d requests, %d of them writes", len(requests), again.http.writeCount())
	}
}

func TestRefusedEditKeepsTheAppliedConfiguration(t *testing.T) {
	c := newCluster(t, apitest.Options{})
	c.create(newNetwork())
	r := c.start()
	c.rolledOut(1)
	c.eventually("the network is available", c.is("Available", osv1.ConditionTrue, ""))

	for _, wrong := range []struct {
		name, sentence string
		change         func(*operatorv1.FlannelConfig)
	}{
		{"unsafe", "Not applying unsafe configuration change: ", func(f *operatorv1.FlannelConfig) { f.Backend = operatorv1.FlannelBackendVXLAN }},
		{"invalid", "The operator configuration is invalid (", func(f *operatorv1.FlannelConfig) { f.Interface = "wrong" }},
	} {
		c.edit(wrong.change)
		c.eventually(wrong.name+" edit is reported", func() bool {
			have := c.condition("Degraded")
			return have.Status == osv1.ConditionTrue && have.Reason == "InvalidOperatorConfig" && strings.HasPrefix(have.Message, wrong.sentence)
		})
		if !c.is("Available", osv1.ConditionTrue, "")() || !c.is("Upgradeable", osv1.ConditionFalse, "InvalidOperatorConfig")() {
			t.Errorf("conditions: %+v", c.network().Status.Conditions)
		}
		c.damage()
		c.eventually("drift is repaired meanwhile", c.has("backend", "host-gw"))
	}
	r.stop()

	c.start(withVersion("v2"))
	c.eventually("a new version rolls out meanwhile", func() bool { return c.image() == "agent:2" })
	c.edit(func(f *operatorv1.FlannelConfig) { f.Interface, f.Backend = "", "" })
	c.eventually("the refusal ends with the edit", c.is("Degraded", osv1.ConditionFalse, "AsExpected"))
}
