package operator

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	configv1 "github.com/openshift/api/config/v1"
	osv1 "github.com/openshift/api/operator/v1"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	operatorv1 "github.com/cluster-network-operator/cno/api/operator/v1"
	"github.com/cluster-network-operator/cno/internal/apitest"
	"github.com/cluster-network-operator/cno/internal/status"
)

// hasCondition returns whether a condition of the ClusterOperator has a status and a reason.
func (c *cluster) hasCondition(name, value, reason string) func() bool {
	return func() bool {
		for _, have := range c.clusterOperator().Status.Conditions {
			if string(have.Type) == name {
				return string(have.Status) == value && have.Reason == reason
			}
		}
		return false
	}
}

// memory returns what the operator remembers.
func (c *cluster) memory() status.Memory {
	c.t.Helper()
	m, err := status.DecodeMemory(c.configMap(operatorNamespace, status.ConfigMapName)["memory"])
	if err != nil {
		c.t.Fatal(err)
	}
	return m
}

// remember changes the recorded state of the operator, as if time had passed.
func (c *cluster) remember(change func(*status.Memory)) {
	c.t.Helper()
	m := c.memory()
	change(&m)
	text, err := m.Encode()
	if err != nil {
		c.t.Fatal(err)
	}
	patch, err := json.Marshal(map[string]any{"data": map[string]string{"memory": text}})
	if err != nil {
		c.t.Fatal(err)
	}
	cm := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: operatorNamespace, Name: status.ConfigMapName}}
	if err := c.Client.Patch(c.t.Context(), cm, client.RawPatch("application/merge-patch+json", patch)); err != nil {
		c.t.Fatal(err)
	}
}

// eventReasons returns the reasons of the events about the network.
func (c *cluster) eventReasons() string {
	var list eventsv1.EventList
	if err := c.Client.List(c.t.Context(), &list); err != nil {
		c.t.Fatal(err)
	}
	var reasons []string
	for _, e := range list.Items {
		if e.Regarding.Kind == "Network" {
			reasons = append(reasons, e.Reason)
		}
	}
	return strings.Join(reasons, " ")
}

func TestClusterOperatorIsRecreatedAndWorksWithoutANetwork(t *testing.T) {
	c := newCluster(t, apitest.Options{})
	c.create(clusterOperators())
	c.start()
	c.eventually("a missing network is reported", c.hasCondition("Degraded", "True", "NoOperConfig"))
	if got := c.clusterOperator().Status.RelatedObjects; len(got) != 2 || got[0].Name != operatorNamespace {
		t.Errorf("relatedObjects has %v", got)
	}
	c.create(newNetwork())
	c.rolledOut(1)
	c.eventually("with one, all is well", c.hasCondition("Available", "True", "AsExpected"))
	c.eventually("and nothing is degraded", c.hasCondition("Degraded", "False", "AsExpected"))

	operator := c.clusterOperator()
	if err := c.Client.Delete(t.Context(), &configv1.ClusterOperator{ObjectMeta: operator.ObjectMeta}); err != nil {
		t.Fatal(err)
	}
	c.eventually("a deleted ClusterOperator is recreated", func() bool {
		again := c.clusterOperator()
		return again.UID != "" && again.UID != operator.UID && c.hasCondition("Available", "True", "AsExpected")()
	})

	if err := c.Client.Delete(t.Context(), newNetwork()); err != nil {
		t.Fatal(err)
	}
	c.eventually("a deleted network is reported", c.hasCondition("Degraded", "True", "NoOperConfig"))
	if !c.hasCondition("Available", "True", "AsExpected")() {
		t.Error("the network still works, and is reported as unavailable")
	}
	network := newNetwork()
	c.create(network)
	c.consistently("a network that works does not start up when its object is created again", 2*time.Second, func() bool {
		return c.condition("Available").Reason != "Startup"
	})
	c.eventually("it is available", c.is("Available", osv1.ConditionTrue, "AsExpected"))
}

