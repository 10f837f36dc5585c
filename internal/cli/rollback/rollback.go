// Package rollback implements `cno rollback`, which returns to a previous revision if the change is safe or
// acknowledged.
package rollback

import (
	"context"
	"fmt"
	"io"
	"time"

	"github.com/spf13/cobra"

	"github.com/cluster-network-operator/cno/internal/cli/exit"
	"github.com/cluster-network-operator/cno/internal/kubeconfig"
	"github.com/cluster-network-operator/cno/internal/output"
	"github.com/cluster-network-operator/cno/internal/pipeline"
	"github.com/cluster-network-operator/cno/internal/preview"
	"github.com/cluster-network-operator/cno/internal/rolloutwatch"
)

// options are the command-line options.
type options struct {
	acknowledge   string
	watch, dryRun bool
	timeout       time.Duration
	form          output.Format
	cluster       kubeconfig.Flags
}

// New creates the command.
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
	f.DurationVar(&o.timeout, "timeout", 15*time.Minute, "how long to follow the rollout")
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
	back, err := Prepare(ctx, p, cluster, name, o.acknowledge)
	if err != nil {
		return err
	}
	plan := back.Plan
	if o.form.ForPeople() {
		if err := plan.Write(out); err != nil {
			return err
		}
	}
	if !plan.Applies() || o.dryRun || back.Empty() {
		return o.nothing(out, plan, back.Revision)
	}
	generation, err := back.Apply(ctx, cluster)
	if err != nil {
		return &exit.Code{Status: exit.Refused, Err: err}
	}
	if o.form.ForPeople() {
		_, err = fmt.Fprintf(out, "Rolled back to revision %d.\n", back.Revision)
	} else {
		err = o.form.Write(out, done{Result: plan, Revision: back.Revision, Applied: true, Generation: generation})
	}
	if err != nil || !o.watch {
		return err
	}
	return o.watchRollout(cmd, cluster, generation)
}

// done is the output in JSON and YAML: the plan, the target revision, and whether it was applied, with the resulting
// generation.
type done struct {
	preview.Result
	Revision   int   `json:"revision"`
	Applied    bool  `json:"applied"`
	Generation int64 `json:"generation,omitempty"`
}

// nothing ends without a change: there is none, a dry run was requested, or it is refused.
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

// watchRollout reports the progress of the rollout: on standard error if the output is JSON or YAML.
func (o *options) watchRollout(cmd *cobra.Command, cluster preview.Cluster, generation int64) error {
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
