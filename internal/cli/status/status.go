// Package status implements `cno status`, which prints the state of the network of a cluster by component.
//
// It reads the conditions that the operator has published and whether the operator runs; it decides no conditions itself.
package status

import (
	"context"
	"errors"
	"fmt"
	"io"
	"reflect"
	"time"

	"github.com/spf13/cobra"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/cluster-network-operator/cno/internal/cli/exit"
	"github.com/cluster-network-operator/cno/internal/kubeconfig"
	"github.com/cluster-network-operator/cno/internal/output"
)

// The exit statuses besides those of all commands.
const (
	// Unhealthy means that the network is absent, unavailable or degraded, or that its state is unknown.
	Unhealthy = 1
	// Changing means that the network works and is being changed.
	Changing = 3
)

// interval is the interval at which --watch reads the state.
const interval = time.Second

// options are the command-line options.
type options struct {
	cluster kubeconfig.Flags
	form    output.Format
	watch   bool
	wait    bool
	timeout time.Duration
}

// New creates the command. colored reports whether the standard output is a terminal with colours; now is the clock.
func New(colored func() bool, now func() time.Time) *cobra.Command {
	var o options
	cmd := &cobra.Command{
		Use:   "status",
		Short: "Show the state of the network, component by component",
		Long: `Prints the state of the network: the operator, the network as a whole, its components, and the
operator's other controllers that report a condition. The message is that of the most severe
condition; it names workload, pod, node and container.

The state is unknown while the operator does not run, has not renewed its lease for a minute, or
cannot be observed with the permissions of the user: the conditions may then be out of date.

Exit status: 0 healthy; 3 the network works and is being changed; 1 it is absent, not available
or degraded, or its state is unknown; 2 the cluster does not answer, or the command line is
wrong. With --watch and --wait, it is that of the last observation.`,
		Example:           "  cno status\n  cno status --watch\n  cno status --wait --timeout 15m\n  cno status -o json",
		Args:              cobra.NoArgs,
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE: func(cmd *cobra.Command, _ []string) error {
			config, err := o.cluster.Config()
			if err != nil {
				return err
			}
			c, clock, err := open(config, now)
			if err != nil {
				return err
			}
			return run(cmd.Context(), c, o, printer{w: cmd.OutOrStdout(), form: o.form, colored: colored(), now: clock.Now})
		},
	}
	o.form.Add(cmd)
	cmd.Flags().BoolVarP(&o.watch, "watch", "w", false, "keep running, and print the state each time it changes")
	cmd.Flags().BoolVar(&o.wait, "wait", false, "print the state each time it changes, until it is healthy or the timeout expires")
	cmd.Flags().DurationVar(&o.timeout, "timeout", 10*time.Minute, "how long to wait with --wait")
	cmd.MarkFlagsMutuallyExclusive("watch", "wait")
	o.cluster.Add(cmd.Flags())
	return cmd
}

// run prints the state once, or with --watch until the context ends, or with --wait until the network is healthy.
func run(ctx context.Context, c client.Reader, o options, p printer) error {
	v, err := Read(ctx, c, o.cluster.Namespace, p.now)
	if err != nil {
		return err
	}
	if err := p.print(v); err != nil || o.done(v) {
		return orExit(err, v)
	}
	if o.wait {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, o.timeout)
		defer cancel()
	}
	tick := time.NewTicker(interval)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return o.ended(ctx, v)
		case <-tick.C:
		}
		next, err := Read(ctx, c, o.cluster.Namespace, p.now)
		if ctx.Err() != nil {
			return o.ended(ctx, v)
		}
		if err != nil {
			return err
		}
		if reflect.DeepEqual(next, v) {
			continue
		}
		if v = next; o.form.ForPeople() {
			if _, err := fmt.Fprintln(p.w); err != nil {
				return err
			}
		}
		if err := p.print(v); err != nil || o.done(v) {
			return orExit(err, v)
		}
	}
}

// done reports whether no further observation is needed.
func (o *options) done(v View) bool {
	return !o.watch && !o.wait || o.wait && v.State == healthy
}

// ended returns the result after the context has ended: with --wait, the network did not become healthy in time.
func (o *options) ended(ctx context.Context, v View) error {
	err := orExit(nil, v)
	var code *exit.Code
	if errors.As(err, &code) && errors.Is(ctx.Err(), context.DeadlineExceeded) {
		code.Err = fmt.Errorf("the network is %s after %s; cno doctor lists problems with their causes", v.State, o.timeout)
	}
	return err
}

// Read reads the state of a network once. namespace is that of the operator, now the clock of the API server. Objects that c may not
// read make the state unknown; for the network itself that is an error.
func Read(ctx context.Context, c client.Reader, namespace string, now func() time.Time) (View, error) {
	f, err := gather(ctx, c, namespace)
	if err != nil {
		return View{}, err
	}
	return view(f, now())
}

// orExit returns err, or the exit status for a view.
func orExit(err error, v View) error {
	switch {
	case err != nil:
		return err
	case v.State == progressing:
		return &exit.Code{Status: Changing}
	case v.State != healthy:
		return &exit.Code{Status: Unhealthy}
	default:
		return nil
	}
}

// printer prints views.
type printer struct {
	w       io.Writer
	form    output.Format
	colored bool
	now     func() time.Time
}

func (p printer) print(v View) error {
	if p.form.ForPeople() {
		return v.Print(p.w, p.now(), p.colored)
	}
	if p.form == output.YAML {
		if _, err := io.WriteString(p.w, "---\n"); err != nil {
			return err
		}
	}
	return p.form.Write(p.w, v)
}
