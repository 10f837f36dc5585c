// Package dayone is `cno dayone`: host networking from before the first boot on, seen and prepared without a host.
// Each verb is a directory below this one.
package dayone

import "github.com/spf13/cobra"

// New makes the command that holds the verbs.
func New(verbs ...*cobra.Command) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "dayone",
		Short: "Prepare the network of hosts before they boot",
		Long: `Checks and renders NMState documents, one for each host or one for all hosts of a role: for the
time before the boot, for the first boot and for the cluster. These commands need neither a host
nor a cluster.

Exit status: that of the command; 0 for this help.`,
		Example: "  cno dayone validate --dir master/\n  cno dayone render --as ignition -f worker-0.yml",
		Args:    cobra.NoArgs,
		RunE:    func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(verbs...)
	return cmd
}
