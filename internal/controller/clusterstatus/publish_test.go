package clusterstatus

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	configv1 "github.com/openshift/api/config/v1"
	osv1 "github.com/openshift/api/operator/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/cluster-network-operator/cno/internal/report"
	"github.com/cluster-network-operator/cno/internal/status"
)

var early, late = metav1.NewTime(time.Unix(1000, 0)), metav1.NewTime(time.Unix(2000, 0))

func condition(name, value, reason string, at metav1.Time) osv1.OperatorCondition {
	return osv1.OperatorCondition{Type: name, Status: osv1.ConditionStatus(value), Reason: reason, LastTransitionTime: at}
}

func TestOnlyDifferencesInTheOperatorsConditionsCount(t *testing.T) {
	decided := []osv1.OperatorCondition{condition("Available", "True", "AsExpected", early), condition("FlannelDegraded", "False", "AsExpected", early)}
	for _, row := range []struct {
		why       string
		published []osv1.OperatorCondition
		same      bool
	}{
		{"in another order, beside a third party's", []osv1.OperatorCondition{decided[1], condition("Audited", "True", "X", late), decided[0]}, true},
		{"one is missing", decided[:1], false},
		{"a condition of a removed component is left", append([]osv1.OperatorCondition{condition("KubeProxyDegraded", "False", "AsExpected", early)}, decided...), false},
		{"another reason", []osv1.OperatorCondition{condition("Available", "True", "Other", early), decided[1]}, false},
		{"another time", []osv1.OperatorCondition{condition("Available", "True", "AsExpected", late), decided[1]}, false},
	} {
		if got := same(row.published, decided); got != row.same {
			t.Errorf("%s: same is %v", row.why, got)
		}
	}
}

func TestClusterOperatorKeepsConditionsOfOtherOwners(t *testing.T) {
	current := configv1.ClusterOperatorStatus{
		Conditions: []configv1.ClusterOperatorStatusCondition{
			{Type: "Available", Status: "True", Reason: "Old", LastTransitionTime: early}, {Type: "Managed", Status: "True", LastTransitionTime: early}},
		Versions: []configv1.OperandVersion{{Name: "operator", Version: "v1"}},
	}
	d := status.Decision{Operator: []osv1.OperatorCondition{condition("Available", "True", "AsExpected", late), condition("Degraded", "False", "AsExpected", late)}, Versions: map[string]string{"KubeProxy": "v2", "Flannel": "v2"}}
	got := clusterOperatorStatus(current, d, "v2")
	want := configv1.ClusterOperatorStatus{
		Conditions: []configv1.ClusterOperatorStatusCondition{
			{Type: "Available", Status: "True", Reason: "AsExpected", LastTransitionTime: early}, // it did not change
			{Type: "Managed", Status: "True", LastTransitionTime: early},
			{Type: "Degraded", Status: "False", Reason: "AsExpected", LastTransitionTime: late}},
		Versions: current.Versions, // not everything has the new version
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	d.AtVersion = true
	want.Versions = []configv1.OperandVersion{{Name: "operator", Version: "v2"}, {Name: "Flannel", Version: "v2"}, {Name: "KubeProxy", Version: "v2"}}
	if diff := cmp.Diff(want, clusterOperatorStatus(current, d, "v2")); diff != "" {
		t.Error(diff)
	}
}

// TestRelatedObjectsIncludeTheOperatorFromTheBeginning: must-gather needs them when an installation fails.
func TestRelatedObjectsIncludeTheOperatorFromTheBeginning(t *testing.T) {
	own := []configv1.ObjectReference{{Resource: "namespaces", Name: "n"}, {Group: "operator.openshift.io", Resource: "networks", Name: "cluster"}}
	rendered := []report.Reference{{Resource: "namespaces", Name: "flannel"}}
	if diff := cmp.Diff(own, relatedObjects(nil, nil, "n")); diff != "" {
		t.Error("before anything is rendered", diff)
	}
	flannel := []configv1.ObjectReference{{Resource: "namespaces", Name: "flannel"}}
	if diff := cmp.Diff(flannel, relatedObjects(own, rendered, "n")); diff != "" {
		t.Error("once it is", diff)
	}
	if diff := cmp.Diff(flannel, relatedObjects(flannel, nil, "n")); diff != "" {
		t.Error("after the network object was deleted", diff)
	}
}
