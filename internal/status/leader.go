package status

import (
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
)

// LeaseName is the Lease, in the operator's namespace, that the working replica of the operator holds. It is the one of
// OpenShift's operator, so that the two never work at the same time.
const LeaseName = "network-operator-lock"

// LeaseStale is how old the last renewal of the lease may be before published conditions count as unknown. The operator
// renews it every two seconds, and another replica takes over within 17 seconds.
const LeaseStale = time.Minute

// Renewed is when a lease was last written: the later of what its holder and what the API server say, so that a node with
// a slow clock does not make an operator that works look absent. It is the zero time for a lease that was never held.
func Renewed(l *coordinationv1.Lease) time.Time {
	var last time.Time
	if l.Spec.RenewTime != nil {
		last = l.Spec.RenewTime.Time
	}
	for _, m := range l.ManagedFields {
		if m.Time != nil && m.Time.After(last) {
			last = m.Time.Time
		}
	}
	return last
}
