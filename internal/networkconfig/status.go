package networkconfig

import (
	"fmt"
	"slices"
	"strings"
	"time"

	osv1 "github.com/openshift/api/operator/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	networkoperatorv1 "github.com/cluster-network-operator/cno/api/networkoperator/v1"
	operatorv1 "github.com/cluster-network-operator/cno/api/operator/v1"
)

// ConditionSynced says whether Network/cluster is what NetworkConfig/default asks for.
const ConditionSynced = "Synced"

// The reasons of the condition Synced.
const (
	// ReasonAsExpected goes with True.
	ReasonAsExpected = "AsExpected"
	// ReasonInvalid means that the NetworkConfig cannot be converted.
	ReasonInvalid = "InvalidNetworkConfig"
	// ReasonNoNetwork means that there is no Network yet.
	ReasonNoNetwork = "NetworkMissing"
	// ReasonDiffers means that the Network says something else, and is followed.
	ReasonDiffers = "NetworkDiffers"
	// ReasonNotObserved is that of Ready=False while the Network's status speaks of an older specification.
	ReasonNotObserved = "NotObserved"
)

// The conditions that tools know that understand kstatus: kubectl wait, Helm, Argo CD and Flux.
const (
	ready       = "Ready"
	reconciling = "Reconciling"
	stalled     = "Stalled"
)

// maxNamed is how many differing fields the message of the condition names.
const maxNamed = 8

// Synced returns the condition of that name, without a time of transition. The errors are those of Convert, and
// the network is Network/cluster or nil. The differences are those between it and what was converted.
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
			enumerate(differences))
	default:
		condition.Status = osv1.ConditionTrue
		condition.Reason = ReasonAsExpected
	}
	return condition
}

// Status returns the status of a NetworkConfig: the conditions and the version of the Network, which may be nil,
// and the condition Synced, whose time of transition is now if its status has changed. The arguments are left as
// they are.
func Status(config *networkoperatorv1.NetworkConfig, network *operatorv1.Network, synced osv1.OperatorCondition, now time.Time) networkoperatorv1.NetworkConfigStatus {
	status := networkoperatorv1.NetworkConfigStatus{ObservedGeneration: config.Generation}
	if network != nil {
		status.Version = network.Status.Version
		for _, condition := range network.Status.Conditions {
			if condition.Type != ConditionSynced {
				status.Conditions = append(status.Conditions, condition)
			}
		}
	}
	for _, own := range append(standing(network, synced), synced) {
		own.LastTransitionTime = metav1.NewTime(now)
		for _, condition := range config.Status.Conditions {
			if condition.Type == own.Type && condition.Status == own.Status {
				own.LastTransitionTime = condition.LastTransitionTime
			}
		}
		status.Conditions = slices.DeleteFunc(status.Conditions, func(c osv1.OperatorCondition) bool { return c.Type == own.Type })
		status.Conditions = append(status.Conditions, own)
	}
	return status
}

// standing are the conditions that kstatus knows where they cannot be those of the Network: what the NetworkConfig asks for
// is not what the Network has, or the Network has been told and its status does not speak of that yet.
func standing(network *operatorv1.Network, synced osv1.OperatorCondition) []osv1.OperatorCondition {
	of := func(conditionType string, is bool, c osv1.OperatorCondition) osv1.OperatorCondition {
		c.Type, c.Status = conditionType, osv1.ConditionFalse
		if is {
			c.Status = osv1.ConditionTrue
		} else if conditionType != ready {
			c.Reason, c.Message = ReasonAsExpected, ""
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

// enumerate writes a list as a sentence has it, and leaves out what goes beyond maxNamed.
func enumerate(paths []string) string {
	if more := len(paths) - maxNamed; more > 0 {
		return fmt.Sprintf("%s and %d more fields", strings.Join(paths[:maxNamed], ", "), more)
	}
	if last := len(paths) - 1; last > 0 {
		return strings.Join(paths[:last], ", ") + " and " + paths[last]
	}
	return paths[0]
}
