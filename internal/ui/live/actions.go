package live

import (
	"context"
	"errors"
	"fmt"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/cluster-network-operator/cno/internal/cli/apply"
	"github.com/cluster-network-operator/cno/internal/cli/connectivity"
	"github.com/cluster-network-operator/cno/internal/cli/rollback"
	"github.com/cluster-network-operator/cno/internal/offline"
	"github.com/cluster-network-operator/cno/internal/pipeline"
	"github.com/cluster-network-operator/cno/internal/preview"
	"github.com/cluster-network-operator/cno/internal/ui"
	"github.com/cluster-network-operator/cno/internal/ui/page"
)

// Actions changes and tests a cluster by the code of cno plan, apply, rollback and connectivity test. NewActions makes it.
type Actions struct {
	cluster  *Cluster
	preview  preview.Cluster
	pipeline pipeline.Pipeline
}

var _ ui.Actions = Actions{}

// NewActions returns the actions for a cluster.
func NewActions(c *Cluster, p pipeline.Pipeline) (Actions, error) {
	opened, err := preview.Open(c.config, c.Source.Namespace)
	return Actions{c, opened, p}, err
}

// Permissions is part of ui.Actions.
func (a Actions) Permissions(ctx context.Context) (change, test bool, err error) {
	if change, err = a.cluster.May(ctx, "patch", "operator.openshift.io", "networks"); err != nil {
		return false, false, err
	}
	test, err = a.cluster.May(ctx, "create", "", "namespaces")
	return change, test, err
}

// planned is a configuration with its plan.
type planned struct {
	preview.Result
	offline.Input
	// generation is that of the object in the cluster; 0 if it does not exist.
	generation int64
}

// Plan is part of ui.Actions.
func (a Actions) Plan(ctx context.Context, c ui.Change) (preview.Result, int64, error) {
	plan, err := a.plan(ctx, c)
	return plan.Result, plan.generation, err
}

func (a Actions) plan(ctx context.Context, c ui.Change) (plan planned, err error) {
	var problems []offline.Problem
	if plan.Input, problems, err = (offline.Files{Stdin: strings.NewReader(c.YAML)}).Configuration([]string{"-"}); err != nil {
		return plan, fmt.Errorf("%w: %w", page.ErrQuestion, err)
	}
	if len(problems) > 0 {
		if problems, err = plan.Check(ctx, a.pipeline, problems, pipeline.Input{}); err != nil {
			return plan, err
		}
		plan.Result = preview.Malformed(problems)
		return plan, nil
	}
	// The generation is read before the plan is made: a plan that is newer than its generation is reviewed once more than necessary, one that
	// is older would be applied to an object that the user has not seen. Without permission to read the object, there is only a plan.
	if plan.generation, err = a.preview.Generation(ctx, plan.Object); err != nil && !apierrors.IsForbidden(err) {
		return plan, fmt.Errorf("read %s: %w", plan.Name(), err)
	}
	plan.Result, err = apply.Plan(ctx, a.pipeline, a.preview, plan.Input, c.Acknowledge)
	return plan, err
}

// Apply is part of ui.Actions.
func (a Actions) Apply(ctx context.Context, c ui.Change) (preview.Result, int64, error) {
	plan, err := a.plan(ctx, c)
	if err != nil || !plan.Applies() {
		return plan.Result, 0, err
	}
	generation, err := a.preview.SubmitPlanned(ctx, plan.Object, plan.Acknowledgement, c.Force, c.Generation)
	if errors.Is(err, preview.ErrChanged) {
		err = fmt.Errorf("%s %w: review the new plan, or reload the page to start from the present configuration", plan.Name(), err)
	}
	if err != nil {
		return plan.Result, 0, fmt.Errorf("%w: %w", ui.ErrRefused, err)
	}
	return plan.Result, generation, nil
}

// Rollback is part of ui.Actions.
func (a Actions) Rollback(ctx context.Context, revision, acknowledge string, dryRun bool) (preview.Result, int, int64, error) {
	back, err := rollback.Prepare(ctx, a.pipeline, a.preview, revision, acknowledge)
	if err != nil || dryRun || !back.Plan.Applies() || back.Empty() {
		return back.Plan, back.Revision, 0, err
	}
	generation, err := back.Apply(ctx, a.preview)
	if err != nil {
		err = fmt.Errorf("%w: %w", ui.ErrRefused, err)
	}
	return back.Plan, back.Revision, generation, err
}

// Test is part of ui.Actions.
func (a Actions) Test(ctx context.Context, nodes []string) (connectivity.Report, error) {
	return connectivity.Test(ctx, a.cluster.config, a.cluster.Source.Namespace, a.pipeline.Registry, nodes, func(string, ...any) {})
}
