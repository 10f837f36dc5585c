package pipeline

import (
	"errors"
	"fmt"

	"github.com/cluster-network-operator/cno/internal/panics"
)

// Stage names a stage of the pipeline.
type Stage string

// The stages, in their order.
const (
	Merge     Stage = "Merge"
	Validate  Stage = "Validate"
	Fill      Stage = "Fill"
	Check     Stage = "Check"
	Bootstrap Stage = "Bootstrap"
	Render    Stage = "Render"
)

// ErrHostMTUUnknown is the error of Fill when a default depends on the MTU of the nodes and that is not known yet.
var ErrHostMTUUnknown = errors.New("the MTU of the nodes is not known yet")

// Error is the error of a stage.
type Error struct {
	Stage Stage
	// Component is the component that failed in Bootstrap or Render, and empty in the other stages.
	Component string
	// Err is Refusals if the specification is the cause.
	Err error
}

// Error names the stage, the component if there is one, and the cause.
func (e *Error) Error() string {
	if e.Component != "" {
		return fmt.Sprintf("%s of %s: %v", e.Stage, e.Component, e.Err)
	}
	return fmt.Sprintf("%s: %v", e.Stage, e.Err)
}

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }

// StageOf returns the stage of the first *Error in an error, or "" if there is none.
func StageOf(err error) Stage {
	if e, ok := errors.AsType[*Error](err); ok {
		return e.Stage
	}
	return ""
}

// guard calls f, and turns a panic into an error after logging its stack.
func (s *state) guard(stage Stage, component string, f func() error) error {
	return panics.Catch(func(p *panics.Error) {
		s.log.Error("panic in a stage of the pipeline", "stage", string(stage), "component", component, "panic", p.Value, "stack", string(p.Stack))
	}, f)
}
