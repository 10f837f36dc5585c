// Package pipeline renders the objects of the network that a user configures. The operator and the command line run
// the same stages:
//
//	Merge      copies the specification, corrects deprecated spellings and completes omitted pools and types
//	Validate   finds all errors in it
//	Fill       makes every default explicit, and carries forward values that may not change
//	Check      refuses unsafe changes of the applied specification
//	Bootstrap  lets the provider and the components read their input from the cluster
//	Render     renders the objects of the provider and the components
//
// The input is never changed, and the same input gives the same output. Only Bootstrap reads, through the reader
// it is given; no stage writes to the cluster. No stage panics: a panic of a provider becomes an error.
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
	// Registry has the networks and components that can be installed.
	Registry Registry
	// Log receives only the stacks of panics. nil means slog.Default.
	Log *slog.Logger
}

// Input is the input of the stages.
type Input struct {
	// Desired is the network that the user configured. It must not be nil.
	Desired *operatorv1.NetworkSpec
	// Applied is the recorded network that was applied last; nil on a new cluster, and when a change is forced. During
	// a rollout it is the network that is being rolled out: see applied.Record.Baseline.
	Applied *operatorv1.NetworkSpec
	// Recorded is the last recorded network for fields that Desired omits, where it is known although Applied is nil: when a change is
	// forced.
	Recorded *operatorv1.NetworkSpec
	// Revision is the number of the revision of Applied; 0 if unknown. An acknowledgement is valid for a change of this
	// revision.
	Revision int
	// Acknowledged is the hash that the user has set. It is effective only if it equals the Acknowledgement of the change.
	Acknowledged string
	// Cluster has the facts about the cluster. Offline it may be the zero value; then nothing is checked against nodes.
	Cluster facts.Cluster
	// Reader reads the cluster. It is nil offline: then everything is rendered as for a new cluster.
	Reader client.Reader
}

// Result is the output of the stages.
type Result struct {
	// Spec is the specification after the last stage that ran: canonical after Merge, with every default after Fill.
	// It is nil if Merge failed.
	Spec *operatorv1.NetworkSpec
	// Detected are the fields that the desired specification omits, with the values of Spec and their sources. Merge sets it.
	Detected []Detected
	// Previous is Input.Applied with the defaults that an older operator did not record.
	// It is nil before Fill, and if nothing is applied.
	Previous *operatorv1.NetworkSpec
	// Changes are the fields whose values differ from those of Previous, each with its decision. Check sets it, whether
	// or not it refuses any; it is nil on a new cluster. After Choose they are those of the desired specification,
	// even if that was refused.
	Changes []Change
	// Acknowledgement is the hash that acknowledges the changes. It is empty if none needs an acknowledgement, or if one
	// is refused in any case. Acknowledged is true if Input.Acknowledged equals it.
	Acknowledgement string
	Acknowledged    bool
	// Traits are those of the provider of Spec; those assumed of a network that a third party installs.
	Traits provider.Traits
	// Outputs are those of the provider and the enabled components, in the order in which to apply them. There is none
	// for a network that a third party installs.
	Outputs []ComponentOutput
	// Warnings are problems of the applied configuration that a refusal would not resolve: the pools that are in use have
	// no block left for a new node, or contain a node's address.
	Warnings Refusals
	// Ineffective are the fields of the specification that are set and have no effect with its network type, or in
	// this version. After Choose they are those of the desired specification, even if that was refused.
	Ineffective Refusals
	// Advice is about new pools that are allowed but unusual. It is for the author of the specification and reports no
	// problem of the cluster.
	Advice Refusals
	// MTU is the MTU of pods in bytes; 0 if the provider does not set it.
	MTU int
	// Refused is set only by Choose: the reason why the applied specification was chosen instead of the desired one.
	// It is an *Error of the stage that refused, and holds Refusals if the specification is the cause.
	Refused error
}

// ComponentOutput is the rendered output of one component.
type ComponentOutput struct {
	// Name is the type of the default network, or the name of the component: the <Component> in conditions.
	Name string
	// Output has the component's objects, labelled, in the order in which to apply them. It is zero if Err is set.
	Output provider.Output
	// Err is the error that prevented rendering the component. Its existing objects must then be kept.
	Err error
}

// Run runs all stages up to and including the last.
//
// The error is an *Error that names the stage, or several of them joined. All errors in the specification are reported
// at once: the error then holds Refusals (see RefusalsOf). A component that fails in Bootstrap or Render does not block
// the others: the error joins one *Error for each that failed, and the Result has the outputs of all of them, with Err
// set in those that failed. After an error of any other stage there are no outputs.
func (p Pipeline) Run(ctx context.Context, in Input, last Stage) (Result, error) {
	return p.start(in, false).run(ctx, Merge, last)
}

// start returns the initial state of a run. A trusted specification was applied before: it is neither validated nor checked.
func (p Pipeline) start(in Input, trusted bool) *state {
	s := &state{registry: p.Registry, in: in, trusted: trusted, log: p.Log}
	if s.log == nil {
		s.log = slog.Default()
	}
	return s
}

// run runs the stages from first to last.
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

// stage is one step: a function that updates the state.
type stage struct {
	name Stage
	run  func(context.Context, *state) error
}

func stages() []stage {
	return []stage{{Merge, merge}, {Validate, validate}, {Fill, fill}, {Check, check}, {Bootstrap, bootstrap}, {Render, render}}
}

// state is the state that the stages of one run share.
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
