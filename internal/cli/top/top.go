// Package top implements `cno top`, which shows an overview of the network in a terminal and redraws it on changes.
package top

import (
	"context"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/sync/errgroup"

	"github.com/cluster-network-operator/cno/internal/kubeconfig"
	"github.com/cluster-network-operator/cno/internal/nodestate"
	"github.com/cluster-network-operator/cno/internal/output"
	"github.com/cluster-network-operator/cno/internal/provider"
	"github.com/cluster-network-operator/cno/internal/ui/live"
	"github.com/cluster-network-operator/cno/internal/ui/page"
)

const (
	// gather is how long changes are batched before the screen is redrawn, and ages the interval at which it is redrawn without a change.
	gather = 200 * time.Millisecond
	ages   = 5 * time.Second
	// mostRows is the maximum number of nodes and of checks that are listed.
	mostRows = 10
	// width is the width of a bar in characters.
	width = 30
)

// Escape sequences: the alternate screen, and the top left corner with everything below erased.
const (
	enter = "\x1b[?1049h\x1b[?25l"
	leave = "\x1b[?25h\x1b[?1049l"
	home  = "\x1b[H\x1b[J"
)

// options are the command-line options.
type options struct {
	form    output.Format
	cluster kubeconfig.Flags
}

// screen is the content of the screen.
type screen struct {
	Overview page.Overview `json:"overview"`
	// Nodes has the number of nodes in each state, and Attention the nodes with problems.
	Nodes     map[nodestate.State]int `json:"nodes"`
	Attention []page.Node             `json:"attention"`
	Pools     []page.Pool             `json:"pools"`
	// Failing are the failing connectivity checks among Checks.
	Failing []page.Check `json:"failing"`
	Checks  int          `json:"checks"`
}

// New creates the command. terminal reports whether the standard output is a terminal, now is the clock.
func New(operands provider.Operands, terminal func() bool, now func() time.Time) *cobra.Command {
	var o options
	cmd := &cobra.Command{
		Use:   "top",
		Short: "Show the state of the network in the terminal, live",
		Long: `Shows the state of the network, its components, the progress of a rollout, nodes with problems, the
address pools, and failed connectivity checks. The screen is updated whenever something changes,
until Ctrl-C. If the output is not a terminal, the state is printed once.

Exit status: 0 shown; 2 the cluster does not answer, the user may not read the network, or the
command line is wrong.`,
		Example:           "  cno top\n  cno top -o json",
		Args:              cobra.NoArgs,
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE: func(cmd *cobra.Command, _ []string) error {
			config, err := o.cluster.Config()
			if err != nil {
				return err
			}
			c, err := live.Open(cmd.Context(), config, o.cluster.Namespace, operands, now)
			if err != nil {
				return err
			}
			return o.run(cmd.Context(), cmd.OutOrStdout(), c, terminal())
		},
	}
	o.form.Add(cmd)
	o.cluster.Add(cmd.Flags())
	return cmd
}

func (o *options) run(ctx context.Context, w io.Writer, c *live.Cluster, terminal bool) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	group, ctx := errgroup.WithContext(ctx)
	ready := make(chan struct{})
	group.Go(func() error { return c.Run(ctx, func() { close(ready) }) })
	group.Go(func() error {
		defer cancel()
		select {
		case <-ready:
		case <-ctx.Done():
			return nil
		}
		if !o.form.ForPeople() || !terminal {
			return o.once(ctx, w, c.Source)
		}
		return redraw(ctx, w, c.Source, c.Changed)
	})
	return group.Wait()
}

// once prints the screen once.
func (o *options) once(ctx context.Context, w io.Writer, s page.Source) error {
	seen, err := observe(ctx, s)
	if err != nil {
		return err
	}
	if !o.form.ForPeople() {
		return o.form.Write(w, seen)
	}
	return seen.print(w, s.Now(), false)
}

// redraw draws the screen until the context ends, and restores the terminal.
func redraw(ctx context.Context, w io.Writer, s page.Source, changed <-chan struct{}) (err error) {
	if _, err := io.WriteString(w, enter); err != nil {
		return err
	}
	defer func() {
		if _, left := io.WriteString(w, leave); err == nil {
			err = left
		}
	}()
	for {
		seen, err := observe(ctx, s)
		if ctx.Err() != nil {
			return nil
		}
		var text strings.Builder
		if err != nil {
			fmt.Fprintln(&text, err)
		} else if err := seen.print(&text, s.Now(), true); err != nil {
			return err
		}
		// A single write, so that the terminal never shows a partial screen.
		if _, err := io.WriteString(w, home+text.String()+"\nCtrl-C ends\n"); err != nil {
			return err
		}
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(ages):
		case <-changed:
			select {
			case <-ctx.Done():
				return nil
			case <-time.After(gather):
			}
		}
	}
}

// observe reads the content of the screen.
func observe(ctx context.Context, s page.Source) (screen, error) {
	overview, err := s.Overview(ctx)
	if err != nil {
		return screen{}, err
	}
	seen := screen{Overview: overview, Attention: []page.Node{}, Failing: []page.Check{}}
	if nodes, err := s.Nodes(ctx); err == nil {
		seen.Nodes, seen.Pools = nodes.Counts, nodes.Pools
		for _, n := range nodes.Nodes {
			if n.State != nodestate.Ready {
				seen.Attention = append(seen.Attention, n)
			}
		}
	} else {
		seen.Overview.Missing = append(seen.Overview.Missing, err.Error())
	}
	if paths, err := s.Paths(ctx); err == nil {
		seen.Checks = len(paths.Checks)
		for _, c := range paths.Checks {
			if c.State == page.CheckFailed {
				seen.Failing = append(seen.Failing, c)
			}
		}
	} else {
		seen.Overview.Missing = append(seen.Overview.Missing, err.Error())
	}
	return seen, nil
}
