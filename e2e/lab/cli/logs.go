package cli

import (
	"errors"
	"fmt"
	"os"
	"os/exec"

	"github.com/spf13/cobra"

	"github.com/cluster-network-operator/cno/e2e/lab"
)

func logsCommand(h *lab.Host) *cobra.Command {
	var follow bool
	var lines int
	cmd := &cobra.Command{
		Use:   "logs [NODE|COMPONENT|NODE/COMPONENT]",
		Short: "Print the last lines of logs, also after lab down",
		Args:  cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			target := ""
			if len(args) > 0 {
				target = args[0]
			}
			files, err := lab.LogFiles(h.Layout.Logs(), target)
			if err != nil {
				return err
			}
			if len(files) == 0 {
				return errors.New("no logs found in " + h.Layout.Logs())
			}
			tail := []string{fmt.Sprintf("--lines=%d", lines), "--verbose"}
			if follow {
				tail = append(tail, "--follow")
			}
			c := exec.CommandContext(cmd.Context(), "tail", append(tail, files...)...)
			c.Stdout, c.Stderr = os.Stdout, os.Stderr
			return c.Run()
		},
	}
	cmd.Flags().BoolVarP(&follow, "follow", "f", false, "follow the logs")
	cmd.Flags().IntVarP(&lines, "lines", "n", 20, "number of lines of each log")
	return cmd
}
