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
		Short: "Load images from docker-archives into the nodes that do not have them",
		Args:  cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return withLock(cmd.Context(), h, func(l *lab.Lab) error {
				n, err := l.LoadImages(cmd.Context(), args)
				if err == nil {
					fmt.Fprintf(cmd.OutOrStdout(), "%d imports; all other images exist already\n", n)
				}
				return err
			})
		},
	}
}

func execCommand(h *lab.Host) *cobra.Command {
	return &cobra.Command{
		Use:     "exec NODE -- COMMAND [ARGUMENT...]",
		Short:   "Run a command on a node, on an outside host (outside1, ...), or in the network namespace of the underlay (underlay)",
		Example: "  lab exec worker-0 -- ip route\n  lab exec underlay -- ping -c1 10.89.0.11\n  lab exec outside1 -- ip neighbour",
		Args:    cobra.MinimumNArgs(2),
		RunE: func(cmd *cobra.Command, args []string) error {
			l, err := lab.Open(*h)
			if err != nil {
				return err
			}
			// The command receives signals from the terminal too, and handles
			// them itself.
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
		Short: "Add a worker and print its name",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			// Only the name goes to standard output, for scripts.
			quiet := *h
			quiet.Out = cmd.ErrOrStderr()
			return withLock(cmd.Context(), &quiet, func(l *lab.Lab) error {
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
			return withLock(cmd.Context(), h, func(l *lab.Lab) error { return l.RemoveNode(cmd.Context(), args[0]) })
		},
	}
}
