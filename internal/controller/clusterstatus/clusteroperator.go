package clusterstatus

import (
	"context"
	"fmt"
	"slices"

	configv1 "github.com/openshift/api/config/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/cluster-network-operator/cno/internal/report"
	"github.com/cluster-network-operator/cno/internal/status"
)

// clusterOperatorName is the name under which OpenShift knows the operator of the network.
const clusterOperatorName = "network"

// publishClusterOperator writes the ClusterOperator if it differs, and makes it if it is missing.
func (c *Controller) publishClusterOperator(ctx context.Context, d status.Decision, rollout report.Rollout) error {
	var current configv1.ClusterOperator
	err := c.Client.Get(ctx, client.ObjectKey{Name: clusterOperatorName}, &current)
	if client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("read cluster operator: %w", err)
	}
	if err != nil {
		current = configv1.ClusterOperator{ObjectMeta: metav1.ObjectMeta{Name: clusterOperatorName}}
		if err := c.Client.Create(ctx, &current, fieldManager); err != nil {
			return fmt.Errorf("create cluster operator: %w", err)
		}
	}
	wanted := clusterOperatorStatus(current.Status, d, rollout, c.Version)
	if equality.Semantic.DeepEqual(current.Status, wanted) {
		return nil
	}
	current.Status = wanted
	if err := c.Client.Status().Update(ctx, &current, fieldManager); err != nil {
		return fmt.Errorf("write cluster operator: %w", err)
	}
	return nil
}

// clusterOperatorStatus is the status for a decision. What is not the operator's stays, and so does the version
// until everything has the new one.
func clusterOperatorStatus(current configv1.ClusterOperatorStatus, d status.Decision, rollout report.Rollout, version string) configv1.ClusterOperatorStatus {
	wanted := *current.DeepCopy()
	for _, c := range d.Conditions {
		if !slices.Contains([]string{"Available", "Progressing", "Degraded", "Upgradeable"}, c.Type) {
			continue // components are those of the Network
		}
		condition := configv1.ClusterOperatorStatusCondition{
			Type: configv1.ClusterStatusConditionType(c.Type), Status: configv1.ConditionStatus(c.Status),
			LastTransitionTime: c.LastTransitionTime, Reason: c.Reason, Message: c.Message,
		}
		i := slices.IndexFunc(wanted.Conditions, func(o configv1.ClusterOperatorStatusCondition) bool { return o.Type == condition.Type })
		if i < 0 {
			wanted.Conditions = append(wanted.Conditions, condition)
			continue
		}
		if wanted.Conditions[i].Status == condition.Status {
			condition.LastTransitionTime = wanted.Conditions[i].LastTransitionTime
		}
		wanted.Conditions[i] = condition
	}
	if d.AtVersion {
		wanted.Versions = []configv1.OperandVersion{{Name: "operator", Version: version}}
	}
	wanted.RelatedObjects = nil
	for _, r := range rollout.Related {
		wanted.RelatedObjects = append(wanted.RelatedObjects, configv1.ObjectReference{Group: r.Group, Resource: r.Resource, Namespace: r.Namespace, Name: r.Name})
	}
	return wanted
}
