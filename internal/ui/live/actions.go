package live

import (
	"context"
	"fmt"
	"strings"

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

// Plan is part of ui.Actions.
func (a Actions) Plan(ctx context.Context, text, acknowledge string) (preview.Result, error) {
	plan, _, err := a.plan(ctx, text, acknowledge)
	return plan, err
}

func (a Actions) plan(ctx context.Context, text, acknowledge string) (preview.Result, offline.Input, error) {
	in, problems, err := offline.Files{Stdin: strings.NewReader(text)}.Configuration([]string{"-"})
	if err != nil {
		return preview.Result{}, in, fmt.Errorf("%w: %w", page.ErrQuestion, err)
	}
	if len(problems) > 0 {
		if problems, err = in.Check(ctx, a.pipeline, problems); err != nil {
			return preview.Result{}, in, err
		}
		return preview.Malformed(problems), in, nil
	}
	plan, err := apply.Plan(ctx, a.pipeline, a.preview, in, acknowledge)
	return plan, in, err
}

// Apply is part of ui.Actions.
func (a Actions) Apply(ctx context.Context, text, acknowledge string, force bool) (preview.Result, int64, error) {
	plan, in, err := a.plan(ctx, text, acknowledge)
	if err != nil || !plan.Applies() {
		return plan, 0, err
	}
	generation, err := a.preview.Submit(ctx, in.Object, plan.Acknowledgement, force)
	if err != nil {
		return plan, 0, fmt.Errorf("%w: %w", ui.ErrRefused, err)
	}
	return plan, generation, nil
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
