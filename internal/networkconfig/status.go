package networkconfig

import (
	"fmt"
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
		condition.Message = fmt.Sprintf("The configuration is invalid: %v. Use 'kubectl edit networkconfig %s' to fix it; until then the last valid one stays in force",
			errs.ToAggregate(), networkoperatorv1.NetworkConfigName)
	case network == nil:
		condition.Reason = ReasonNoNetwork
		condition.Message = "The object Network.operator.openshift.io/cluster does not exist yet"
	case len(differences) > 0:
		condition.Reason = ReasonDiffers
		condition.Message = fmt.Sprintf("Network.operator.openshift.io/cluster says something else in %s; it is followed, and this object is not. Make both the same, or delete this one",
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
	synced.LastTransitionTime = metav1.NewTime(now)
	for _, condition := range config.Status.Conditions {
		if condition.Type == ConditionSynced && condition.Status == synced.Status {
			synced.LastTransitionTime = condition.LastTransitionTime
		}
	}
	status.Conditions = append(status.Conditions, synced)
	return status
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
