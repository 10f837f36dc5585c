package etcdmanager

import (
	"context"
	"fmt"

	certificatesv1 "k8s.io/api/certificates/v1"
	"k8s.io/apimachinery/pkg/fields"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/predicate"

	"github.com/cluster-network-operator/cno/internal/loop"
)

// WatchRequests starts a reconcile for each new request. It uses a separate cache with a selector for the signer, because the manager's cache selects
// another signer.
func (e *Manager) WatchRequests(mgr manager.Manager, l *loop.Loop) error {
	requests, err := loop.SeparateCache(mgr, map[client.Object]cache.ByObject{
		&certificatesv1.CertificateSigningRequest{}: {Field: fields.OneTermEqualSelector("spec.signerName", e.cluster.Signer())},
	})
	if err != nil {
		return fmt.Errorf("requests for %s: %w", e.cluster.Title(), err)
	}
	open := predicate.NewPredicateFuncs(func(o client.Object) bool {
		csr, ok := o.(*certificatesv1.CertificateSigningRequest)
		return ok && !isFinished(csr)
	})
	if err := l.Watch(loop.From(requests, &certificatesv1.CertificateSigningRequest{}, loop.Once(), open)); err != nil {
		return err
	}
	e.deps.Requests = func(ctx context.Context) ([]certificatesv1.CertificateSigningRequest, error) {
		var list certificatesv1.CertificateSigningRequestList
		if err := requests.List(ctx, &list); err != nil {
			return nil, fmt.Errorf("list certificate signing requests: %w", err)
		}
		return list.Items, nil
	}
	return nil
}
