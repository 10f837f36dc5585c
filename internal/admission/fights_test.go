package admission

import (
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/cluster-network-operator/cno/internal/fight"
)

// eventOf is an event about an object of a kind in the namespace default, in the older API and in the one that agents use.
func eventOf(reason, kind string) []client.Object {
	meta := metav1.ObjectMeta{Namespace: metav1.NamespaceDefault, Name: "fight"}
	about := corev1.ObjectReference{APIVersion: "v1", Kind: kind, Name: "n"}
	if kind != "Node" {
		about.Namespace = metav1.NamespaceDefault
	}
	return []client.Object{
		&corev1.Event{ObjectMeta: meta, Reason: reason, InvolvedObject: about, Type: corev1.EventTypeWarning},
		&eventsv1.Event{ObjectMeta: meta, Reason: reason, Regarding: about, Type: corev1.EventTypeWarning, EventTime: metav1.NewMicroTime(time.Now()),
			Action: "Restore", Note: "n", ReportingController: "sdn", ReportingInstance: "sdn-n"},
	}
}

// TestOnlyAgentsReportFights: an account that may write in the namespace default cannot degrade the network.
func TestOnlyAgentsReportFights(t *testing.T) {
	d := newServer(t, inUse())
	for _, row := range []struct {
		why, user, reason, kind string
		refused                 bool
	}{
		{"a tenant, or an administrator, makes one up", "", fight.Reason, "Node", true},
		{"an agent of another network's namespace", "system:serviceaccount:openshift-sdn:sdn-controller", fight.Reason, "Node", true},
		{"the agent of OpenShiftSDN", "system:serviceaccount:openshift-sdn:sdn", fight.Reason, "Node", false},
		{"the agent of OVNKubernetes", "system:serviceaccount:openshift-ovn-kubernetes:ovn-kubernetes-node", fight.Reason, "Node", false},
		{"about something else", "", fight.Reason, "ConfigMap", false},
		{"with another reason", "", "Rebooted", "Node", false},
	} {
		c := d.Client
		if row.user != "" {
			var err error
			if c, err = d.ClientFor(d.User(t, row.user, "system:masters")); err != nil {
				t.Fatal(err)
			}
		}
		for _, event := range eventOf(row.reason, row.kind) {
			err := c.Create(t.Context(), event, client.DryRunAll)
			if refused := err != nil && strings.Contains(err.Error(), "fights-of-agents"); refused != row.refused || err != nil && !refused {
				t.Errorf("%s, %T: %v", row.why, event, err)
			}
		}
	}
	// An event that exists does not become one.
	event := eventOf("Rebooted", "Node")[0].(*corev1.Event)
	d.Create(t, event)
	event.Reason = fight.Reason
	if err := d.Client.Update(t.Context(), event, client.DryRunAll); err == nil || !strings.Contains(err.Error(), "fights-of-agents") {
		t.Errorf("an event is changed into one about a fight: %v", err)
	}
}
