// Command cno is the administrator's tool: it previews, applies and inspects a cluster's network. Under
// the name kubectl-cno it is a plugin of kubectl; under the name kubectl_complete-cno it completes that plugin's command lines.
package main

import (
	"context"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"

	"github.com/go-logr/logr"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/cluster-network-operator/cno/internal/cli/exit"
)

func main() { os.Exit(run()) }

func run() int {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	// Logs of libraries are meant for operators. Without a logger, controller-runtime prints a stack trace after waiting for a slow API server.
	log.SetLogger(logr.Discard())
	name, args := filepath.Base(os.Args[0]), os.Args[1:]
	root := command(name, colored)
	if name == completer {
		args = append([]string{completion}, args...)
	}
	root.SetArgs(args)
	return exit.Report(os.Stderr, root.DisplayName(), root.ExecuteContext(ctx))
}

// colored reports whether the standard output is a terminal and NO_COLOR is not set (https://no-color.org).
func colored() bool {
	out, err := os.Stdout.Stat()
	return err == nil && out.Mode()&os.ModeCharDevice != 0 && os.Getenv("NO_COLOR") == "" && os.Getenv("TERM") != "dumb"
}
