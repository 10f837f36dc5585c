// Command cluster-network-renderer writes what the operator would apply on a fresh cluster.
package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"

	"github.com/cluster-network-operator/cno/internal/cli/exit"
	"github.com/cluster-network-operator/cno/internal/cli/render"
	"github.com/cluster-network-operator/cno/internal/networks"
	"github.com/cluster-network-operator/cno/internal/pipeline"
	"github.com/cluster-network-operator/cno/internal/version"
)

func main() { os.Exit(run()) }

func run() int {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	cmd := render.NewRenderer(pipeline.Pipeline{Registry: networks.Registry()}, version.String())
	return exit.Report(os.Stderr, cmd.Name(), cmd.ExecuteContext(ctx))
}
