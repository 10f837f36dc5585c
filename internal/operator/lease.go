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

// leaseName is the name of the lease that the replica which works holds.
const leaseName = status.LeaseName

// LeaseTiming is how long a lease lasts, how long its holder tries to renew it before it stops, and how often. The zero value is
// the timing of the program. Duration is a whole number of seconds, and longer than RenewDeadline, which is longer than
// RetryPeriod.
//
// An operator that ends in order hands over at once, and one that is restarted in its pod continues at once. A replica that is
// unreachable is replaced after Duration and until the next look at the lease, which the library takes up to 2.2 times RetryPeriod
// after the one before: 16.4 seconds at most. Fewer renewals within that time would be at the price of RenewDeadline, and the
// operator would end when the API server does not answer for a moment.
type LeaseTiming struct {
	Duration, RenewDeadline, RetryPeriod time.Duration
}

// programLease is the timing of the program.
var programLease = LeaseTiming{Duration: leaseDuration, RenewDeadline: renewDeadline, RetryPeriod: retryPeriod}

const (
	leaseDuration = 12 * time.Second
	renewDeadline = 10 * time.Second
	retryPeriod   = 2 * time.Second
)

// orProgram is the timing, or that of the program if it is the zero value.
func (t LeaseTiming) orProgram() LeaseTiming { return cmp.Or(t, programLease) }

// stale is how old the last renewal of the lease may be when something is written. It is less than Duration: no other replica
// works yet.
func (t LeaseTiming) stale() time.Duration { return t.Duration - t.RetryPeriod }

// lock is the lease as this replica takes it. It records no event: a restart of a converged cluster writes nothing else.
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
	// One request that hangs must not be the end of the lease.
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

// releasingLock is a lease that is released at any moment at which the operator stops. A request that takes or renews it
// is not cut short by the stop: the API server might carry it out all the same, and the library releases only what it knows
// that it has. And it closes the fence before it releases the lease: a loop that has not ended in time writes nothing after
// another replica has it.
type releasingLock struct {
	resourcelock.Interface
	fence *fence
}

// Create takes a lease that does not exist yet.
func (l *releasingLock) Create(ctx context.Context, record resourcelock.LeaderElectionRecord) error {
	ctx, cancel := uncancelled(ctx)
	defer cancel()
	return l.Interface.Create(ctx, record)
}

// Update takes or renews the lease, or releases it if the record names no holder.
func (l *releasingLock) Update(ctx context.Context, record resourcelock.LeaderElectionRecord) error {
	ctx, cancel := uncancelled(ctx)
	defer cancel()
	if record.HolderIdentity == "" && l.fence != nil {
		l.fence.close()
	}
	return l.Interface.Update(ctx, record)
}

// uncancelled returns a context that ends at the deadline of another one, and not with it before.
func uncancelled(ctx context.Context) (context.Context, context.CancelFunc) {
	deadline, ok := ctx.Deadline()
	if !ok {
		return context.WithoutCancel(ctx), func() {}
	}
	return context.WithDeadline(context.WithoutCancel(ctx), deadline)
}
