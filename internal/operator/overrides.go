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

// overrides are what the applied specification has for controllers that render workloads which are not the network's, or that manage what
// comes with an optional component.
type overrides struct {
	reader    client.Reader
	namespace string
	// last is the revision that was applied last; nil before the first since the start.
	last atomic.Pointer[operatorv1.NetworkSpec]
}

// set notes a specification that was applied.
func (o *overrides) set(spec *operatorv1.NetworkSpec) { o.last.Store(spec.DeepCopy()) }

// get returns the overrides of workloads.
func (o *overrides) get(ctx context.Context) ([]operatorv1.Workload, error) {
	spec, err := o.spec(ctx)
	if spec == nil {
		return nil, err
	}
	return spec.Workloads, nil
}

// multiNetwork reports whether pods can have further networks. Before a network is applied they cannot.
func (o *overrides) multiNetwork(ctx context.Context) (bool, error) {
	spec, err := o.spec(ctx)
	return spec != nil && (spec.DisableMultiNetwork == nil || !*spec.DisableMultiNetwork), err
}

// spec returns the applied specification, for looking at only; nil without one. Before a revision was applied since the start, it is that of
// the record. A record that cannot be read is an error: pods must not restart without their overrides.
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
