package clusterstatus

import (
	"context"
	"fmt"

	osv1 "github.com/openshift/api/operator/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	operatorv1 "github.com/cluster-network-operator/cno/api/operator/v1"
	"github.com/cluster-network-operator/cno/internal/status"
)

// publishNetwork writes the status of Network/cluster if it differs. Conditions of other owners stay.
func (c *Controller) publishNetwork(ctx context.Context, network *operatorv1.Network, d status.Decision, generation int64) error {
	version := network.Status.Version
	if d.AtVersion {
		version = c.Version
	}
	if network.Status.Version == version && network.Status.ObservedGeneration == generation && same(network.Status.Conditions, d.Conditions) {
		return nil
	}
	u := &unstructured.Unstructured{}
	u.SetGroupVersionKind(operatorv1.GroupVersion.WithKind("Network"))
	u.SetName(network.Name)
	var list []any
	for i := range d.Conditions {
		one, err := runtime.DefaultUnstructuredConverter.ToUnstructured(&d.Conditions[i])
		if err != nil {
			return fmt.Errorf("encode condition: %w", err)
		}
		list = append(list, one)
	}
	status := map[string]any{"conditions": list, "observedGeneration": generation}
	if version != "" {
		status["version"] = version
	}
	u.Object["status"] = status
	err := c.Client.Status().Apply(ctx, client.ApplyConfigurationFromUnstructured(u), fieldManager, client.ForceOwnership)
	if client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("write status of network: %w", err)
	}
	c.logChanges(network.Status.Conditions, d.Conditions)
	return nil
}

// same reports whether the operator's published conditions equal the decided ones.
func same(published, decided []osv1.OperatorCondition) bool {
	left := map[string]osv1.OperatorCondition{}
	for _, p := range published {
		if status.IsManaged(p.Type) {
			left[p.Type] = p
		}
	}
	for _, d := range decided {
		p, exists := left[d.Type]
		if !exists || p.Status != d.Status || p.Reason != d.Reason || p.Message != d.Message || !p.LastTransitionTime.Equal(&d.LastTransitionTime) {
			return false
		}
		delete(left, d.Type)
	}
	return len(left) == 0
}

// logChanges logs conditions whose status has changed.
func (c *Controller) logChanges(before, after []osv1.OperatorCondition) {
	previous := map[string]osv1.ConditionStatus{}
	for _, b := range before {
		previous[b.Type] = b.Status
	}
	for _, a := range after {
		if previous[a.Type] != a.Status {
			c.Log.Info("condition changed", "type", a.Type, "status", string(a.Status), "reason", a.Reason, "message", a.Message)
		}
	}
}
