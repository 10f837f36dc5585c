package operator

import (
	"context"
	"fmt"
	"sync/atomic"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	operatorv1 "github.com/cluster-network-operator/cno/api/operator/v1"
	"github.com/cluster-network-operator/cno/internal/applied"
	"github.com/cluster-network-operator/cno/internal/multinet/isolation"
)

// overrides gives controllers that render other workloads, or manage an optional component, access to the settings of the applied
// specification.
type overrides struct {
	reader    client.Reader
	namespace string
	// last is the last applied specification; nil before the first one since the start.
	last atomic.Pointer[operatorv1.NetworkSpec]
}

// set records an applied specification.
func (o *overrides) set(spec *operatorv1.NetworkSpec) { o.last.Store(spec.DeepCopy()) }

// get returns the overrides of workloads.
func (o *overrides) get(ctx context.Context) ([]operatorv1.Workload, error) {
	spec, err := o.spec(ctx)
	if spec == nil {
		return nil, err
	}
	return spec.Workloads, nil
}

// multiNetwork reports whether pods can have further networks, and which; false before a network is applied.
func (o *overrides) multiNetwork(ctx context.Context) (bool, isolation.Rule, error) {
	spec, err := o.spec(ctx)
	if spec == nil {
		return false, isolation.Rule{}, err
	}
	return spec.DisableMultiNetwork == nil || !*spec.DisableMultiNetwork, isolation.Of(spec.MultiNetwork), err
}

// servesFurtherNetworks is the first result of multiNetwork.
func (o *overrides) servesFurtherNetworks(ctx context.Context) (bool, error) {
	enabled, _, err := o.multiNetwork(ctx)
	return enabled, err
}

// spec returns the applied specification, which is read-only; nil if there is none. Before the first one since the start, it is that of
// the record. It returns an error if the record cannot be read: pods must not restart without their overrides.
func (o *overrides) spec(ctx context.Context) (*operatorv1.NetworkSpec, error) {
	if last := o.last.Load(); last != nil {
		return last, nil
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
	return record.Baseline(), nil
}
