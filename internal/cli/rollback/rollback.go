// Package rollback is `cno rollback`: back to a network that was applied before, if the way back is safe or
// acknowledged.
package rollback

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/runtime"

	operatorv1 "github.com/cluster-network-operator/cno/api/operator/v1"
	"github.com/cluster-network-operator/cno/internal/applied"
	"github.com/cluster-network-operator/cno/internal/cli/exit"
	"github.com/cluster-network-operator/cno/internal/facts"
	"github.com/cluster-network-operator/cno/internal/kubeconfig"
	"github.com/cluster-network-operator/cno/internal/offline"
	"github.com/cluster-network-operator/cno/internal/output"
	"github.com/cluster-network-operator/cno/internal/pipeline"
	"github.com/cluster-network-operator/cno/internal/preview"
	"github.com/cluster-network-operator/cno/internal/rolloutwatch"
)

// options are what the command line says.
type options struct {
	acknowledge   string
	watch, dryRun bool
	timeout       time.Duration
	form          output.Format
	cluster       kubeconfig.Flags
}

// New makes the command.
func New(p pipeline.Pipeline) *cobra.Command {
	var o options
	cmd := &cobra.Command{
		Use:   "rollback [REVISION]",
		Short: "Return to a network that was applied before",
		Long: `Restores the fields of Network/cluster to the values of a revision. The default is the active
revision if the operator refuses the current specification: that undoes the refused edit.
Otherwise it is the last healthy revision before the active one that differs from it. "current"
names the active revision. Fields with the same value are not rewritten.

A rollback is planned as any change is: unsafe changes are refused, and disruptive ones need
--acknowledge with the hash that the plan prints.

Exit status: 0 done, or nothing to do; 1 the rollback is refused or not acknowledged, or the
rollout stalls; 2 there is no such revision, or the cluster does not answer.`,
		Example:           "  cno rollback --watch\n  cno rollback current\n  cno rollback 3 --dry-run",
		Args:              cobra.MaximumNArgs(1),
		ValidArgsFunction: preview.CompleteRevisions(&o.cluster, "current"),
		RunE: func(cmd *cobra.Command, args []string) error {
			name := ""
			if len(args) == 1 {
				name = args[0]
			}
			return o.run(cmd, p, name)
		},
	}
	f := cmd.Flags()
	f.StringVar(&o.acknowledge, "acknowledge", "", "the hash that the plan prints for a disruptive change")
	f.BoolVar(&o.dryRun, "dry-run", false, "show the plan, and change nothing")
	f.BoolVar(&o.watch, "watch", false, "follow the rollout until the network is healthy")
	f.DurationVar(&o.timeout, "timeout", 15*time.Minute, "how long to follow")
	o.form.Add(cmd)
	o.cluster.Add(f)
	return cmd
}

func (o *options) run(cmd *cobra.Command, p pipeline.Pipeline, name string) error {
	ctx, out := cmd.Context(), cmd.OutOrStdout()
	config, err := o.cluster.Config()
	if err != nil {
		return err
	}
	cluster, err := preview.Open(config, o.cluster.Namespace)
	if err != nil {
		return err
	}
	world, records, err := cluster.World(ctx, facts.Cluster{})
	if err != nil {
		return err
	}
	network, err := cluster.Network(ctx)
	if err != nil {
		return fmt.Errorf("read network: %w", err)
	}
	if name == "" && refused(ctx, p, world, network.Object) {
		name = current
	}
	target, err := revision(records, name)
	if err != nil {
		return err
	}
	patch, next, err := back(ctx, p, world, network.Object, target)
	if err != nil {
		return err
	}
	world.Input.Acknowledged = o.acknowledge
	plan, err := preview.Run(ctx, p, offline.Input{File: fmt.Sprintf("revision %d", target.Number), Network: next}, world)
	if err != nil {
		return err
	}
	if o.form.ForPeople() {
		if err := plan.Write(out); err != nil {
			return err
		}
	}
	if !plan.Applies() || o.dryRun || len(patch) == 0 {
		return o.nothing(out, plan, target.Number)
	}
	body := map[string]any{"spec": patch}
	if plan.Acknowledgement != "" {
		body["metadata"] = map[string]any{"annotations": map[string]any{pipeline.AcknowledgeAnnotation: plan.Acknowledgement}}
	}
	generation, err := cluster.Patch(ctx, network, body)
	if err != nil {
		return &exit.Code{Status: exit.Refused, Err: fmt.Errorf("roll back to revision %d: %w", target.Number, err)}
	}
	if o.form.ForPeople() {
		_, err = fmt.Fprintf(out, "Rolled back to revision %d.\n", target.Number)
	} else {
		err = o.form.Write(out, done{Result: plan, Revision: target.Number, Applied: true, Generation: generation})
	}
	if err != nil || !o.watch {
		return err
	}
	return o.follow(cmd, cluster, generation)
}

