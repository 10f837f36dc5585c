// Package dayone is `cno dayone`: host networking from before the first boot on, seen and prepared without a host.
// Each verb is a folder below this one.
package dayone

import "github.com/spf13/cobra"

// New makes the command that holds the verbs.
func New(verbs ...*cobra.Command) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "dayone",
		Short: "Prepare the network of hosts that are yet to boot",
		Long: `Works on NMState documents, one for each host or one for all hosts of a role: checks them,
and shows what becomes of them before boot, at first boot and in the cluster.
Nothing here needs a host or a cluster.

Exit status: that of the command; 0 for this help.`,
		Example: "  cno dayone validate --dir master/\n  cno dayone render --as ignition -f worker-0.yml",
		Args:    cobra.NoArgs,
		RunE:    func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(verbs...)
	return cmd
}
