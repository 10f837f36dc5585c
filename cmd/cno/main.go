// Command cno is the administrator's tool: it runs the operator's own stages on files.
package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/cluster-network-operator/cno/internal/cli/apply"
	"github.com/cluster-network-operator/cno/internal/cli/dayone"
	"github.com/cluster-network-operator/cno/internal/cli/dayone/diff"
	"github.com/cluster-network-operator/cno/internal/cli/dayone/imports"
	"github.com/cluster-network-operator/cno/internal/cli/dayone/keyfiles"
	dayonerender "github.com/cluster-network-operator/cno/internal/cli/dayone/render"
	"github.com/cluster-network-operator/cno/internal/cli/dayone/selection"
	dayonevalidate "github.com/cluster-network-operator/cno/internal/cli/dayone/validate"
	clusterdiff "github.com/cluster-network-operator/cno/internal/cli/diff"
	"github.com/cluster-network-operator/cno/internal/cli/exit"
	"github.com/cluster-network-operator/cno/internal/cli/history"
	"github.com/cluster-network-operator/cno/internal/cli/plan"
	"github.com/cluster-network-operator/cno/internal/cli/render"
	"github.com/cluster-network-operator/cno/internal/cli/rollback"
	"github.com/cluster-network-operator/cno/internal/cli/status"
	"github.com/cluster-network-operator/cno/internal/cli/validate"
	"github.com/cluster-network-operator/cno/internal/networks"
	"github.com/cluster-network-operator/cno/internal/pipeline"
	"github.com/cluster-network-operator/cno/internal/version"
)

func main() { os.Exit(run()) }

func run() int {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	return exit.Report(os.Stderr, "cno", command().ExecuteContext(ctx))
}

func command() *cobra.Command {
	p := pipeline.Pipeline{Registry: networks.Registry()}
	root := &cobra.Command{
		Use:           "cno",
		Short:         "Foresee what the cluster network operator does",
		Version:       version.String(),
		SilenceUsage:  true,
		SilenceErrors: true,
	}
	root.AddCommand(render.New(p, version.String()), validate.New(p), plan.New(p, version.String()),
		apply.New(p), clusterdiff.New(p), history.New(), rollback.New(p), status.New(colored, time.Now), dayone.New(
			keyfiles.New(), dayonerender.New(), selection.New(), imports.New(), diff.New(), dayonevalidate.New(),
		))
	return root
}

// colored reports whether the standard output is a terminal, and nobody has asked for no colours (https://no-color.org).
func colored() bool {
	out, err := os.Stdout.Stat()
	return err == nil && out.Mode()&os.ModeCharDevice != 0 && os.Getenv("NO_COLOR") == "" && os.Getenv("TERM") != "dumb"
}
