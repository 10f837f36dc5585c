package pipeline

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/api/equality"

	"github.com/cluster-network-operator/cno/internal/facts"
	"github.com/cluster-network-operator/cno/internal/manifest"
)

// Pair is two networks for one cluster, each with its own provider: the applied one and the one that replaces it.
// While a cluster migrates from one to the other, the objects of both exist. The zero value cannot be rendered.
type Pair struct {
	// From is the applied network. As in ChooseApplied, it is neither validated nor checked.
	From Choice
	// To is the desired network. Its Changes exclude the network type and the settings of that type.
	To Choice
}

// ChoosePair chooses the applied network and the desired one, whose types must differ; Input.Applied must not be nil.
//
// The network of the desired specification is validated and filled as on a new cluster. All other fields are checked like any other
// change: pools, for example, must not change together with the network. The links of nodes must carry its MTU. The error
// is an *Error, as that of Run; its text, not its stage, names which of the two failed.
func (p Pipeline) ChoosePair(ctx context.Context, in Input) (Pair, error) {
	if in.Applied == nil || in.Desired == nil {
		return Pair{}, &Error{Stage: Merge, Err: errors.New("choose two networks: there is only one, since nothing is applied or nothing is desired")}
	}
	from, err := p.ChooseApplied(ctx, in)
	if err != nil {
		return Pair{}, fmt.Errorf("choose the network that is applied: %w", err)
	}
	if applied, desired := from.Result.Spec.DefaultNetwork.Type, canonical(Keep(in.Desired, in.Applied), p.Registry.types()).DefaultNetwork.Type; applied == desired {
		return Pair{}, &Error{Stage: Merge, Err: fmt.Errorf("choose two networks: both are of type %s; a change of one network is chosen without a second", desired)}
	}
	// The applied specification, as if it had the desired network.
	beside := in.Applied.DeepCopy()
	in.Desired.DefaultNetwork.DeepCopyInto(&beside.DefaultNetwork)
	in.Applied = beside
	to, err := p.choose(ctx, in, false)
	if err == nil {
		if errs := to.s.checkLinks(nil, to.Result.Spec); len(errs) > 0 {
			err = &Error{Stage: Check, Err: refusals(errs, lookup{}, lookupIn(to.Result.Spec))}
		}
	}
	if err != nil {
		return Pair{}, fmt.Errorf("choose the network that is desired: %w", err)
	}
	return Pair{From: from, To: to}, nil
}

// Both is a rendered Pair.
type Both struct {
	From, To Result
	// Conflicts are the resources that both networks need and only one can have, in the order of To's objects. A component that
	// both have and that does not depend on the network is no conflict.
	Conflicts []Conflict
}

// Render renders both networks with facts about the cluster. The error joins those of components that failed in either;
// the outputs of all others are in the result.
func (p Pair) Render(ctx context.Context, cluster facts.Cluster) (Both, error) {
	var b Both
	var errFrom, errTo error
	b.From, errFrom = p.From.Render(ctx, cluster)
	b.To, errTo = p.To.Render(ctx, cluster)
	b.Conflicts = slices.Concat(objectConflicts(b.From, b.To), portConflicts(b.From, b.To), p.fileConflicts())
	if errFrom != nil {
		errFrom = fmt.Errorf("the network that is applied: %w", errFrom)
	}
	if errTo != nil {
		errTo = fmt.Errorf("the network that is desired: %w", errTo)
	}
	return b, errors.Join(errFrom, errTo)
}

// Objects returns the objects of both networks in the order in which to apply them, each once. If both have an object, it is
// that of From, on which pods depend until they have been migrated.
func (b Both) Objects() []manifest.Object {
	all := objectsOf(b.From)
	seen := map[manifest.Key]bool{}
	for _, o := range all {
		seen[o.Key()] = true
	}
	for _, o := range objectsOf(b.To) {
		if !seen[o.Key()] {
			all = append(all, o)
		}
	}
	return manifest.Sorted(all)
}

// objectsOf returns the objects of all components of a result.
func objectsOf(r Result) []manifest.Object {
	var all []manifest.Object
	for _, o := range r.Outputs {
		all = append(all, o.Output.Objects...)
	}
	return all
}

// objectConflicts returns the objects that both have and that differ.
func objectConflicts(from, to Result) []Conflict {
	previous := map[manifest.Key]manifest.Object{}
	for _, o := range objectsOf(from) {
		previous[o.Key()] = o
	}
	var found []Conflict
	for _, o := range objectsOf(to) {
		before, both := previous[o.Key()]
		if both && !equality.Semantic.DeepEqual(before.Object.Object, o.Object.Object) {
			found = append(found, Conflict{What: o.Key().String(), From: o.Key().String(), To: o.Key().String()})
		}
	}
	return found
}
