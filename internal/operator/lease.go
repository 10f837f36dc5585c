package operator

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/uuid"
	coordinationv1client "k8s.io/client-go/kubernetes/typed/coordination/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/leaderelection/resourcelock"

	"github.com/cluster-network-operator/cno/internal/status"
)

// leaseName is the name of the lease that the active replica holds.
const leaseName = status.LeaseName

// LeaseTiming has the duration of a lease, the time for which its holder tries to renew it before it stops, and the interval of
// these attempts. The zero value means the default timing. Duration is a whole number of seconds, and longer than RenewDeadline,
// which is longer than RetryPeriod.
//
// An operator that ends in order releases the lease immediately, and one that is restarted in its pod continues immediately. An
// unreachable replica is replaced after Duration and the next read of the lease, which is up to 2.2 times RetryPeriod later: 16.4
// seconds at most. Fewer renewals within that time would require a shorter RenewDeadline, and a short outage of the API server
// would end the operator.
type LeaseTiming struct {
	Duration, RenewDeadline, RetryPeriod time.Duration
}

// defaultLease is the default timing.
var defaultLease = LeaseTiming{Duration: leaseDuration, RenewDeadline: renewDeadline, RetryPeriod: retryPeriod}

const (
	leaseDuration = 12 * time.Second
	renewDeadline = 10 * time.Second
	retryPeriod   = 2 * time.Second
)

// orDefault returns the timing, or the default if it is the zero value.
func (t LeaseTiming) orDefault() LeaseTiming { return cmp.Or(t, defaultLease) }

// stale returns the age of the last renewal of the lease from which writes are refused. It is less than Duration: no other
// replica is active yet.
func (t LeaseTiming) stale() time.Duration { return t.Duration - t.RetryPeriod }

// lock returns the lease of this replica. It records no events, so that a restart in a converged cluster writes nothing else.
func (s *shared) lock(api *rest.Config) (resourcelock.Interface, error) {
	identity := s.Identity
	if identity == "" {
		host, err := os.Hostname()
		if err != nil {
			return nil, fmt.Errorf("name this replica: %w", err)
		}
		identity = host + "_" + string(uuid.NewUUID())
	}
	config := rest.AddUserAgent(rest.CopyConfig(api), "leader-election")
	// A single stalled request must not end the lease.
	config.Timeout = s.Lease.RenewDeadline / 2
	leases, err := coordinationv1client.NewForConfig(config)
	if err != nil {
		return nil, fmt.Errorf("create client for the lease: %w", err)
	}
	return &releasingLock{
		Interface: &resourcelock.LeaseLock{
			LeaseMeta:  metav1.ObjectMeta{Namespace: s.Namespace, Name: leaseName},
			Client:     leases,
			LockConfig: resourcelock.ResourceLockConfig{Identity: identity},
		},
		fence: s.fence,
	}, nil
}

// releasingLock is a lease that is always released when the operator stops. The stop does not cancel a request that acquires
// or renews it, since the API server might execute it nevertheless, and the library releases only a lease that it knows to
// hold. It closes the fence before it releases the lease, so that a controller that has not ended in time writes nothing
// after another replica has acquired it.
type releasingLock struct {
	resourcelock.Interface
	fence *fence
}

// Create acquires a lease that does not exist yet.
func (l *releasingLock) Create(ctx context.Context, record resourcelock.LeaderElectionRecord) error {
	ctx, cancel := uncancelled(ctx)
	defer cancel()
	return l.Interface.Create(ctx, record)
}

// Update acquires or renews the lease, or releases it if the record names no holder.
func (l *releasingLock) Update(ctx context.Context, record resourcelock.LeaderElectionRecord) error {
	ctx, cancel := uncancelled(ctx)
	defer cancel()
	if record.HolderIdentity == "" && l.fence != nil {
		l.fence.close()
	}
	return l.Interface.Update(ctx, record)
}

// uncancelled returns a context that ends at the deadline of another one, but not when that is cancelled before.
func uncancelled(ctx context.Context) (context.Context, context.CancelFunc) {
	deadline, ok := ctx.Deadline()
	if !ok {
		return context.WithoutCancel(ctx), func() {}
	}
	return context.WithDeadline(context.WithoutCancel(ctx), deadline)
}
