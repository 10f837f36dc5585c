package pipeline

import (
	"context"

	"github.com/cluster-network-operator/cno/internal/facts"
)

// Choice is a specification that has passed Check and can be rendered, as often as wanted. The zero value cannot.
type Choice struct {
	// Result is what the stages up to Check made. It has no outputs.
	Result Result
	s      *state
}

// Choose runs the stages up to Check for the desired specification. When that is invalid or its change is refused, and there
// is an applied one, it chooses the applied one instead, which is then neither validated nor checked: a bad edit must not
// keep the network from being repaired and upgraded. Result.Refused then says why. After an error nothing can be rendered.
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

// ChooseApplied runs the stages up to Check for what is applied, which is neither validated nor checked: while what is
// desired has to wait. Input.Applied must not be nil.
func (p Pipeline) ChooseApplied(ctx context.Context, in Input) (Choice, error) {
	in.Desired = in.Applied
	return p.choose(ctx, in, true)
}

func (p Pipeline) choose(ctx context.Context, in Input, trusted bool) (Choice, error) {
	s := p.start(in, trusted)
	res, err := s.run(ctx, Merge, Check)
	return Choice{Result: res, s: s}, err
}

// Render runs Bootstrap and Render with what is known about the cluster, which may differ from what the specification was chosen
// with in images and version. The error joins one *Error for each component that failed, as that of Run does.
func (c Choice) Render(ctx context.Context, cluster facts.Cluster) (Result, error) {
	s := *c.s
	s.in.Cluster, s.result = cluster, c.Result
	return s.run(ctx, Bootstrap, Render)
}

// refusedBy reports whether the fault lies in the desired specification, so that the applied one may do better.
func refusedBy(err error) bool {
	switch StageOf(err) {
	case Merge, Validate, Fill, Check:
		return true
	}
	return false
}
