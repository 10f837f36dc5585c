// Package plan implements `cno plan`, which previews the effect of a configuration.
package plan

import (
	"context"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/cluster-network-operator/cno/internal/cli/exit"
	"github.com/cluster-network-operator/cno/internal/facts"
	"github.com/cluster-network-operator/cno/internal/kubeconfig"
	"github.com/cluster-network-operator/cno/internal/offline"
	"github.com/cluster-network-operator/cno/internal/output"
	"github.com/cluster-network-operator/cno/internal/pipeline"
	"github.com/cluster-network-operator/cno/internal/preview"
)

// options are the command-line options.
type options struct {
	file, applied, images, platform string
	form                            output.Format
	hostMTU                         int
	offline                         bool
	cluster                         kubeconfig.Flags
	version                         string
}

// New creates the command. version is that of rendered objects if no operator has run in the cluster yet.
func New(p pipeline.Pipeline, version string) *cobra.Command {
	o := options{version: version}
	cmd := &cobra.Command{
		Use:   "plan -f FILE",
		Short: "Show what the operator would do with a configuration",
		Long: `Runs the operator's own stages on a Network or NetworkConfig, and prints its errors, the defaults
that it sets, each changed field with its class and disruption, and the objects that would be
created, changed and deleted. Nothing is changed: the plan reads objects of the cluster, and uses
server-side dry runs.

The configuration is compared with the one applied in the cluster, or with --applied. Without
either, it is planned for a fresh cluster.

Exit status: 0 the operator would apply it, or there is nothing to do; 1 it is invalid, its
change is refused or not acknowledged, or the API server refuses an object of it; 2 the input
cannot be read, the cluster does not answer, or the command line is wrong.`,
		Example: `  cno plan -f network.yaml
  cno plan -f network.yaml --applied applied.json -o json
  kubectl get networks.operator.openshift.io cluster -o yaml | sed 's/Normal/Debug/' | cno plan -f -`,
		Args:              cobra.NoArgs,
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE:              func(cmd *cobra.Command, _ []string) error { return o.run(cmd, p) },
	}
	f := cmd.Flags()
	f.StringVarP(&o.file, "file", "f", "", "file of a Network or NetworkConfig, - for standard input")
	f.StringVar(&o.applied, "applied", "", "the applied configuration, instead of that of a cluster: the JSON of the record, its ConfigMap, or a Network or NetworkConfig")
	f.BoolVar(&o.offline, "offline", false, "do not connect to a cluster, even if one is configured")
	f.IntVar(&o.hostMTU, "host-mtu", 0, "smallest MTU of the nodes' interfaces in bytes, without a cluster (default 1500; the default never causes a refusal)")
	f.StringVar(&o.platform, "platform", "None", "infrastructure platform, without a cluster, for example BareMetal or AWS")
	f.StringVar(&o.images, "images", "", "file of NAME=image pairs, without a cluster")
	o.form.Add(cmd)
	o.cluster.Add(f)
	_ = cmd.MarkFlagRequired("file")
	return cmd
}

func (o *options) run(cmd *cobra.Command, p pipeline.Pipeline) error {
	if o.hostMTU != 0 && (o.hostMTU < 576 || o.hostMTU > 65536) {
		return fmt.Errorf("--host-mtu %d is out of range 576-65536", o.hostMTU)
	}
	files := offline.Files{Stdin: cmd.InOrStdin()}
	in, problems, err := files.Configuration([]string{o.file})
	if err != nil {
		return err
	}
	if len(problems) > 0 {
		if problems, err = in.Check(cmd.Context(), p, problems, pipeline.Input{}); err != nil {
			return err
		}
		return o.print(cmd.OutOrStdout(), preview.Malformed(problems))
	}
	state, err := o.state(cmd.Context(), files, p)
	if err != nil {
		return err
	}
	state.Input.Acknowledged = in.Acknowledged()
	answer, err := preview.Run(cmd.Context(), p, in, state)
	if err != nil {
		return err
	}
	return o.print(cmd.OutOrStdout(), answer)
}

// state returns the state of the cluster, that of a file, or that of a new cluster.
func (o *options) state(ctx context.Context, files offline.Files, p pipeline.Pipeline) (preview.State, error) {
	known := facts.Cluster{Platform: o.platform, HostMTU: o.hostMTU, ReleaseVersion: o.version, Images: facts.Images{"": "${%s}"}, APIServer: facts.HostPort{Host: "api-server.invalid", Port: 6443}}
	if o.images != "" {
		images, err := files.Images(o.images)
		if err != nil {
			return preview.State{}, err
		}
		known.Images = images
	}
	if known.HostMTU == 0 {
		known.HostMTU, known.HostMTUAssumed = 1500, true
	}
	if o.applied == "" && !o.offline && o.cluster.Names() {
		return o.live(ctx, known)
	}
	known.Declared = facts.NoCluster()
	in := pipeline.Input{Cluster: known}
	if o.applied != "" {
		var err error
		if in.Applied, in.Revision, err = files.Applied(o.applied); err != nil {
			return preview.State{}, err
		}
	}
	return preview.Offline(ctx, p, in)
}

func (o *options) live(ctx context.Context, known facts.Cluster) (preview.State, error) {
	config, err := o.cluster.Config()
	if err != nil {
		return preview.State{}, err
	}
	cluster, err := preview.Open(config, o.cluster.Namespace)
	if err != nil {
		return preview.State{}, err
	}
	state, _, err := cluster.State(ctx, known)
	return state, err
}

// print writes the result. It returns an exit status for a configuration that would not be applied.
func (o *options) print(w io.Writer, a preview.Result) error {
	write := a.Write
	if !o.form.ForPeople() {
		write = func(w io.Writer) error { return o.form.Write(w, a) }
	}
	if err := write(w); err != nil {
		return err
	}
	if !a.Applies() {
		return &exit.Code{Status: exit.Refused}
	}
	return nil
}
