package main

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/cluster-network-operator/cno/providers/ovnkubernetes/agentconfig"
	"github.com/cluster-network-operator/cno/providers/ovnkubernetes/config"
	"github.com/cluster-network-operator/cno/providers/ovnkubernetes/finding"
	"github.com/cluster-network-operator/cno/providers/ovnkubernetes/master"
	"github.com/cluster-network-operator/cno/providers/ovnkubernetes/node"
)

// checks returns the commands that compare the live state with the Kubernetes API.
func (p *program) checks() []*cobra.Command {
	return []*cobra.Command{
		p.check(agentconfig.CommandCheckMaster, "Compare the databases of the master that leads with the Kubernetes API", compared(p.masterConfig, master.Check)),
		p.check(agentconfig.CommandCheckNode, "Compare pods, ports, flows and routes of the node with the Kubernetes API", compared(p.nodeOptions, node.Check)),
	}
}

// compared is a comparison with its parts of the configuration.
func compared[T any](options func(config.Config) (T, error), compare func(context.Context, T, finding.Persistence) (finding.Report, error)) func(context.Context, config.Config) (finding.Report, error) {
	return func(ctx context.Context, c config.Config) (finding.Report, error) {
		o, err := options(c)
		if err != nil {
			return finding.Report{}, err
		}
		return compare(ctx, o, finding.Default())
	}
}

func (p *program) check(name, short string, compare func(context.Context, config.Config) (finding.Report, error)) *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use: name, Short: short, Args: cobra.NoArgs,
		Long: short + `. Nothing is changed. What does not agree for 13 seconds is printed, and the way out.

Exit status: 0 if everything agrees, otherwise 1. With --` + agentconfig.FlagJSON + ` it is 0 whenever the comparison was made.`,
		RunE: func(cmd *cobra.Command, _ []string) error {
			c, err := p.load(cmd.Flags())
			if err != nil {
				return err
			}
			c.Master, c.Node = p.variable(agentconfig.VariableNode), p.variable(agentconfig.VariableNode)
			report, err := compare(cmd.Context(), c)
			if err != nil {
				return err
			}
			if !asJSON {
				return p.printReport(report)
			}
			out, err := report.Encode()
			if err == nil {
				_, err = p.out.Write(out)
			}
			return err
		},
	}
	cmd.Flags().BoolVar(&asJSON, agentconfig.FlagJSON, false, "print one line of JSON")
	return cmd
}

// printReport prints a report as text. Findings are an error.
func (p *program) printReport(r finding.Report) error {
	for _, f := range r.Findings {
		if _, err := fmt.Fprintf(p.out, "%s\n  way out: %s\n", f, f.Place.WayOut()); err != nil {
			return err
		}
	}
	for _, text := range r.Incomplete {
		if _, err := fmt.Fprintf(p.out, "not compared: %s\n", text); err != nil {
			return err
		}
	}
	if len(r.Findings) > 0 {
		return fmt.Errorf("findings: %d", len(r.Findings))
	}
	_, err := fmt.Fprintln(p.out, "No differences found.")
	return err
}