func TestMemoryOfTheStatusSurvivesTheOperator(t *testing.T) {
	c := newCluster(t, apitest.Options{})
	c.create(newNetwork())
	r := c.start()
	c.rolledOut(1)
	c.eventually("the network is available", c.is("Ready", osv1.ConditionTrue, "AsExpected"))
	c.eventually("that is remembered", func() bool { return len(c.memory().Installed) > 0 })
	cm := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: operatorNamespace, Name: status.ConfigMapName}}
	if err := c.Client.Delete(t.Context(), cm); err != nil {
		t.Fatal(err)
	}
	c.eventually("also if a user deletes it", func() bool { return len(c.memory().Installed) > 0 })
	r.stop()

	agent := "DaemonSet/" + fakeNamespace + "/" + fakeAgent
	c.remember(func(m *status.Memory) {
		m.Rollouts[agent] = status.Rollout{Settled: "before", Revision: m.Rollouts[agent].Settled, Since: time.Now().Add(-time.Hour)}
	})
	c.daemonSet(func(d *appsv1.DaemonSet) { d.Status.UpdatedNumberScheduled = 0 })
	c.start()
	c.eventually("a rollout that was started long ago is stalled", c.is("Degraded", osv1.ConditionTrue, "RolloutHung"))
	c.eventually("and is marked", func() bool {
		_, marked := c.daemonSet(nil).Annotations[status.AnnotationHung]
		return marked
	})
	if got := c.condition("Upgradeable"); got.Status != osv1.ConditionFalse || got.Reason != "RolloutHung" {
		t.Errorf("upgradeable: %+v", got)
	}
	c.eventually("an event reports it", func() bool { return strings.Contains(c.eventReasons(), "RolloutHung") })
	c.rolledOut(1)
	c.eventually("when it gets further, it does not", c.is("Degraded", osv1.ConditionFalse, "AsExpected"))
	c.eventually("nor is it marked", func() bool {
		_, marked := c.daemonSet(nil).Annotations[status.AnnotationHung]
		return !marked
	})
	c.eventually("an event reports the end", func() bool { return strings.Contains(c.eventReasons(), "RolloutFinished") })
}

// daemonSet returns the DaemonSet of the fake, with its status changed if that is asked for.
func (c *cluster) daemonSet(change func(*appsv1.DaemonSet)) *appsv1.DaemonSet {
	c.t.Helper()
	var d appsv1.DaemonSet
	if err := c.Client.Get(c.t.Context(), client.ObjectKey{Namespace: fakeNamespace, Name: fakeAgent}, &d); err != nil {
		c.t.Fatal(err)
	}
	if change != nil {
		apitest.ChangeStatus(c.t, c.Client, &d, func() { change(&d) })
	}
	return &d
}

func TestEventsHaveTheReasonWhyPodsAreRefused(t *testing.T) {
	c := newCluster(t, apitest.Options{})
	c.create(newNetwork())
	c.start()
	c.rolledOut(1)
	c.eventually("the network is available", c.is("Available", osv1.ConditionTrue, "AsExpected"))
	d := c.daemonSet(nil)
	c.create(&corev1.Event{
		ObjectMeta: metav1.ObjectMeta{Namespace: fakeNamespace, Name: "refused"}, Type: corev1.EventTypeWarning, Reason: "FailedCreate",
		InvolvedObject: corev1.ObjectReference{Kind: "DaemonSet", Namespace: fakeNamespace, Name: fakeAgent, UID: d.UID},
		Message:        `Error creating: pods "fake-agent-" is forbidden: exceeded quota`, LastTimestamp: metav1.NewTime(time.Now().Add(time.Minute)),
	})
	// The new form of the DaemonSet has no pod.
	c.edit(func(f *operatorv1.FlannelConfig) { f.Interface = "eth7" })
	before := d.Generation
	c.eventually("the edit is applied to the DaemonSet", func() bool { return c.daemonSet(nil).Generation > before })
	c.daemonSet(func(d *appsv1.DaemonSet) {
		d.Status = appsv1.DaemonSetStatus{ObservedGeneration: d.Generation, DesiredNumberScheduled: 2, CurrentNumberScheduled: 1, UpdatedNumberScheduled: 1, NumberAvailable: 1}
	})
	c.eventually("the condition names what the DaemonSet waits for", func() bool {
		return strings.Contains(c.condition("Progressing").Message, `pods "fake-agent-" is forbidden: exceeded quota`)
	})
	c.eventually("and it is remembered since when", func() bool {
		_, since := c.memory().Seen["Degraded/Flannel/DaemonSet/"+fakeNamespace+"/"+fakeAgent]
		return since
	})
}
