// Command lab runs a real Kubernetes cluster on one Linux machine.
package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"
	"time"

	"github.com/cluster-network-operator/cno/internal/image"

	"github.com/cluster-network-operator/cno/e2e/lab"
	"github.com/cluster-network-operator/cno/e2e/lab/cli"
	"github.com/cluster-network-operator/cno/e2e/lab/layout"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "lab:", err)
		os.Exit(cli.ExitCode(err))
	}
}

func run(ctx context.Context) error {
	h, err := host()
	if err != nil {
		return err
	}
	return cli.Command(h).ExecuteContext(ctx)
}

func host() (lab.Host, error) {
	name := os.Getenv(layout.Variable)
	if err := layout.CheckName(name); err != nil {
		return lab.Host{}, err
	}
	program, err := os.Executable()
	if err != nil {
		return lab.Host{}, fmt.Errorf("find this program: %w", err)
	}
	dir, err := os.Getwd()
	if err != nil {
		return lab.Host{}, fmt.Errorf("find the working directory: %w", err)
	}
	return lab.Host{
		Layout:  layout.Layout{Root: checkout(dir, filepath.Dir(program)), Cache: image.DefaultCache(os.Getenv), Lab: name},
		Program: program,
		Out:     os.Stdout,
		Now:     time.Now,
	}, nil
}

// checkout returns the closest directory, from one of the given ones upwards, that
// contains the lab's build modules; empty if there is none.
func checkout(starts ...string) string {
	for _, dir := range starts {
		for ; dir != filepath.Dir(dir); dir = filepath.Dir(dir) {
			if _, err := os.Stat(filepath.Join(dir, "e2e", "components")); err == nil {
				return dir
			}
		}
	}
	return ""
}
