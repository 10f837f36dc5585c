package cli

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/cluster-network-operator/cno/e2e/lab"
)

func conformanceCommand(h *lab.Host) *cobra.Command {
	options, kill := lab.ConformanceOptions{}, ""
	cmd := &cobra.Command{
		Use:   "conformance",
		Short: "Run Kubernetes' own [sig-network] conformance tests against the lab",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if kill != "" {
				d, err := lab.ParseDaemonSet(kill)
				if err != nil {
					return fmt.Errorf("--kill: %w", err)
				}
				options.Kill = &d
			}
			l, err := lab.Open(*h)
			if err != nil {
				return err
			}
			return l.Conformance(cmd.Context(), options)
		},
	}
	cmd.Flags().StringVar(&options.Focus, "focus", lab.NetworkConformance, "regular expression on the names of tests to run")
	cmd.Flags().StringVar(&options.Skip, "skip", "", "regular expression on the names of tests to skip")
	cmd.Flags().StringVar(&kill, "kill", "", "DaemonSet, as NAMESPACE/NAME, whose containers are killed every 30 seconds while the tests run")
	return cmd
}
