// Package doctor implements `cno doctor`, which reports the problems of a cluster's network, the most severe first, and writes
// an archive for their diagnosis. It sends only reads and dry runs, and reads no Secrets.
package doctor

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"

	"github.com/cluster-network-operator/cno/internal/cli/exit"
	"github.com/cluster-network-operator/cno/internal/kubeconfig"
	"github.com/cluster-network-operator/cno/internal/output"
	"github.com/cluster-network-operator/cno/internal/pipeline"
	"github.com/cluster-network-operator/cno/internal/podexec"
	"github.com/cluster-network-operator/cno/internal/provider"
	"github.com/cluster-network-operator/cno/internal/typedclient"
)

// options are the command-line options.
type options struct {
	file string
	// directory is the directory to write instead of an archive; empty for none.
	directory string
	timeout   time.Duration
	form      output.Format
	cluster   kubeconfig.Flags
}

// Report is the result of cno doctor.
type Report struct {
	// Findings are the problems, the most severe first.
	Findings []Finding `json:"findings"`
	// Missing are the incomplete sections with their errors.
	Missing []string `json:"missing"`
	// Archive is the file or directory of the archive; empty if none was requested.
	Archive string    `json:"archive,omitempty"`
	Time    time.Time `json:"time"`
}

// The rate limits of requests.
const (
	requestsPerSecond = 200
	requestsAtOnce    = 400
)

// New creates the command. registry has all networks, now is the clock.
func New(registry pipeline.Registry, now func() time.Time) *cobra.Command {
	var o options
	cmd := &cobra.Command{
		Use:   "doctor",
		Short: "Diagnose the network, and collect its logs and objects in an archive",
		Long: `Collects objects, logs, reports of nodes and the results of connectivity checks in one archive, and
prints the problems found, the most severe first, each with its cause and a way out. If the network
supports it, its state on nodes is compared with the cluster's objects, by commands in its pods.

Nothing is stored in the cluster: dry runs show whether the operator can write. Secrets are not
read; values that look like passwords, tokens or keys are removed from everything else. A part that
cannot be collected in time is omitted and listed.

Exit status: 0 no problem was found; 1 a problem was found; 2 the cluster does not answer, the
archive cannot be written, or the command line is wrong.`,
		Example:           "  cno doctor\n  cno doctor --archive network.tar.gz --timeout 2m\n  cno doctor --archive '' -o json\n  cno doctor --directory must-gather",
		Args:              cobra.NoArgs,
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE:              func(cmd *cobra.Command, _ []string) error { return o.run(cmd, registry, now) },
	}
	f := cmd.Flags()
	f.StringVar(&o.file, "archive", "cno-doctor-"+now().UTC().Format("20060102-150405")+".tar.gz", "the archive to write; none if empty")
	f.StringVar(&o.directory, "directory", "", "write a directory in the layout of OpenShift's must-gather instead of the archive")
	f.DurationVar(&o.timeout, "timeout", 55*time.Second, "how long to collect; what is not complete by then is omitted")
	o.form.Add(cmd)
	o.cluster.Add(f)
	cmd.MarkFlagsMutuallyExclusive("archive", "directory")
	// The name contains the time, which would change the help each time.
	f.Lookup("archive").DefValue = "cno-doctor-TIME.tar.gz"
	return cmd
}

func (o *options) run(cmd *cobra.Command, registry pipeline.Registry, now func() time.Time) error {
	config, err := o.cluster.Config()
	if err != nil {
		return err
	}
	c, err := open(config, o.cluster.Namespace, registry, now)
	if err != nil {
		return err
	}
	found, err := c.collect(cmd.Context(), o.timeout)
	if err != nil {
		return err
	}
	res := Report{Findings: evaluate(found, c.namespace, c.clock.Now()), Missing: found.missing, Archive: o.target(), Time: now().UTC()}
	if err := o.keep(found, res); err != nil {
		return err
	}
	if o.form.ForPeople() {
		err = res.print(cmd.OutOrStdout())
	} else {
		err = o.form.Write(cmd.OutOrStdout(), res)
	}
	if err == nil && len(res.Findings) > 0 {
		return &exit.Code{Status: exit.Refused}
	}
	return err
}

// target returns the file or directory for the collected data; "" if none.
func (o *options) target() string { return cmp.Or(o.directory, o.file) }

// keep writes the collected data.
func (o *options) keep(found *collected, res Report) error {
	switch {
	case o.directory != "":
		files, err := found.directory(res)
		if err != nil {
			return err
		}
		return writeDirectory(o.directory, files)
	case o.file != "":
		return o.write(found, res)
	default:
		return nil
	}
}

// write creates the archive, which only its owner may read. It removes an incomplete archive.
func (o *options) write(found *collected, res Report) error {
	f, err := os.OpenFile(o.file, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return fmt.Errorf("write archive: %w", err)
	}
	err = found.archive(f, res)
	if closing := f.Close(); err == nil {
		err = closing
	}
	if err != nil {
		_ = os.Remove(o.file)
		return fmt.Errorf("write archive: %w", err)
	}
	return nil
}

// print writes the report as text.
func (r Report) print(w io.Writer) error {
	if len(r.Findings) == 0 {
		if _, err := fmt.Fprintln(w, "No problems found."); err != nil {
			return err
		}
	}
	for i, f := range r.Findings {
		if _, err := fmt.Fprintf(w, "%d. %s: %s\n   cause:  %s\n   remedy: %s\n", i+1, f.Severity, f.What, f.Cause, f.WayOut); err != nil {
			return err
		}
	}
	for _, m := range r.Missing {
		if _, err := fmt.Fprintln(w, "incomplete: "+m); err != nil {
			return err
		}
	}
	if r.Archive == "" {
		return nil
	}
	_, err := fmt.Fprintf(w, "Everything that was collected is in %s\n", r.Archive)
	return err
}

// open creates the clients. They are read-only: a request that would write is refused before it is sent.
func open(config *rest.Config, namespace string, registry pipeline.Registry, now func() time.Time) (*collector, error) {
	config = rest.CopyConfig(config)
	config.QPS, config.Burst = requestsPerSecond, requestsAtOnce
	config.Wrap(readOnly)
	clock := kubeconfig.NewClock(config, now)
	httpClient, err := rest.HTTPClientFor(config)
	if err != nil {
		return nil, fmt.Errorf("reach the cluster: %w", err)
	}
	mapper, err := apiutil.NewDynamicRESTMapper(config, httpClient)
	if err != nil {
		return nil, fmt.Errorf("reach the cluster: %w", err)
	}
	api, err := dynamic.NewForConfig(config)
	if err != nil {
		return nil, fmt.Errorf("reach the cluster: %w", err)
	}
	typed, err := typedclient.New(config)
	if err != nil {
		return nil, fmt.Errorf("reach the cluster: %w", err)
	}
	objects, err := objectsOf(config, httpClient, mapper)
	if err != nil {
		return nil, err
	}
	return &collector{
		api: api, typed: typed, mapper: mapper, clock: clock, namespace: namespace, operands: registry.Operands(), examiner: registry.Examiner,
		access: provider.TraceAccess{Objects: objects, Run: podexec.Runner{Config: config, Objects: objects}.Run},
	}, nil
}

// reachable returns an error if the API server is unreachable.
func (c *collector) reachable(ctx context.Context) error {
	if _, err := c.typed.CoreV1.RESTClient().Get().AbsPath("/version").DoRaw(ctx); err != nil {
		return fmt.Errorf("reach the cluster: %w", err)
	}
	return nil
}
