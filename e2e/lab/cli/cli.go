// Package cli holds the commands of the lab program, one file a concern. They
// read arguments and print; package lab does the work.
package cli

import (
	"context"
	"errors"
	"os"

	"github.com/spf13/cobra"

	"github.com/cluster-network-operator/cno/e2e/lab"
	"github.com/cluster-network-operator/cno/e2e/lab/layout"
)

// Command is the lab program.
func Command(host lab.Host) *cobra.Command {
	h := &host
	name := h.Layout.Lab
	root := &cobra.Command{
		Use:   "lab",
		Short: "A real Kubernetes cluster on this machine, its nodes in namespaces",
		Long: `Runs a real Kubernetes cluster on this one Linux machine, as root, without a
container engine or a registry. Nodes are namespaces with real kubelets. They
come without a network for pods: that is for an operator to bring.`,
		SilenceUsage:  true,
		SilenceErrors: true,
		PersistentPreRunE: func(cmd *cobra.Command, _ []string) error {
			if h.Layout.Root == "" && !cmd.Hidden {
				return errors.New("run this program inside a checkout: it builds from there")
			}
			if err := layout.CheckName(name); err != nil {
				return err
			}
			h.Layout.Lab = name
			// The processes of a lab have its name in their environment.
			return os.Setenv(layout.Variable, name)
		},
	}
	root.PersistentFlags().StringVar(&name, "name", name, "which lab, if there are several: one to eight small letters and digits; also "+layout.Variable)
	root.AddCommand(
		buildCommand(h), upCommand(h), downCommand(h), statusCommand(h),
		loadImageCommand(h), execCommand(h), logsCommand(h),
		addNodeCommand(h), removeNodeCommand(h), conformanceCommand(h),
		nodeProcess(), underlayProcess(),
	)
	root.AddCommand(faultCommands(h)...)
	return root
}

// ExitCode is what the program shall end with after an error: that of the
// command it ran on a node, or 1.
func ExitCode(err error) int {
	var status interface{ ExitCode() int }
	if errors.As(err, &status) && status.ExitCode() > 0 {
		return status.ExitCode()
	}
	return 1
}

// changing runs f on the running lab while no other command changes it.
func changing(ctx context.Context, h *lab.Host, f func(*lab.Lab) error) error {
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
