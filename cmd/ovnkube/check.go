package main

import (
	"context"
	"fmt"
	"io"
	"time"

	"github.com/spf13/cobra"

	"github.com/cluster-network-operator/cno/providers/ovnkubernetes/agentconfig"
	"github.com/cluster-network-operator/cno/providers/ovnkubernetes/config"
	"github.com/cluster-network-operator/cno/providers/ovnkubernetes/finding"
	"github.com/cluster-network-operator/cno/providers/ovnkubernetes/master"
	"github.com/cluster-network-operator/cno/providers/ovnkubernetes/node"
)

// comparisonTimeout is the time that a comparison after other output may take.
const comparisonTimeout = time.Minute

// comparison compares the live state with the Kubernetes API.
type comparison struct {
	name, short string
	// compare returns the differences. The role is that of the node.
	compare func(context.Context, config.Config) (finding.Report, error)
}

// comparisons are all comparisons, which cno doctor makes too.
func (p *program) comparisons() []comparison {
	return []comparison{
		{agentconfig.CommandCheckMaster, "Compare the databases of the master that leads with the Kubernetes API", compared(p, p.masterConfig, master.Check)},
		{agentconfig.CommandCheckNode, "Compare pods, ports, flows and routes of the node with the Kubernetes API", compared(p, p.nodeOptions, node.Check)},
	}
}

// compared is a comparison with its part of the configuration.
func compared[T any](p *program, options func(config.Config) (T, error), compare func(context.Context, T, finding.Persistence) (finding.Report, error)) func(context.Context, config.Config) (finding.Report, error) {
	return func(ctx context.Context, c config.Config) (finding.Report, error) {
		c.Master, c.Node = p.variable(agentconfig.VariableNode), p.variable(agentconfig.VariableNode)
		o, err := options(c)
		if err != nil {
			return finding.Report{}, err
		}
		return compare(ctx, o, p.persistence)
	}
}

// checks returns the commands of the comparisons.
func (p *program) checks() []*cobra.Command {
	var out []*cobra.Command
	for _, one := range p.comparisons() {
		out = append(out, p.check(one))
	}
	return out
}

func (p *program) check(one comparison) *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use: one.name, Short: one.short, Args: cobra.NoArgs,
		Long: one.short + `. Nothing is changed. What does not agree for 13 seconds is printed, and the way out.

Exit status: 0 if everything agrees, otherwise 1. With --` + agentconfig.FlagJSON + ` it is 0 whenever the comparison was made.`,
		RunE: func(cmd *cobra.Command, _ []string) error {
			c, err := p.load(cmd.Flags())
			if err != nil {
				return err
			}
			report, err := one.compare(cmd.Context(), c)
			if err != nil {
				return err
			}
			if !asJSON {
				if err := p.printReport(report); err != nil || len(report.Findings) == 0 {
					return err
				}
				return fmt.Errorf("findings: %d", len(report.Findings))
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

// printReport prints a report as text. It names no differences only if everything was compared.
func (p *program) printReport(r finding.Report) error {
	for _, f := range r.Findings {
		if _, err := fmt.Fprintf(p.out, "%s\n  remedy: %s\n", f, f.Place.WayOut()); err != nil {
			return err
		}
	}
	for _, text := range r.Incomplete {
		if _, err := fmt.Fprintf(p.out, "not compared: %s\n", text); err != nil {
			return err
		}
	}
	if len(r.Findings) > 0 || len(r.Incomplete) > 0 {
		return nil
	}
	_, err := fmt.Fprintln(p.out, "No differences found.")
	return err
}

// limited makes a comparison that ends when its time is over, for example because the API server does not answer.
func limited(ctx context.Context, c config.Config, one comparison) (finding.Report, error) {
	ctx, cancel := context.WithTimeout(ctx, comparisonTimeout)
	defer cancel()
	return one.compare(ctx, c)
}

// thenCompare is a command that prints something and then the comparisons. What cannot be compared in this container, for example because it has no access to
// the Kubernetes API, is printed and is not an error, as are findings.
func (p *program) thenCompare(show func(context.Context, config.Config, io.Writer) error) func(context.Context, config.Config) error {
	return func(ctx context.Context, c config.Config) error {
		if err := show(ctx, c, p.out); err != nil {
			return err
		}
		for _, one := range p.comparisons() {
			if _, err := fmt.Fprintf(p.out, "$ %s\n", one.name); err != nil {
				return err
			}
			report, err := limited(ctx, c, one)
			if err != nil {
				report = finding.Report{Incomplete: []string{err.Error()}}
			}
			if err := p.printReport(report); err != nil {
				return err
			}
		}
		return nil
	}
}
