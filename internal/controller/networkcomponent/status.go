package networkcomponent

import (
	"strings"

	osv1 "github.com/openshift/api/operator/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	networkoperatorv1 "github.com/cluster-network-operator/cno/api/networkoperator/v1"
	"github.com/cluster-network-operator/cno/internal/status"
)

// statuses returns the status of each component, from the conditions of the network and the versions of components.
func statuses(conditions []osv1.OperatorCondition, versions map[string]string) []networkoperatorv1.NetworkComponentStatus {
	byType := map[string]osv1.OperatorCondition{}
	for _, c := range conditions {
		byType[c.Type] = c
	}
	var all []networkoperatorv1.NetworkComponentStatus
	for _, degraded := range conditions {
		component, ok := strings.CutSuffix(degraded.Type, networkoperatorv1.ComponentDegraded)
		if !ok || component == "" {
			continue
		}
		s := networkoperatorv1.NetworkComponentStatus{Component: component, Version: versions[component]}
		for _, suffix := range []string{networkoperatorv1.ComponentAvailable, networkoperatorv1.ComponentProgressing} {
			c, exists := byType[component+suffix]
			if !exists { // a component without workloads has these conditions only while they report something
				c = status.Normal(component + suffix)
				c.LastTransitionTime = degraded.LastTransitionTime
			}
			s.Conditions = append(s.Conditions, of(suffix, c))
		}
		s.Conditions = append(s.Conditions, of(networkoperatorv1.ComponentDegraded, degraded))
		s.Conditions = append(s.Conditions, ready(s.Conditions))
		all = append(all, s)
	}
	return all
}

// ready returns the condition Ready for the other conditions of a component, with the reason of the most severe one.
func ready(others []metav1.Condition) metav1.Condition {
	r := metav1.Condition{Type: networkoperatorv1.ComponentReady, Status: metav1.ConditionTrue, Reason: status.AsExpected, Message: "The component works and matches its specification"}
	for _, which := range []struct {
		name string
		bad  metav1.ConditionStatus
	}{
		{networkoperatorv1.ComponentProgressing, metav1.ConditionTrue}, {networkoperatorv1.ComponentDegraded, metav1.ConditionTrue}, {networkoperatorv1.ComponentAvailable, metav1.ConditionFalse},
	} {
		c := meta.FindStatusCondition(others, which.name)
		if c.Status == which.bad {
			r.Status, r.Reason, r.Message = metav1.ConditionFalse, c.Reason, c.Message
		}
		if r.LastTransitionTime.Before(&c.LastTransitionTime) {
			r.LastTransitionTime = c.LastTransitionTime
		}
	}
	return r
}

// of returns a condition of the network as that of a component.
func of(name string, c osv1.OperatorCondition) metav1.Condition {
	return metav1.Condition{Type: name, Status: metav1.ConditionStatus(c.Status), Reason: c.Reason, Message: c.Message, LastTransitionTime: c.LastTransitionTime}
}
