package clusterstatus

import (
	"context"
	"fmt"
	"maps"
	"slices"

	configv1 "github.com/openshift/api/config/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/manager"

	operatorv1 "github.com/cluster-network-operator/cno/api/operator/v1"
	"github.com/cluster-network-operator/cno/internal/loop"
	"github.com/cluster-network-operator/cno/internal/report"
	"github.com/cluster-network-operator/cno/internal/status"
)

// clusterOperatorName is the name of the ClusterOperator of the network.
const clusterOperatorName = "network"

// OperandVersion is the name of the version that OpenShift waits for during an upgrade.
const OperandVersion = "operator"

// ClusterOperatorName is the name of the part of the controller that publishes the ClusterOperator.
const ClusterOperatorName = Name + "/clusteroperator"

// ownsClusterOperator selects the ClusterOperator for the controller's own cache.
func ownsClusterOperator() map[client.Object]cache.ByObject {
	return map[client.Object]cache.ByObject{&configv1.ClusterOperator{}: {Field: fields.OneTermEqualSelector("metadata.name", clusterOperatorName)}}
}

// setupClusterOperator enables and watches the ClusterOperator.
func (c *Controller) setupClusterOperator(mgr manager.Manager) error {
	cached := mgr.GetClient()
	c.kindServed.Fire()
	return loop.Forward(mgr, ClusterOperatorName, []func(){func() { c.operators.Store(&cached) }, c.Wake.Fire},
		c.kindServed.Source(), loop.On(mgr, &configv1.ClusterOperator{}, c.kindServed.Handler()))
}

// publishClusterOperator creates the ClusterOperator if it is missing, and updates its status if it differs. It does nothing if the kind is
// not available.
func (c *Controller) publishClusterOperator(ctx context.Context, d status.Decision, rollout report.Rollout) error {
	cached := c.operators.Load()
	if cached == nil {
		return nil
	}
	operators := *cached
	var current configv1.ClusterOperator
	err := operators.Get(ctx, client.ObjectKey{Name: clusterOperatorName}, &current)
	if client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("read cluster operator: %w", err)
	}
	if err != nil {
		current = configv1.ClusterOperator{ObjectMeta: metav1.ObjectMeta{Name: clusterOperatorName}}
		if err := operators.Create(ctx, &current, fieldManager); err != nil {
			if notServed(err) {
				return nil
			}
			return fmt.Errorf("create cluster operator: %w", err)
		}
	}
	desired := clusterOperatorStatus(current.Status, d, c.Version)
	desired.RelatedObjects = relatedObjects(current.Status.RelatedObjects, rollout.Related, c.Namespace)
	if equality.Semantic.DeepEqual(current.Status, desired) {
		return nil
	}
	current.Status = desired
	// Its deletion starts another reconcile.
	if err := operators.Status().Update(ctx, &current, fieldManager); client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("write cluster operator: %w", err)
	}
	return nil
}

// notServed reports whether an error means that the API server does not serve a kind.
func notServed(err error) bool { return meta.IsNoMatchError(err) || apierrors.IsNotFound(err) }

// clusterOperatorStatus returns the status for a decision. Conditions of other owners stay, and the version stays until all components have
// the new one.
func clusterOperatorStatus(current configv1.ClusterOperatorStatus, d status.Decision, version string) configv1.ClusterOperatorStatus {
	desired := *current.DeepCopy()
	for _, c := range d.Operator {
		condition := configv1.ClusterOperatorStatusCondition{
			Type: configv1.ClusterStatusConditionType(c.Type), Status: configv1.ConditionStatus(c.Status),
			LastTransitionTime: c.LastTransitionTime, Reason: c.Reason, Message: c.Message,
		}
		i := slices.IndexFunc(desired.Conditions, func(o configv1.ClusterOperatorStatusCondition) bool { return o.Type == condition.Type })
		if i < 0 {
			desired.Conditions = append(desired.Conditions, condition)
			continue
		}
		if desired.Conditions[i].Status == condition.Status {
			condition.LastTransitionTime = desired.Conditions[i].LastTransitionTime
		}
		desired.Conditions[i] = condition
	}
	if d.AtVersion {
		desired.Versions = []configv1.OperandVersion{{Name: OperandVersion, Version: version}}
		for _, component := range slices.Sorted(maps.Keys(d.Versions)) {
			desired.Versions = append(desired.Versions, configv1.OperandVersion{Name: component, Version: d.Versions[component]})
		}
	}
	return desired
}

// relatedObjects returns the objects for support tools: the rendered ones, the previous ones if there are none, or at least those of the
// operator.
func relatedObjects(current []configv1.ObjectReference, rendered []report.Reference, namespace string) []configv1.ObjectReference {
	switch {
	case len(rendered) == 0 && len(current) > 0:
		return current
	case len(rendered) == 0:
		rendered = []report.Reference{{Resource: "namespaces", Name: namespace}, {Group: operatorv1.GroupVersion.Group, Resource: "networks", Name: operatorv1.NetworkName}}
	}
	var references []configv1.ObjectReference
	for _, r := range rendered {
		references = append(references, configv1.ObjectReference{Group: r.Group, Resource: r.Resource, Namespace: r.Namespace, Name: r.Name})
	}
	return references
}
