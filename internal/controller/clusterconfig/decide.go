package clusterconfig

import (
	"context"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation/field"

	operatorv1 "github.com/cluster-network-operator/cno/api/operator/v1"
	"github.com/cluster-network-operator/cno/internal/pipeline"
)

// decision is the result of checking a configuration.
type decision struct {
	// invalid are the errors of the configuration itself.
	invalid field.ErrorList
	// refused are the refusals of the network type, or unsafe changes (unsafe is true then).
	refused pipeline.Refusals
	unsafe  bool
	// desired are the values for Network.operator.
	desired desired
	// write is true if Network.operator differs and the change is allowed.
	write bool
}

// assumedMTU is the nodes' MTU while it is unknown. The checks here do not depend on it.
const assumedMTU = 1500

// decide checks a configuration. An error means that the check itself failed, not that the configuration is invalid.
func decide(ctx context.Context, p pipeline.Pipeline, w *input) (decision, error) {
	v := decision{desired: desiredFrom(w.config), invalid: validate(&w.config.Spec, w.env)}
	if len(v.invalid) > 0 {
		return v, nil
	}
	var err error
	if v.refused, v.unsafe, err = refusals(ctx, p, w, v.desired); err != nil {
		return v, err
	}
	v.write = len(v.refused) == 0 && !v.desired.matches(w.operator)
	return v, nil
}

// refusals runs the pipeline's checks. If a network is applied, only the three fields are checked, as a change of it, so that other fields
// of Network.operator do not count. Otherwise they are checked together with the rest of Network.operator.
func refusals(ctx context.Context, p pipeline.Pipeline, w *input, desired desired) (_ pipeline.Refusals, unsafe bool, _ error) {
	in := pipeline.Input{Applied: w.record.Baseline(), Revision: w.record.BaselineNumber(), Acknowledged: w.acknowledged(), Cluster: w.cluster}
	if in.Cluster.HostMTU == 0 {
		in.Cluster.HostMTU = assumedMTU
	}
	if in.Applied == nil {
		base := &operatorv1.NetworkSpec{}
		if w.operator != nil {
			base = &w.operator.Spec
		}
		in.Desired = desired.over(base)
		_, err := p.Run(ctx, in, pipeline.Validate)
		refused := pipeline.RefusalsOf(err)
		if err != nil && refused == nil {
			return nil, false, err
		}
		return clusterConfigOnly(refused), false, nil
	}
	if desired.same(in.Applied) {
		return nil, false, nil
	}
	in.Desired = desired.over(in.Applied)
	if desired.network != in.Applied.DefaultNetwork.Type { // the other type's settings would be refused first
		in.Desired.DefaultNetwork = operatorv1.DefaultNetworkDefinition{Type: desired.network}
	}
	_, err := p.Run(ctx, in, pipeline.Check)
	refused := pipeline.RefusalsOf(err)
	if err != nil && refused == nil {
		return nil, false, err
	}
	return withConfigPaths(refused), pipeline.StageOf(err) == pipeline.Check, nil
}

// typeField is the path of the network type in Network.operator.
const typeField = "spec.defaultNetwork.type"

// clusterConfigOnly returns the refusals about fields of Network.config.
func clusterConfigOnly(all pipeline.Refusals) pipeline.Refusals {
	var kept pipeline.Refusals
	for _, r := range withConfigPaths(all) {
		if r.Field == typePath.String() || strings.HasPrefix(r.Field, clusterPath.String()) || strings.HasPrefix(r.Field, servicePath.String()) {
			kept = append(kept, r)
		}
	}
	return kept
}

// withConfigPaths replaces the path of the network type by that in Network.config.
func withConfigPaths(all pipeline.Refusals) pipeline.Refusals {
	var out pipeline.Refusals
	for _, r := range all {
		if r.Field == typeField {
			r.Field = typePath.String()
		}
		out = append(out, r)
	}
	return out
}
