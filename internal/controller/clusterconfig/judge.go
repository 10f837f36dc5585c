package clusterconfig

import (
	"context"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation/field"

	operatorv1 "github.com/cluster-network-operator/cno/api/operator/v1"
	"github.com/cluster-network-operator/cno/internal/pipeline"
)

// verdict says what becomes of a configuration.
type verdict struct {
	// invalid is what is wrong with it by itself.
	invalid field.ErrorList
	// refused is what the network of that type does not take, or what may not be changed any more (unsafe is true then).
	refused pipeline.Refusals
	unsafe  bool
	// wanted is what Network.operator is to say.
	wanted wanted
	// write is true if it does not say so, and may.
	write bool
}

// assumedMTU stands for the MTU of nodes while it is not known: what is judged here does not depend on it.
const assumedMTU = 1500

// judge decides. The error is that the configuration could not be judged, and no one is to blame for that.
func judge(ctx context.Context, p pipeline.Pipeline, w *world) (verdict, error) {
	v := verdict{wanted: want(w.config), invalid: validate(&w.config.Spec, w.around)}
	if len(v.invalid) > 0 {
		return v, nil
	}
	var err error
	if v.refused, v.unsafe, err = refusals(ctx, p, w, v.wanted); err != nil {
		return v, err
	}
	v.write = len(v.refused) == 0 && !v.wanted.saidBy(w.operator)
	return v, nil
}

// refusals asks the pipeline. Where a network is applied, the three fields alone are judged as a change of it: what else
// Network.operator says is not this configuration's fault. Elsewhere they are judged together with what it says.
func refusals(ctx context.Context, p pipeline.Pipeline, w *world, wanted wanted) (_ pipeline.Refusals, unsafe bool, _ error) {
	in := pipeline.Input{Applied: w.record.Baseline(), Revision: w.record.BaselineNumber(), Acknowledged: w.acknowledged(), Cluster: w.cluster}
	if in.Cluster.HostMTU == 0 {
		in.Cluster.HostMTU = assumedMTU
	}
	if in.Applied == nil {
		base := &operatorv1.NetworkSpec{}
		if w.operator != nil {
			base = &w.operator.Spec
		}
		in.Desired = wanted.over(base)
		_, err := p.Run(ctx, in, pipeline.Validate)
		refused := pipeline.RefusalsOf(err)
		if err != nil && refused == nil {
			return nil, false, err
		}
		return ours(refused), false, nil
	}
	if wanted.same(in.Applied) {
		return nil, false, nil
	}
	in.Desired = wanted.over(in.Applied)
	if wanted.network != in.Applied.DefaultNetwork.Type { // settings of the other type would be the first thing to be refused
		in.Desired.DefaultNetwork = operatorv1.DefaultNetworkDefinition{Type: wanted.network}
	}
	_, err := p.Run(ctx, in, pipeline.Check)
	refused := pipeline.RefusalsOf(err)
	if err != nil && refused == nil {
		return nil, false, err
	}
	return renamed(refused), pipeline.StageOf(err) == pipeline.Check, nil
}

// typeField is where Network.operator has the type of the network.
const typeField = "spec.defaultNetwork.type"

// ours keeps what is about the fields that Network.config has.
func ours(all pipeline.Refusals) pipeline.Refusals {
	var kept pipeline.Refusals
	for _, r := range renamed(all) {
		if r.Field == typePath.String() || strings.HasPrefix(r.Field, clusterPath.String()) || strings.HasPrefix(r.Field, servicePath.String()) {
			kept = append(kept, r)
		}
	}
	return kept
}

// renamed has the type where Network.config has it.
func renamed(all pipeline.Refusals) pipeline.Refusals {
	var out pipeline.Refusals
	for _, r := range all {
		if r.Field == typeField {
			r.Field = typePath.String()
		}
		out = append(out, r)
	}
	return out
}
