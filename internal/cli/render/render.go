// Package render implements `cno render` and cluster-network-renderer, which render the operator's objects without a cluster.
package render

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"strconv"

	"github.com/spf13/cobra"

	"github.com/cluster-network-operator/cno/internal/cli/exit"
	"github.com/cluster-network-operator/cno/internal/facts"
	"github.com/cluster-network-operator/cno/internal/manifest"
	"github.com/cluster-network-operator/cno/internal/offline"
	"github.com/cluster-network-operator/cno/internal/pipeline"
)

// options are the command-line options.
type options struct {
	files     []string
	applied   string
	hostMTU   int
	platform  string
	images    string
	apiServer string
	output    string
}

// New creates the command `render`. version is the version of the rendered objects.
func New(p pipeline.Pipeline, version string) *cobra.Command {
	o := options{}
	cmd := &cobra.Command{
		Use:   "render -f FILE...",
		Short: "Show what the operator would apply on a fresh cluster",
		Long: `Runs the operator's own stages on a Network or NetworkConfig object, without a cluster, and
writes the objects that the operator would apply, in the same order. The same input always gives
identical output.

Exit status: 0 rendered, 1 the configuration is invalid or its change is refused, 2 the input
cannot be read, or the command line is wrong.`,
		Example:           "  cno render -f network.yaml --images images.env --out objects.yaml\n  cno render -f network.yaml --out manifests/",
		Args:              cobra.NoArgs,
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE:              func(cmd *cobra.Command, _ []string) error { return o.run(cmd, p, version) },
	}
	f := cmd.Flags()
	f.StringArrayVarP(&o.files, "file", "f", nil, "file of a Network or NetworkConfig, - for standard input; may be repeated")
	f.StringVar(&o.applied, "applied", "", "the applied configuration: the JSON of the record, or a Network object (- for standard input)")
	f.StringVar(&o.output, "out", "-", "the file, or the directory (one file for each object), to write; - for standard output")
	o.clusterFlags(cmd)
	_ = cmd.MarkFlagRequired("file")
	return cmd
}

// NewRenderer creates the command cluster-network-renderer, which has the flags of the first operator's renderer.
func NewRenderer(p pipeline.Pipeline, version string) *cobra.Command {
	o := options{}
	var config string
	cmd := &cobra.Command{
		Use:           "cluster-network-renderer --config FILE --out FILE",
		Short:         "Write what the operator would apply on a fresh cluster",
		Version:       version,
		Args:          cobra.NoArgs,
		SilenceUsage:  true,
		SilenceErrors: true,
		RunE: func(cmd *cobra.Command, _ []string) error {
			o.files = []string{config}
			return o.run(cmd, p, version)
		},
	}
	cmd.Flags().StringVar(&config, "config", "", "file of a Network or NetworkConfig, - for standard input")
	cmd.Flags().StringVar(&o.output, "out", "", "the file to write; - for standard output")
	o.clusterFlags(cmd)
	_ = cmd.MarkFlagRequired("config")
	_ = cmd.MarkFlagRequired("out")
	return cmd
}

func (o *options) clusterFlags(cmd *cobra.Command) {
	f := cmd.Flags()
	f.IntVar(&o.hostMTU, "host-mtu", 1500, "smallest MTU of the nodes' interfaces, in bytes; the default never causes a refusal")
	f.StringVar(&o.platform, "platform", "None", "infrastructure platform, for example BareMetal or AWS")
	f.StringVar(&o.images, "images", "", "file of NAME=image pairs, as in the operator's environment")
	f.StringVar(&o.apiServer, "api-server", "api-server.invalid:6443", "host and port at which nodes reach the API server")
}

func (o *options) run(cmd *cobra.Command, p pipeline.Pipeline, version string) error {
	files := offline.Files{Stdin: cmd.InOrStdin()}
	in, problems, err := files.Configuration(o.files)
	if err != nil {
		return err
	}
	input, err := o.input(files, cmd.ErrOrStderr(), version)
	if err != nil {
		return err
	}
	input.Cluster.HostMTUAssumed = !cmd.Flags().Changed("host-mtu")
	if problems, err = in.Check(cmd.Context(), p, problems, offline.NoCluster(input.Applied)); err != nil {
		return err
	}
	if len(problems) > 0 {
		return refuse(cmd.ErrOrStderr(), problems)
	}
	input.Desired, _ = in.Spec()
	res, err := p.Run(cmd.Context(), input, pipeline.Render)
	if err != nil {
		if wrong, ok := in.Problems(err); ok {
			return refuse(cmd.ErrOrStderr(), wrong)
		}
		return err
	}
	return write(cmd.Context(), cmd.OutOrStdout(), cmd.ErrOrStderr(), o.output, res)
}

func (o *options) input(files offline.Files, stderr io.Writer, version string) (pipeline.Input, error) {
	host, port, err := net.SplitHostPort(o.apiServer)
	if err != nil {
		return pipeline.Input{}, fmt.Errorf("--api-server %q is not host:port: %w", o.apiServer, err)
	}
	number, err := strconv.ParseUint(port, 10, 16)
	if err != nil || number == 0 {
		return pipeline.Input{}, fmt.Errorf("--api-server %q: the port must be 1 to 65535", o.apiServer)
	}
	if o.hostMTU < 576 || o.hostMTU > 65536 {
		return pipeline.Input{}, fmt.Errorf("--host-mtu %d is out of range 576-65536", o.hostMTU)
	}
	in := pipeline.Input{Cluster: facts.Cluster{
		Platform:       o.platform,
		HostMTU:        o.hostMTU,
		APIServer:      facts.HostPort{Host: host, Port: int(number)},
		ReleaseVersion: version,
		Declared:       facts.NoCluster(),
	}}
	if o.images == "" {
		in.Cluster.Images = facts.Images{"": "${%s}"}
		_, err = fmt.Fprintln(stderr, "no --images given: images are placeholders named after the operator's environment variables, for example ${FLANNEL_IMAGE}")
	} else {
		in.Cluster.Images, err = files.Images(o.images)
	}
	if err == nil && o.applied != "" {
		in.Applied, in.Revision, err = files.Applied(o.applied)
	}
	return in, err
}

func refuse(stderr io.Writer, problems []offline.Problem) error {
	offline.SortProblems(problems)
	if err := offline.Write(stderr, problems); err != nil {
		return err
	}
	return &exit.Code{Status: exit.Refused}
}

// objects returns the objects of all components in the order in which the operator applies them.
func objects(res pipeline.Result, stderr io.Writer) ([]manifest.Object, error) {
	var objs []manifest.Object
	for _, out := range res.Outputs {
		if out.Err != nil {
			return nil, out.Err
		}
		for _, note := range []string{out.Output.Waiting, out.Output.Unavailable} {
			if note == "" {
				continue
			}
			if _, err := fmt.Fprintf(stderr, "%s: %s\n", out.Name, note); err != nil {
				return nil, err
			}
		}
		objs = append(objs, out.Output.Objects...)
	}
	return manifest.Sorted(objs), nil
}

func write(ctx context.Context, stdout, stderr io.Writer, output string, res pipeline.Result) error {
	objs, err := objects(res, stderr)
	if err != nil {
		return err
	}
	dst := offline.Destination{Name: output, Stdout: stdout}
	return errors.Join(ctx.Err(), dst.Write(objs))
}
