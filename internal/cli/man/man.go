// Package man implements `cno man`, which writes the manual pages of all commands for packages and releases.
package man

import (
	"fmt"
	"os"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/cobra/doc"
)

// New creates the command. It is hidden: users have the pages from their package.
func New() *cobra.Command {
	var date string
	cmd := &cobra.Command{
		Use:   "man DIR",
		Short: "Write the manual pages of all commands",
		Long: `Writes one manual page for each command into a directory, which is created if it is missing. With
--date, the same program writes the same files.

Exit status: 0 written; 2 a page cannot be written, or the date is not one.`,
		Example:           "  cno man --date 2026-01-31 /usr/local/share/man/man1",
		Args:              cobra.ExactArgs(1),
		Hidden:            true,
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE: func(cmd *cobra.Command, args []string) error {
			at, err := time.Parse(time.DateOnly, date)
			if err != nil {
				return fmt.Errorf("--date %q is not a date: write it as 2026-01-31", date)
			}
			if err := os.MkdirAll(args[0], 0o755); err != nil {
				return fmt.Errorf("create the directory: %w", err)
			}
			root := cmd.Root()
			// The pages have the date of the release; the generated line would add the date of generation.
			root.DisableAutoGenTag = true
			header := &doc.GenManHeader{Section: "1", Date: &at, Source: "cno " + root.Version, Manual: "Cluster Network Operator"}
			if err := doc.GenManTree(root, header, args[0]); err != nil {
				return fmt.Errorf("write the pages: %w", err)
			}
			return nil
		},
	}
	cmd.Flags().StringVar(&date, "date", time.Unix(0, 0).UTC().Format(time.DateOnly), "the date in the pages")
	return cmd
}
