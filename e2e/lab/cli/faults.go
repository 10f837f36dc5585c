package cli

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/cluster-network-operator/cno/e2e/lab"
)

// fault is a command that operates on a target in the lab.
type fault struct {
	use, short string
	do         func(ctx context.Context, l *lab.Lab, target string) error
}

// cableCommand returns the command that plugs or unplugs a cable.
func cableCommand(h *lab.Host, name, short string, plugged bool) *cobra.Command {
	return &cobra.Command{
		Use:   name + " NODE [DEVICE]",
		Short: short,
		Args:  cobra.RangeArgs(1, 2),
		RunE: func(cmd *cobra.Command, args []string) error {
			device := ""
			if len(args) > 1 {
				device = args[1]
			}
			return withLock(cmd.Context(), h, func(l *lab.Lab) error { return l.SetCable(args[0], device, plugged) })
		},
	}
}

func faultCommands(h *lab.Host) []*cobra.Command {
	faults := []fault{
		{"stop NODE|COMPONENT|NODE/COMPONENT", "Power off a node, or stop a component",
			func(ctx context.Context, l *lab.Lab, t string) error { return l.Stop(ctx, t) }},
		{"start NODE|COMPONENT|NODE/COMPONENT", "Start a stopped node or component",
			func(ctx context.Context, l *lab.Lab, t string) error { return l.Start(ctx, t) }},
		{"kill NODE|COMPONENT|NODE/COMPONENT", "Kill a component with SIGKILL; it restarts automatically",
			func(ctx context.Context, l *lab.Lab, t string) error { return l.Kill(ctx, t) }},
	}
	commands := []*cobra.Command{
		cableCommand(h, "unplug", "Unplug the network cable of a device of a node (default eth0)", false),
		cableCommand(h, "plug", "Plug in the network cable of a device of a node (default eth0)", true),
	}
	for _, f := range faults {
		commands = append(commands, &cobra.Command{
			Use:   f.use,
			Short: f.short,
			Args:  cobra.ExactArgs(1),
			RunE: func(cmd *cobra.Command, args []string) error {
				return withLock(cmd.Context(), h, func(l *lab.Lab) error { return f.do(cmd.Context(), l, args[0]) })
			},
		})
	}
	return commands
}
