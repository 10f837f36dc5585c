package cli

import (
	"context"
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"github.com/cluster-network-operator/cno/e2e/lab"
)

func loadImageCommand(h *lab.Host) *cobra.Command {
	return &cobra.Command{
		Use:   "load-image TAR...",
		Short: "Import docker-archives into every node that does not have them",
		Args:  cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return changing(cmd.Context(), h, func(l *lab.Lab) error {
				n, err := l.LoadImages(cmd.Context(), args)
				if err == nil {
					fmt.Fprintf(cmd.OutOrStdout(), "%d imports, the rest was there\n", n)
				}
				return err
			})
		},
	}
}

func execCommand(h *lab.Host) *cobra.Command {
	return &cobra.Command{
		Use:     "exec NODE -- COMMAND [ARGUMENT...]",
		Short:   "Run a command on a node, on a host outside (outside1, ...), or in the network outside the cluster (NODE is then underlay)",
		Example: "  lab exec worker-0 -- ip route\n  lab exec underlay -- ping -c1 10.89.0.11\n  lab exec outside1 -- ip neighbour",
		Args:    cobra.MinimumNArgs(2),
		RunE: func(cmd *cobra.Command, args []string) error {
			l, err := lab.Open(*h)
			if err != nil {
				return err
			}
			// A signal from the terminal reaches the command, too: it decides
			// for itself what to do about it.
			c, err := l.Command(context.WithoutCancel(cmd.Context()), args[0], args[1], args[2:]...)
			if err != nil {
				return err
			}
			c.Stdin, c.Stdout, c.Stderr = os.Stdin, os.Stdout, os.Stderr
			if err := c.Run(); err != nil {
				return fmt.Errorf("%s on %s: %w", args[1], args[0], err)
			}
			return nil
		},
	}
}

func addNodeCommand(h *lab.Host) *cobra.Command {
	return &cobra.Command{
		Use:   "add-node",
		Short: "Add a worker; its name is printed",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			// The name is the only thing on standard output: scripts read it.
			silent := *h
			silent.Out = cmd.ErrOrStderr()
			return changing(cmd.Context(), &silent, func(l *lab.Lab) error {
				n, err := l.AddNode(cmd.Context())
				if err == nil {
					fmt.Fprintln(cmd.OutOrStdout(), n.Name)
				}
				return err
			})
		},
	}
}

func removeNodeCommand(h *lab.Host) *cobra.Command {
	return &cobra.Command{
		Use:   "remove-node NODE",
		Short: "Power a worker off permanently and delete its Node object",
		Args:  cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return changing(cmd.Context(), h, func(l *lab.Lab) error { return l.RemoveNode(cmd.Context(), args[0]) })
		},
	}
}
