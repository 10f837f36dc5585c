// Command cno is the administrator's tool: it previews, applies and inspects a cluster's network. Under
// the name kubectl-cno it is a plugin of kubectl, under the name kubectl_complete-cno what completes that plugin's words.
package main

import (
	"context"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"

	"github.com/cluster-network-operator/cno/internal/cli/exit"
)

func main() { os.Exit(run()) }

func run() int {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	name, args := filepath.Base(os.Args[0]), os.Args[1:]
	root := command(name, colored)
	if name == completer {
		args = append([]string{completion}, args...)
	}
	root.SetArgs(args)
	return exit.Report(os.Stderr, root.DisplayName(), root.ExecuteContext(ctx))
}

// colored reports whether the standard output is a terminal, and no one has asked for no colours (https://no-color.org).
func colored() bool {
	out, err := os.Stdout.Stat()
	return err == nil && out.Mode()&os.ModeCharDevice != 0 && os.Getenv("NO_COLOR") == "" && os.Getenv("TERM") != "dumb"
}
