// Command ovnkube is the program of OVN-Kubernetes: master, node agent, and the processes in the containers of both; see
// docs/programs/ovnkube.md.
package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, syscall.SIGINT)
	p := newProgram(os.Getenv, os.Stdout, os.Stderr)
	err := p.command().ExecuteContext(ctx)
	stop()
	if err != nil {
		p.log.Error("ovnkube ends", "error", err)
		os.Exit(1)
	}
}
