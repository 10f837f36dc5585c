// Package apply implements `cno apply`, which prints the plan, applies a configuration, and watches its rollout.
package apply

import (
	"context"
	"fmt"
	"io"
	"time"

	"github.com/spf13/cobra"

	"github.com/cluster-network-operator/cno/internal/cli/exit"
	"github.com/cluster-network-operator/cno/internal/facts"
	"github.com/cluster-network-operator/cno/internal/kubeconfig"
	"github.com/cluster-network-operator/cno/internal/offline"
	"github.com/cluster-network-operator/cno/internal/output"
	"github.com/cluster-network-operator/cno/internal/pipeline"
	"github.com/cluster-network-operator/cno/internal/preview"
	"github.com/cluster-network-operator/cno/internal/rolloutwatch"
)

// options are the command-line options.
type options struct {
	file, acknowledge string
	force, watch      bool
	timeout           time.Duration
	form              output.Format
	cluster           kubeconfig.Flags
}

// New creates the command.
func New(p pipeline.Pipeline) *cobra.Command {
	var o options
	cmd := &cobra.Command{
		Use:   "apply -f FILE",
		Short: "Show the plan, then apply a configuration",
		Long: `Plans a Network or NetworkConfig as cno plan does, and applies it (server-side, as field
manager cno) unless the operator would refuse it. A disruptive change needs --acknowledge with
the hash that the plan prints, which is valid for exactly this change of the applied configuration.

Exit status: 0 applied, and with --watch healthy; 1 the configuration is invalid, its change
refused or not acknowledged, or the rollout stalls or takes too long; 2 the input cannot be
read, the cluster does not answer, or the command line is wrong. With -o json or yaml, the plan is
printed with "applied", and the rollout goes to standard error.`,
		Example: `  cno apply -f network.yaml --watch
  cno apply -f network.yaml --acknowledge 3f6c0e5f9a1b2c3d4e5f60718293a4b5`,
		Args:              cobra.NoArgs,
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE:              func(cmd *cobra.Command, _ []string) error { return o.run(cmd, p) },
	}
	f := cmd.Flags()
	f.StringVarP(&o.file, "file", "f", "", "file of a Network or NetworkConfig, - for standard input")
	f.StringVar(&o.acknowledge, "acknowledge", "", "the hash that cno plan prints for a disruptive change")
	f.BoolVar(&o.force, "force-conflicts", false, "take over fields that another field manager has set")
	f.BoolVar(&o.watch, "watch", false, "follow the rollout until the network is healthy")
	f.DurationVar(&o.timeout, "timeout", 15*time.Minute, "how long to follow the rollout")
	o.form.Add(cmd)
	o.cluster.Add(f)
	_ = cmd.MarkFlagRequired("file")
	return cmd
}

func (o *options) run(cmd *cobra.Command, p pipeline.Pipeline) error {
	ctx, out := cmd.Context(), cmd.OutOrStdout()
	in, problems, err := offline.Files{Stdin: cmd.InOrStdin()}.Configuration([]string{o.file})
	if err != nil {
		return err
	}
	if len(problems) > 0 {
		if problems, err = in.Check(ctx, p, problems, pipeline.Input{}); err != nil {
			return err
		}
		return refuse(o.print(out, preview.Malformed(problems), 0))
	}
	config, err := o.cluster.Config()
	if err != nil {
		return err
	}
	cluster, err := preview.Open(config, o.cluster.Namespace)
	if err != nil {
		return err
	}
	plan, err := Plan(ctx, p, cluster, in, o.acknowledge)
	if err != nil {
		return err
	}
	if !plan.Applies() {
		return refuse(o.print(out, plan, 0))
	}
	if o.form.ForPeople() {
		// The plan is printed before it is applied.
		if err := plan.Write(out); err != nil {
			return err
		}
	}
	generation, err := cluster.Submit(ctx, in.Object, plan.Acknowledgement, o.force)
	if err != nil {
		return &exit.Code{Status: exit.Refused, Err: fmt.Errorf("apply %s: %w", o.file, err)}
	}
	if err := o.applied(out, plan, generation); err != nil || !o.watch {
		return err
	}
	return o.watchRollout(cmd, cluster, in, generation)
}

// done is the output in JSON and YAML: the plan, and whether it was applied, with the resulting generation.
type done struct {
	preview.Result
	Applied    bool  `json:"applied"`
	Generation int64 `json:"generation,omitempty"`
}

// print writes a plan that is not applied.
func (o *options) print(out io.Writer, plan preview.Result, generation int64) error {
	if o.form.ForPeople() {
		return plan.Write(out)
	}
	return o.form.Write(out, done{Result: plan, Applied: generation > 0, Generation: generation})
}

// applied writes a plan that was applied.
func (o *options) applied(out io.Writer, plan preview.Result, generation int64) error {
	if o.form.ForPeople() {
		_, err := fmt.Fprintln(out, "Applied.")
		return err
	}
	return o.print(out, plan, generation)
}

// watchRollout reports the progress of the rollout: on standard error if the output is JSON or YAML.
func (o *options) watchRollout(cmd *cobra.Command, cluster preview.Cluster, in offline.Input, generation int64) error {
	out := cmd.OutOrStdout()
	if !o.form.ForPeople() {
		out = cmd.ErrOrStderr()
	}
	if in.Network == nil {
		generation = 0 // the operator updates the Network from the NetworkConfig, with another generation
	}
	ctx, cancel := context.WithTimeout(cmd.Context(), o.timeout)
	defer cancel()
	f := rolloutwatch.Watcher{Client: cluster.Client, Namespace: cluster.Namespace, Out: out, Now: time.Now}
	if err := f.Rollout(ctx, generation); err != nil {
		return &exit.Code{Status: exit.Refused, Err: err}
	}
	return nil
}

// Plan previews a configuration in a cluster. acknowledge is the hash that acknowledges its change; if it is empty, that of
// the object's annotation is used.
func Plan(ctx context.Context, p pipeline.Pipeline, cluster preview.Cluster, in offline.Input, acknowledge string) (preview.Result, error) {
	state, _, err := cluster.State(ctx, facts.Cluster{Platform: "None", HostMTU: 1500, HostMTUAssumed: true, Images: facts.Images{"": "${%s}"}, APIServer: facts.HostPort{Host: "api-server.invalid", Port: 6443}})
	if err != nil {
		return preview.Result{}, err
	}
	state.Input.Acknowledged = acknowledge
	if acknowledge == "" {
		state.Input.Acknowledged = in.Acknowledged()
	}
	return preview.Run(ctx, p, in, state)
}

// refuse returns the exit status for a refused configuration, or an error of writing the output.
func refuse(err error) error {
	if err != nil {
		return err
	}
	return &exit.Code{Status: exit.Refused}
}
