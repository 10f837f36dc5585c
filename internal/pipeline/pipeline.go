// Package pipeline turns the network that a user wants into the objects that make it. It is a list of stages,
// which are the same in the operator and on the command line:
//
//	Merge      copies the specification and repairs deprecated spellings
//	Validate   finds everything that is wrong with it
//	Fill       makes every default explicit, and carries forward what may not change
//	Check      refuses changes of what is applied that are unsafe
//	Bootstrap  lets the provider and the components read from the cluster what they render from
//	Render     lets them render
//
// The input is never changed, and the same input gives the same output. Only Bootstrap reads, through the reader
// it is given; nothing here writes to the cluster. No stage panics: a panic of a provider becomes an error.
package pipeline

import (
	"context"
	"log/slog"
	"slices"

	"sigs.k8s.io/controller-runtime/pkg/client"

	operatorv1 "github.com/cluster-network-operator/cno/api/operator/v1"
	"github.com/cluster-network-operator/cno/internal/facts"
	"github.com/cluster-network-operator/cno/internal/provider"
)

// Pipeline runs the stages for the networks and components of a Registry. It keeps no state, and may be used by
// several goroutines at once.
type Pipeline struct {
	// Registry is what can be installed.
	Registry Registry
	// Log gets the stacks of panics, and nothing else. nil is slog.Default.
	Log *slog.Logger
}

// Input is everything that the stages know.
type Input struct {
	// Desired is the network that the user wants. It must not be nil.
	Desired *operatorv1.NetworkSpec
	// Applied is the network that was applied last, as it was recorded; nil on a fresh cluster, and when a change
	// is forced. While one is being rolled out, it is that one: see applied.Record.Baseline.
	Applied *operatorv1.NetworkSpec
	// Revision is the number of the revision that Applied is; 0 if that is not known. An acknowledgement is for a change
	// of this one.
	Revision int
	// Acknowledged is what the user has acknowledged: the Acknowledgement of the very change, or anything else.
	Acknowledged string
	// Cluster is what is known about the cluster. Offline it may be the zero value; nothing is then checked
	// against nodes.
	Cluster facts.Cluster
	// Reader reads the cluster. It is nil offline: then everything is rendered as for a fresh cluster.
	Reader client.Reader
}

// Result is what the stages made of the input.
type Result struct {
	// Spec is the specification as far as the stages came: canonical after Merge, with every default after Fill.
	// It is nil if Merge failed.
	Spec *operatorv1.NetworkSpec
	// Previous is Input.Applied with the defaults that a newer operator has and an older one had not recorded.
	// It is nil before Fill, and when nothing is applied.
	Previous *operatorv1.NetworkSpec
	// Changes are the fields whose values are not those of Previous, each with its verdict. It is set by Check, whether
	// or not that refuses any, and nil on a fresh cluster. After Choose they are those of the desired specification,
	// also when it was put aside.
	Changes []Change
	// Acknowledgement is the hash with which the changes are acknowledged. It is empty when none needs that, or when
	// one is refused in any case. Acknowledged is true if they were, by it.
	Acknowledgement string
	Acknowledged    bool
	// Traits are those of the provider of Spec. For a network that a third party installs, they are all that is
	// known of it.
	Traits provider.Traits
	// Outputs are what the provider and the enabled components render, in the order in which to apply them. There
	// is none for a network that a third party installs.
	Outputs []ComponentOutput
	// Warnings are what is wrong with the cluster as it is, where refusing would help no one: the pools that are in
	// use have no block left for a new node, or contain a node's address.
	Warnings Refusals
	// Ineffective are the fields of the specification that are set and have no effect with its type of network, or in
	// this version. After Choose they are those of the desired specification, also when it was put aside.
	Ineffective Refusals
	// Advice is about new pools that are allowed, and that few clusters want. It is for the person who writes them: nothing
	// is wrong with the cluster.
	Advice Refusals
	// MTU is the MTU in bytes that pods get; 0 if the provider does not say.
	MTU int
	// Refused is set by Choose alone: why the desired specification was put aside, and the one that is applied
	// was used instead. It is an *Error of the stage that refused, and holds Refusals if the user is to blame.
	Refused error
}

// ComponentOutput is what one component wants to be in the cluster.
type ComponentOutput struct {
	// Name is the type of the default network, or the name of the component: the <Component> in conditions.
	Name string
	// Output has the component's objects, labelled, in the order in which to apply them. It is zero if Err is set.
	Output provider.Output
	// Err says why the component could not be rendered. What it rendered before must then be kept.
	Err error
}

// Run runs all stages up to and including the last.
//
// The error is an *Error that names the stage, or several of them joined. What is wrong with the specification is
// told all at once: the error then holds Refusals (see RefusalsOf). A component that fails in Bootstrap or Render
// does not hold up the others: the error joins one *Error for each that failed, and the Result has the outputs of
// all of them, with Err set in those that failed. After an error of any other stage there are no outputs.
func (p Pipeline) Run(ctx context.Context, in Input, last Stage) (Result, error) {
	return p.start(in, false).run(ctx, Merge, last)
}

// start makes the state in which a run begins. A trusted specification was applied before: it is neither validated nor checked.
func (p Pipeline) start(in Input, trusted bool) *state {
	s := &state{registry: p.Registry, in: in, trusted: trusted, log: p.Log}
	if s.log == nil {
		s.log = slog.Default()
	}
	return s
}

// run runs the stages from the first to the last of a range.
func (s *state) run(ctx context.Context, first, last Stage) (Result, error) {
	all := stages()
	from := slices.IndexFunc(all, func(st stage) bool { return st.name == first })
	for _, st := range all[from:] {
		if err := ctx.Err(); err != nil {
			return s.result, &Error{Stage: st.name, Err: err}
		}
		if err := s.do(ctx, st); err != nil {
			return s.result, err
		}
		if st.name == last {
			break
		}
	}
	return s.result, s.failed()
}

// stage is one step: a function that makes the state know more.
type stage struct {
	name Stage
	run  func(context.Context, *state) error
}

func stages() []stage {
	return []stage{{Merge, merge}, {Validate, validate}, {Fill, fill}, {Check, check}, {Bootstrap, bootstrap}, {Render, render}}
}

// state is what the stages of one run share.
type state struct {
	registry Registry
	in       Input
	trusted  bool
	log      *slog.Logger

	network provider.Provider // of result.Spec, from Merge on
	parts   []*part           // from Bootstrap on
	result  Result
}

// do runs one stage, and turns its error or panic into an *Error.
func (s *state) do(ctx context.Context, st stage) error {
	if err := s.guard(st.name, "", func() error { return st.run(ctx, s) }); err != nil {
		return &Error{Stage: st.name, Err: err}
	}
	return nil
}
