// Package cli implements the commands of the lab binary. They parse arguments and
// print results; package lab implements the operations.
package cli

import (
	"context"
	"errors"
	"os"

	"github.com/spf13/cobra"

	"github.com/cluster-network-operator/cno/e2e/lab"
	"github.com/cluster-network-operator/cno/e2e/lab/layout"
)

// Command returns the root command of lab.
func Command(host lab.Host) *cobra.Command {
	h := &host
	name := h.Layout.Lab
	root := &cobra.Command{
		Use:   "lab",
		Short: "Run a Kubernetes cluster on this machine with nodes in Linux namespaces",
		Long: `Runs a real Kubernetes cluster on a single Linux machine, as root, without a
container engine or a registry. Each node is a set of Linux namespaces with a
real kubelet. The cluster has no pod network: an operator has to install one.`,
		SilenceUsage:  true,
		SilenceErrors: true,
		PersistentPreRunE: func(cmd *cobra.Command, _ []string) error {
			if h.Layout.Root == "" && !cmd.Hidden {
				return errors.New("run lab inside a checkout: it builds from the source there")
			}
			if err := layout.CheckName(name); err != nil {
				return err
			}
			h.Layout.Lab = name
			// Processes of the lab inherit its name.
			return os.Setenv(layout.Variable, name)
		},
	}
	root.PersistentFlags().StringVar(&name, "name", name, "name of the lab, one to eight lowercase letters and digits; empty is the default lab (environment variable "+layout.Variable+")")
	root.AddCommand(
		buildCommand(h), versionsCommand(), upCommand(h), downCommand(h), statusCommand(h),
		loadImageCommand(h), execCommand(h), logsCommand(h),
		addNodeCommand(h), removeNodeCommand(h), conformanceCommand(h),
		nodeProcess(), underlayProcess(),
	)
	root.AddCommand(faultCommands(h)...)
	return root
}

// ExitCode returns the exit status for an error: that of a command that lab ran on
// a node, otherwise 1.
func ExitCode(err error) int {
	var status interface{ ExitCode() int }
	if errors.As(err, &status) && status.ExitCode() > 0 {
		return status.ExitCode()
	}
	return 1
}

// withLock calls f with the running lab while it holds the lock of the lab.
func withLock(ctx context.Context, h *lab.Host, f func(*lab.Lab) error) error {
	unlock, err := lab.Lock(ctx, *h)
	if err != nil {
		return err
	}
	defer unlock()
	l, err := lab.Open(*h)
	if err != nil {
		return err
	}
	return f(l)
}
