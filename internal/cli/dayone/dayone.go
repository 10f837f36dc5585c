// Package dayone is `cno dayone`: it checks and renders the network configuration of hosts without a host.
// Each subcommand is a directory below this one.
package dayone

import "github.com/spf13/cobra"

// New returns the command with its subcommands.
func New(subcommands ...*cobra.Command) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "dayone",
		Short: "Prepare the network of hosts before they boot",
		Long: `Checks and renders NMState documents, for each host or for all hosts of a role, to configure hosts
before the boot, at the first boot and in the cluster. These commands need neither a host nor a
cluster.

Exit status: that of the command; 0 for this help.`,
		Example: "  cno dayone validate --dir master/\n  cno dayone render --as ignition -f worker-0.yml",
		Args:    cobra.NoArgs,
		RunE:    func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(subcommands...)
	return cmd
}
