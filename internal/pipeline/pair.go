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

// Pair is two networks for one cluster, each with a provider of its own: the one that is applied, and the one that is to replace it.
// While a cluster goes from one to the other, the objects of both exist. The zero value cannot be rendered.
type Pair struct {
	// From is what is applied. As in ChooseApplied, it is neither validated nor checked.
	From Choice
	// To is what is desired. Its Changes are those besides the network: the type, and the settings that belong to it.
	To Choice
}

// ChoosePair chooses the applied network and the desired one, whose types must differ; Input.Applied must not be nil.
//
// What is desired is validated and filled like that of a fresh cluster as far as its network goes, and is checked like any other
// change in all else: pools, for example, do not change together with the network. The links of nodes must carry it. The error
// is an *Error, as that of Run; its stage does not tell which of the two failed, its text does.
func (p Pipeline) ChoosePair(ctx context.Context, in Input) (Pair, error) {
	if in.Applied == nil || in.Desired == nil {
		return Pair{}, &Error{Stage: Merge, Err: errors.New("choose two networks: there is only one, since nothing is applied or nothing is desired")}
	}
	from, err := p.ChooseApplied(ctx, in)
	if err != nil {
		return Pair{}, fmt.Errorf("choose the network that is applied: %w", err)
	}
	if was, is := from.Result.Spec.DefaultNetwork.Type, canonical(in.Desired, p.Registry.types()).DefaultNetwork.Type; was == is {
		return Pair{}, &Error{Stage: Merge, Err: fmt.Errorf("choose two networks: both are of type %s; a change of one network is chosen without a second", is)}
	}
	// What is applied, as if it had been applied with the desired network.
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
	// Conflicts are what both networks want and only one can have, in the order of To's objects. A component that both have and
	// that does not depend on the network is none.
	Conflicts []Conflict
}

// Render renders both networks with what is known about the cluster. The error joins those of components that failed in either;
// the outputs of all others are in the result.
func (p Pair) Render(ctx context.Context, cluster facts.Cluster) (Both, error) {
	var b Both
	var was, is error
	b.From, was = p.From.Render(ctx, cluster)
	b.To, is = p.To.Render(ctx, cluster)
	b.Conflicts = slices.Concat(objectConflicts(b.From, b.To), portConflicts(b.From, b.To), p.fileConflicts())
	if was != nil {
		was = fmt.Errorf("the network that is applied: %w", was)
	}
	if is != nil {
		is = fmt.Errorf("the network that is desired: %w", is)
	}
	return b, errors.Join(was, is)
}

// Objects are those of both networks, in the order in which to apply them, each once. Where both have an object, it is that of
// From, on which pods depend until they have left it.
func (b Both) Objects() []manifest.Object {
	all := objectsOf(b.From)
	has := map[manifest.Key]bool{}
	for _, o := range all {
		has[o.Key()] = true
	}
	for _, o := range objectsOf(b.To) {
		if !has[o.Key()] {
			all = append(all, o)
		}
	}
	return manifest.Sorted(all)
}

// objectsOf are the objects of all components of a result.
func objectsOf(r Result) []manifest.Object {
	var all []manifest.Object
	for _, o := range r.Outputs {
		all = append(all, o.Output.Objects...)
	}
	return all
}

// objectConflicts are objects that both have and that differ.
func objectConflicts(from, to Result) []Conflict {
	was := map[manifest.Key]manifest.Object{}
	for _, o := range objectsOf(from) {
		was[o.Key()] = o
	}
	var found []Conflict
	for _, o := range objectsOf(to) {
		before, both := was[o.Key()]
		if both && !equality.Semantic.DeepEqual(before.Object.Object, o.Object.Object) {
			found = append(found, Conflict{What: o.Key().String(), From: o.Key().String(), To: o.Key().String()})
		}
	}
	return found
}
