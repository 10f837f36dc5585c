package operator

import (
	"context"
	"fmt"
	"sync/atomic"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	operatorv1 "github.com/cluster-network-operator/cno/api/operator/v1"
	"github.com/cluster-network-operator/cno/internal/applied"
)

// overrides are the overrides of workloads that are applied, for controllers that render workloads which are not the network's.
type overrides struct {
	reader    client.Reader
	namespace string
	// last are those of the revision that was applied last; nil before the first since the start.
	last atomic.Pointer[[]operatorv1.Workload]
}

// set notes those of a specification that was applied.
func (o *overrides) set(spec *operatorv1.NetworkSpec) { o.last.Store(&spec.Workloads) }

// get returns them. Before a revision was applied since the start, they are those of the record. A record that cannot be read is an error:
// pods must not restart without their overrides.
func (o *overrides) get(ctx context.Context) ([]operatorv1.Workload, error) {
	if last := o.last.Load(); last != nil {
		return *last, nil
	}
	var cm corev1.ConfigMap
	if err := o.reader.Get(ctx, client.ObjectKey{Namespace: o.namespace, Name: applied.ConfigMapName}, &cm); err != nil {
		if client.IgnoreNotFound(err) != nil {
			return nil, fmt.Errorf("read the record of the applied network: %w", err)
		}
		return nil, nil
	}
	record, err := applied.Decode(cm.Data)
	if err != nil {
		return nil, fmt.Errorf("read the record of the applied network: %w", err)
	}
	if spec := record.Baseline(); spec != nil {
		return spec.Workloads, nil
	}
	return nil, nil
}
