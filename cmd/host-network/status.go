package main

import (
	"encoding/json"
	"fmt"
	"os"
	"time"

	"github.com/spf13/cobra"

	"github.com/cluster-network-operator/cno/internal/cli/exit"
	"github.com/cluster-network-operator/cno/internal/dayone/hostapply"
)

func statusCommand(o *options) *cobra.Command {
	var format string
	cmd := &cobra.Command{
		Use:   "status",
		Short: "Show the result of the last run; exit with 1 if the host does not match its document",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			data, err := os.ReadFile(o.report)
			if err != nil {
				return fmt.Errorf("read the report of the last run: %w", err)
			}
			var report hostapply.Report
			if err := json.Unmarshal(data, &report); err != nil {
				return fmt.Errorf("read %s: %w", o.report, err)
			}
			switch format {
			case "json":
				_, err = cmd.OutOrStdout().Write(data)
			case "text":
				_, err = fmt.Fprintln(cmd.OutOrStdout(), sentence(report))
			default:
				return fmt.Errorf("--output is text or json, not %q", format)
			}
			if err == nil && !good(report.Result) {
				return &exit.Code{Status: exit.Refused}
			}
			return err
		},
	}
	cmd.Flags().StringVarP(&format, "output", "o", "text", "text or json")
	return cmd
}

// good reports whether the host has its desired configuration.
func good(r hostapply.Result) bool {
	return r == hostapply.Applied || r == hostapply.Unchanged || r == hostapply.Nothing
}

// sentence returns a report as text.
func sentence(r hostapply.Report) string {
	text := fmt.Sprintf("%s: %s", r.Time.Format(time.RFC3339), r.Result)
	if r.Source.SHA256 != "" {
		text += fmt.Sprintf(" %s (sha256 %s)", r.Source, r.Source.SHA256)
	}
	if r.Source.Why != "" {
		text += ": " + r.Source.Why
	}
	if r.Message != "" {
		text += "\n" + r.Message
	}
	for _, d := range r.Differences {
		text += "\n  " + d.String()
	}
	return text
}