// done is the answer in JSON and YAML: the plan, the revision it leads back to, and whether it was applied, with the
// generation that came of it.
type done struct {
	preview.Result
	Revision   int   `json:"revision"`
	Applied    bool  `json:"applied"`
	Generation int64 `json:"generation,omitempty"`
}

// nothing ends without a change: there is none to make, it is not to be made, or it may not be.
func (o *options) nothing(out io.Writer, plan preview.Result, revision int) error {
	if !o.form.ForPeople() {
		if err := o.form.Write(out, done{Result: plan, Revision: revision}); err != nil {
			return err
		}
	}
	if !plan.Applies() {
		return &exit.Code{Status: exit.Refused}
	}
	return nil
}

// follow reports how the rollout goes: on standard error, where the answer is for a program.
func (o *options) follow(cmd *cobra.Command, cluster preview.Cluster, generation int64) error {
	out := cmd.OutOrStdout()
	if !o.form.ForPeople() {
		out = cmd.ErrOrStderr()
	}
	ctx, cancel := context.WithTimeout(cmd.Context(), o.timeout)
	defer cancel()
	f := rolloutwatch.Watcher{Client: cluster.Client, Namespace: cluster.Namespace, Out: out, Now: time.Now}
	if err := f.Rollout(ctx, generation); err != nil {
		return &exit.Code{Status: exit.Refused, Err: err}
	}
	return nil
}

// current names the active revision.
const current = "current"

// refused reports whether the operator refuses the specification as it is, for good or until it is acknowledged.
func refused(ctx context.Context, p pipeline.Pipeline, w preview.World, object map[string]any) bool {
	var present operatorv1.Network
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(object, &present); err != nil {
		return false // reported by who reads it next
	}
	in := w.Input
	in.Desired, in.Acknowledged = &present.Spec, present.Annotations[pipeline.AcknowledgeAnnotation]
	_, err := p.Run(ctx, in, pipeline.Check)
	return pipeline.RefusalsOf(err) != nil
}

// revision finds the one to return to: the one that is named, or else the last one that differs and was healthy, or at
// least was applied.
func revision(r preview.Records, name string) (applied.Revision, error) {
	if name == current {
		name = strconv.Itoa(r.Record.BaselineNumber())
	}
	if name != "" {
		i := slices.IndexFunc(r.History, func(rev applied.Revision) bool { return strconv.Itoa(rev.Number) == name })
		if i < 0 {
			return applied.Revision{}, fmt.Errorf("there is no revision %q; cno history lists those that are kept", name)
		}
		return r.History[i], nil
	}
	active, hash := r.Record.BaselineNumber(), hashOf(r.Record)
	for _, outcome := range []applied.Outcome{applied.OutcomeHealthy, applied.OutcomeApplied} {
		for _, rev := range slices.Backward(r.History) {
			if rev.Number < active && rev.Outcome == outcome && rev.Hash != hash {
				return rev, nil
			}
		}
	}
	return applied.Revision{}, errors.New("no earlier revision differs from the active one; cno history lists the revisions, and cno rollback current undoes an edit that is not applied")
}

// hashOf names what is applied: going back to the same would change nothing.
func hashOf(r applied.Record) string {
	if r.Unfinished() {
		return r.Intent.Hash()
	}
	return r.Applied.Hash()
}

// back returns the merge patch for the specification that makes it what it was in a revision, and the Network that it
// makes. What is written stays as it is written where it means the same.
func back(ctx context.Context, p pipeline.Pipeline, w preview.World, object map[string]any, target applied.Revision) (map[string]any, *operatorv1.Network, error) {
	var present operatorv1.Network
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(object, &present); err != nil {
		return nil, nil, fmt.Errorf("read network: %w", err)
	}
	snapshot, err := target.Snapshot()
	if err != nil {
		return nil, nil, err
	}
	base := &present.Spec
	in := w.Input
	in.Desired = base
	if res, err := p.Run(ctx, in, pipeline.Fill); err == nil {
		base = res.Spec
	}
	patch, err := preview.MergePatch(base, snapshot.Spec())
	if err != nil {
		return nil, nil, err
	}
	next := present.DeepCopy()
	next.Annotations = nil
	if err := preview.Merge(&next.Spec, patch); err != nil {
		return nil, nil, err
	}
	return patch, next, nil
}
