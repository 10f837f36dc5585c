// Package validate is `cno validate`: everything that is wrong with configurations, without a cluster.
package validate

import (
	"io"

	"github.com/spf13/cobra"

	"github.com/cluster-network-operator/cno/internal/answer"
	"github.com/cluster-network-operator/cno/internal/cli/exit"
	"github.com/cluster-network-operator/cno/internal/offline"
	"github.com/cluster-network-operator/cno/internal/pipeline"
)

// findings is the JSON form of what is found.
type findings struct {
	Valid  bool              `json:"valid"`
	Errors []offline.Problem `json:"errors"`
}

// New makes the command. It reads standard input for a file named "-".
func New(p pipeline.Pipeline) *cobra.Command {
	var files []string
	var form answer.Form
	cmd := &cobra.Command{
		Use:   "validate -f FILE...",
		Short: "Say everything that is wrong with a configuration",
		Long: `Validates Network and NetworkConfig objects as the operator would, without a cluster.
All errors are shown at once. What can only be known in a cluster (the MTU of nodes,
their addresses) is not checked.

Exit status: 0 valid, 1 invalid, 2 the input cannot be read or the call is wrong.`,
		Example:           "  cno validate -f network.yaml\n  cno validate -f - -o json < network.yaml",
		Args:              cobra.NoArgs,
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE: func(cmd *cobra.Command, _ []string) error {
			problems, err := validate(cmd, p, files)
			if err != nil {
				return err
			}
			return print(cmd.OutOrStdout(), form, problems)
		},
	}
	cmd.Flags().StringArrayVarP(&files, "file", "f", nil, "file of YAML or JSON objects, - for standard input; may be repeated")
	form.Add(cmd)
	_ = cmd.MarkFlagRequired("file")
	return cmd
}

func validate(cmd *cobra.Command, p pipeline.Pipeline, files []string) ([]offline.Problem, error) {
	inputs, problems, err := offline.Files{Stdin: cmd.InOrStdin()}.Configurations(files)
	if err != nil {
		return nil, err
	}
	for _, in := range inputs {
		wrong, err := in.Validate(cmd.Context(), p)
		if err != nil {
			return nil, err
		}
		problems = append(problems, wrong...)
	}
	offline.SortProblems(problems)
	return problems, nil
}

func print(w io.Writer, form answer.Form, problems []offline.Problem) error {
	if !form.ForPeople() {
		if problems == nil {
			problems = []offline.Problem{}
		}
		if err := form.Write(w, findings{Valid: len(problems) == 0, Errors: problems}); err != nil {
			return err
		}
	} else if err := offline.Write(w, problems); err != nil {
		return err
	}
	if len(problems) > 0 {
		return &exit.Code{Status: exit.Refused}
	}
	return nil
}
