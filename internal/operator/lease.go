package operator

import (
	"fmt"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/leaderelection/resourcelock"
)

// lock returns the lease under the identity of Options, so that a process that was started again after an outage has it at
// once, and need not wait until that of its own predecessor has run out. It is nil without an identity: the library makes
// one up.
func (s *shared) lock(api *rest.Config) (resourcelock.Interface, error) {
	if s.Identity == "" || s.WithoutLease {
		return nil, nil
	}
	lock, err := resourcelock.NewFromKubeconfig(resourcelock.LeasesResourceLock, s.Namespace, leaseName,
		resourcelock.ResourceLockConfig{Identity: s.Identity}, rest.AddUserAgent(api, "leader-election"), renewDeadline)
	if err != nil {
		return nil, fmt.Errorf("make lease: %w", err)
	}
	return lock, nil
}
