package pipeline

import (
	"context"

	"github.com/cluster-network-operator/cno/internal/facts"
)

// Choice is a specification that has passed Check and can be rendered any number of times. The zero value cannot be rendered.
type Choice struct {
	// Result is the result of the stages up to Check. It has no outputs.
	Result Result
	s      *state
}

// Choose runs the stages up to Check for the desired specification. If that is invalid or its change is refused, it chooses
// the applied specification, if there is one, without validating or checking it: an invalid edit must not keep the network
// from being repaired and upgraded. Result.Refused is then the cause. After an error nothing can be rendered.
func (p Pipeline) Choose(ctx context.Context, in Input) (Choice, error) {
	chosen, err := p.choose(ctx, in, false)
	if err == nil || in.Applied == nil || !refusedBy(err) {
		return chosen, err
	}
	fallback, ferr := p.ChooseApplied(ctx, in)
	res := &fallback.Result
	res.Refused = err
	res.Changes, res.Acknowledgement, res.Ineffective = chosen.Result.Changes, chosen.Result.Acknowledgement, chosen.Result.Ineffective
	return fallback, ferr
}

// ChooseApplied runs the stages up to Check for the applied specification, which is neither validated nor checked, while the
// desired one has to wait. Input.Applied must not be nil.
func (p Pipeline) ChooseApplied(ctx context.Context, in Input) (Choice, error) {
	in.Desired = in.Applied
	return p.choose(ctx, in, true)
}

func (p Pipeline) choose(ctx context.Context, in Input, trusted bool) (Choice, error) {
	s := p.start(in, trusted)
	res, err := s.run(ctx, Merge, Check)
	return Choice{Result: res, s: s}, err
}

// Render runs Bootstrap and Render with facts about the cluster, whose images and version may differ from those at the time of
// the choice. The error joins one *Error for each component that failed, as that of Run does.
func (c Choice) Render(ctx context.Context, cluster facts.Cluster) (Result, error) {
	s := *c.s
	s.in.Cluster, s.result = cluster, c.Result
	return s.run(ctx, Bootstrap, Render)
}

// refusedBy reports whether the desired specification caused the error, so that the applied one may succeed.
func refusedBy(err error) bool {
	switch StageOf(err) {
	case Merge, Validate, Fill, Check:
		return true
	}
	return false
}
