package networkconfig

import (
	"fmt"
	"slices"
	"time"

	osv1 "github.com/openshift/api/operator/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	networkoperatorv1 "github.com/cluster-network-operator/cno/api/networkoperator/v1"
	operatorv1 "github.com/cluster-network-operator/cno/api/operator/v1"
	"github.com/cluster-network-operator/cno/internal/phrase"
	"github.com/cluster-network-operator/cno/internal/status"
)

// ConditionSynced is the type of the condition that Network/cluster matches NetworkConfig/default.
const ConditionSynced = "Synced"

// The reasons of the condition Synced.
const (
	// ReasonAsExpected is the reason of Synced=True.
	ReasonAsExpected = "AsExpected"
	// ReasonInvalid means that the NetworkConfig cannot be converted.
	ReasonInvalid = "InvalidNetworkConfig"
	// ReasonNoNetwork means that there is no Network yet.
	ReasonNoNetwork = "NetworkMissing"
	// ReasonDiffers means that the Network differs, and takes precedence.
	ReasonDiffers = "NetworkDiffers"
	// ReasonNotObserved is the reason of Ready=False while the Network's status belongs to an older generation.
	ReasonNotObserved = "NotObserved"
)

// The conditions that kstatus defines, which kubectl wait, Helm, Argo CD and Flux use.
const (
	ready       = "Ready"
	reconciling = "Reconciling"
	stalled     = "Stalled"
)

// maxNamed is the maximum number of differing fields that the message of the condition names.
const maxNamed = 8

// Synced returns the condition Synced without a time of transition. errs are those of Convert, network is
// Network/cluster or nil, and differences are those between it and the converted specification.
func Synced(errs field.ErrorList, network *operatorv1.Network, differences []string) osv1.OperatorCondition {
	condition := osv1.OperatorCondition{Type: ConditionSynced, Status: osv1.ConditionFalse}
	switch {
	case len(errs) > 0:
		condition.Reason = ReasonInvalid
		condition.Message = fmt.Sprintf("The configuration is invalid: %v. Use 'kubectl edit networkconfig %s' to fix it; until then the last valid one stays active",
			errs.ToAggregate(), networkoperatorv1.NetworkConfigName)
	case network == nil:
		condition.Reason = ReasonNoNetwork
		condition.Message = "The object Network.operator.openshift.io/cluster does not exist yet"
	case len(differences) > 0:
		condition.Reason = ReasonDiffers
		condition.Message = fmt.Sprintf("Network.operator.openshift.io/cluster differs in %s; it takes precedence over this object. Make both the same, or delete this one",
			phrase.Names(differences, maxNamed))
	default:
		condition.Status = osv1.ConditionTrue
		condition.Reason = ReasonAsExpected
		condition.Message = "Network.operator.openshift.io/cluster has the same values"
	}
	return condition
}

// Status returns the status of a NetworkConfig: the conditions and the version of the Network, which may be nil, and the
// condition Synced, whose time of transition is now if its status has changed. It does not change its arguments.
func Status(config *networkoperatorv1.NetworkConfig, network *operatorv1.Network, synced osv1.OperatorCondition, now time.Time) networkoperatorv1.NetworkConfigStatus {
	out := networkoperatorv1.NetworkConfigStatus{ObservedGeneration: config.Generation}
	if network != nil {
		out.Version = network.Status.Version
		for _, condition := range network.Status.Conditions {
			if condition.Type != ConditionSynced {
				out.Conditions = append(out.Conditions, condition)
			}
		}
	}
	for _, own := range append(pending(network, synced), synced) {
		own.LastTransitionTime = metav1.NewTime(now)
		for _, condition := range config.Status.Conditions {
			if condition.Type == own.Type && condition.Status == own.Status {
				own.LastTransitionTime = condition.LastTransitionTime
			}
		}
		out.Conditions = slices.DeleteFunc(out.Conditions, func(c osv1.OperatorCondition) bool { return c.Type == own.Type })
		out.Conditions = append(out.Conditions, own)
	}
	return out
}

// pending returns the conditions of kstatus if those of the Network do not apply: the Network does not match the
// NetworkConfig, or its status belongs to an older generation. It returns nil otherwise.
func pending(network *operatorv1.Network, synced osv1.OperatorCondition) []osv1.OperatorCondition {
	of := func(conditionType string, is bool, c osv1.OperatorCondition) osv1.OperatorCondition {
		c.Type, c.Status = conditionType, osv1.ConditionFalse
		if is {
			c.Status = osv1.ConditionTrue
		} else if conditionType != ready {
			c.Reason, c.Message = ReasonAsExpected, status.Expected(conditionType)
		}
		return c
	}
	why := synced
	switch {
	case synced.Status == osv1.ConditionFalse:
	case network != nil && network.Generation != network.Status.ObservedGeneration:
		why = osv1.OperatorCondition{Reason: ReasonNotObserved, Message: "The status of Network.operator.openshift.io/cluster does not speak of its present specification yet"}
	default:
		return nil
	}
	moving := why.Reason == ReasonNoNetwork || why.Reason == ReasonNotObserved
	return []osv1.OperatorCondition{of(ready, false, why), of(reconciling, moving, why), of(stalled, !moving, why)}
}
