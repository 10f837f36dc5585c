package cli

import (
	"fmt"
	"io"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/cluster-network-operator/cno/e2e/lab"
)

func statusCommand(h *lab.Host) *cobra.Command {
	return &cobra.Command{
		Use:   "status",
		Short: "Print the status of the nodes and their components",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			l, err := lab.Open(*h)
			if err != nil {
				return err
			}
			s, err := l.Status(cmd.Context())
			if err != nil {
				return err
			}
			return printStatus(cmd.OutOrStdout(), l, s)
		},
	}
}

func printStatus(w io.Writer, l *lab.Lab, s lab.Status) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "NODE\tROLE\tADDRESS\tREADY\tPID")
	fmt.Fprintf(t, "underlay\t-\t%s\t-\t%s\n", l.Topology().Family.Gateways()[0], number(s.Underlay, "stopped"))
	for _, n := range s.Nodes {
		fmt.Fprintf(t, "%s\t%s\t%s\t%s\t%s\n", n.Name, n.Role, n.Primary(), orDash(n.Ready), number(n.PID, "off"))
	}
	fmt.Fprintln(t, "\nCOMPONENT\tSTATE\tPID\tRESTARTS\tLAST EXIT")
	for _, n := range s.Nodes {
		for _, u := range n.Units {
			fmt.Fprintf(t, "%s/%s\t%s\t%s\t%d\t%s\n", n.Name, u.Name, u.State, number(u.HostPID, "-"), u.Restarts, orDash(u.LastExit))
		}
	}
	if err := t.Flush(); err != nil {
		return fmt.Errorf("print the status: %w", err)
	}
	if s.APIError != nil {
		fmt.Fprintf(w, "\nthe API server is unavailable: %v\n", s.APIError)
	}
	if !l.Whole() {
		fmt.Fprintln(w, "\nthe bring-up of the lab did not complete: see lab logs, then remove it with lab down")
	}
	fmt.Fprintf(w, "\nKUBECONFIG=%s\n", l.Kubeconfig())
	return nil
}

func number(n int, none string) string {
	if n == 0 {
		return none
	}
	return fmt.Sprint(n)
}

func orDash(s string) string {
	if s == "" {
		return "-"
	}
	return s
}
