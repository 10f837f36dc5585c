// Package apply is `cno apply`: it shows the plan, applies a configuration, and follows its rollout.
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

// options are what the command line says.
type options struct {
	file, acknowledge string
	force, watch      bool
	timeout           time.Duration
	form              output.Format
	cluster           kubeconfig.Flags
}

// New makes the command.
func New(p pipeline.Pipeline) *cobra.Command {
	var o options
	cmd := &cobra.Command{
		Use:   "apply -f FILE",
		Short: "Show the plan, then apply a configuration",
		Long: `Plans a Network or NetworkConfig as cno plan does, and applies it (server-side, as field
manager cno) if the operator will not refuse it. A disruptive change needs --acknowledge with
the hash that the plan prints: it is valid for exactly this change of the applied configuration.

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
	f.DurationVar(&o.timeout, "timeout", 15*time.Minute, "how long to follow")
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
		if problems, err = in.Judge(ctx, p, problems); err != nil {
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
		// What will be done is said before it is done.
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
	return o.follow(cmd, cluster, in, generation)
}

// done is the answer in JSON and YAML: the plan, and whether it was applied, with the generation that came of it.
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

// applied says that a plan is.
func (o *options) applied(out io.Writer, plan preview.Result, generation int64) error {
	if o.form.ForPeople() {
		_, err := fmt.Fprintln(out, "Applied.")
		return err
	}
	return o.print(out, plan, generation)
}

// follow reports how the rollout goes: on standard error, where the answer is for a program.
func (o *options) follow(cmd *cobra.Command, cluster preview.Cluster, in offline.Input, generation int64) error {
	out := cmd.OutOrStdout()
	if !o.form.ForPeople() {
		out = cmd.ErrOrStderr()
	}
	if in.Network == nil {
		generation = 0 // the Network follows the NetworkConfig in a moment, with a generation of its own
	}
	ctx, cancel := context.WithTimeout(cmd.Context(), o.timeout)
	defer cancel()
	f := rolloutwatch.Watcher{Client: cluster.Client, Namespace: cluster.Namespace, Out: out, Now: time.Now}
	if err := f.Rollout(ctx, generation); err != nil {
		return &exit.Code{Status: exit.Refused, Err: err}
	}
	return nil
}

// Plan returns what the operator of a cluster would do with a configuration. acknowledge is the hash with which its change is
// acknowledged; if it is empty, that of the object itself counts.
func Plan(ctx context.Context, p pipeline.Pipeline, cluster preview.Cluster, in offline.Input, acknowledge string) (preview.Result, error) {
	world, _, err := cluster.World(ctx, facts.Cluster{Platform: "None", HostMTU: 1500, HostMTUAssumed: true, Images: facts.Images{"": "${%s}"}, APIServer: facts.HostPort{Host: "api-server.invalid", Port: 6443}})
	if err != nil {
		return preview.Result{}, err
	}
	world.Input.Acknowledged = acknowledge
	if acknowledge == "" {
		world.Input.Acknowledged = in.Acknowledged()
	}
	return preview.Run(ctx, p, in, world)
}

// refuse ends with the status for what is not applied, unless that could not even be said.
func refuse(err error) error {
	if err != nil {
		return err
	}
	return &exit.Code{Status: exit.Refused}
}
