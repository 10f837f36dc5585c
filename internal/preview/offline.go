package preview

import (
	"context"
	"fmt"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/cluster-network-operator/cno/internal/apply"
	"github.com/cluster-network-operator/cno/internal/controller/network"
	"github.com/cluster-network-operator/cno/internal/manifest"
	"github.com/cluster-network-operator/cno/internal/pipeline"
	"github.com/cluster-network-operator/cno/internal/plan"
)

// Offline returns a state without a cluster. Its live objects are those that the operator renders for in.Applied; none if
// that is nil.
func Offline(ctx context.Context, p pipeline.Pipeline, in pipeline.Input) (State, error) {
	s := State{Input: in, Lookup: known(nil)}
	if in.Applied == nil {
		return s, nil
	}
	before := in
	before.Desired, before.Applied = in.Applied, nil
	res, err := p.Run(ctx, before, pipeline.Render)
	if err != nil && len(res.Outputs) == 0 {
		s.Notes = append(s.Notes, fmt.Sprintf("the applied configuration cannot be rendered, so that all objects are listed as new: %v", err))
		return s, nil
	}
	objects, err := network.Desired(p.Registry, res, in.Cluster, "")
	if err != nil {
		return s, err
	}
	s.Lookup, s.Inventory = known(objects), inventory(objects)
	s.Notes = append(s.Notes, "no cluster is used: objects are compared with those that the applied configuration renders, without later changes")
	return s, nil
}

// inventory returns the inventory of the operator after it has applied objects.
func inventory(objects []manifest.Object) plan.Inventory {
	var all plan.Inventory
	for _, o := range objects {
		all = append(all, plan.Entry{Key: o.Key(), Version: o.Object.GroupVersionKind().Version, Component: o.Object.GetLabels()[manifest.LabelComponent]})
	}
	return all
}

// known returns a lookup of rendered objects as they are after they have been applied.
func known(objects []manifest.Object) func(context.Context, []apply.Ref) (plan.Lookup, error) {
	live := map[manifest.Key]*unstructured.Unstructured{}
	for _, o := range objects {
		live[o.Key()] = plan.Action{Object: o}.Wanted()
	}
	return func(context.Context, []apply.Ref) (plan.Lookup, error) {
		return func(k manifest.Key) (*unstructured.Unstructured, bool) { o, ok := live[k]; return o, ok }, nil
	}
}
