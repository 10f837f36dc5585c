package cli

import (
	"github.com/spf13/cobra"

	"github.com/cluster-network-operator/cno/e2e/lab"
)

func conformanceCommand(h *lab.Host) *cobra.Command {
	options := lab.ConformanceOptions{}
	cmd := &cobra.Command{
		Use:   "conformance",
		Short: "Run Kubernetes' own [sig-network] conformance tests against the lab",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			l, err := lab.Open(*h)
			if err != nil {
				return err
			}
			return l.Conformance(cmd.Context(), options)
		},
	}
	cmd.Flags().StringVar(&options.Focus, "focus", lab.NetworkConformance, "which tests to run, a regular expression on their names")
	cmd.Flags().StringVar(&options.Skip, "skip", "", "which of these to leave out, a regular expression on their names")
	return cmd
}
