package status

import (
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
)

// LeaseName is the name of the Lease for leader election in the operator's namespace. OpenShift's operator uses the same
// one, so that the two are never active at the same time.
const LeaseName = "network-operator-lock"

// LeaseStale is the age of the last renewal of the lease at which published conditions count as unknown. The operator
// renews it every two seconds, and another replica takes over within 17 seconds.
const LeaseStale = time.Minute

// Renewed returns the time at which a lease was last renewed: the later of the times of its holder and of the API server, so
// that a holder with a slow clock does not look inactive. It returns the zero time for a lease that was never held.
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
