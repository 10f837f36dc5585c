// Package validate implements `cno validate`, which reports all errors in configurations without a cluster.
package validate

import (
	"errors"
	"io"

	"github.com/spf13/cobra"

	"github.com/cluster-network-operator/cno/internal/cli/exit"
	"github.com/cluster-network-operator/cno/internal/offline"
	"github.com/cluster-network-operator/cno/internal/output"
	"github.com/cluster-network-operator/cno/internal/pipeline"
)

// findings is the JSON output.
type findings struct {
	Valid  bool              `json:"valid"`
	Errors []offline.Problem `json:"errors"`
	// Warnings are about values that are valid but probably unintended.
	Warnings []offline.Problem `json:"warnings,omitempty"`
}

// New creates the command. It reads standard input for a file named "-".
func New(p pipeline.Pipeline) *cobra.Command {
	var files []string
	var form output.Format
	cmd := &cobra.Command{
		Use:   "validate -f FILE...",
		Short: "Validate a configuration without a cluster",
		Long: `Validates Network and NetworkConfig objects as the API server would (with the schema and the
rules of the CRD) and as the operator would, without a cluster. All errors are shown at once.
Rules that depend on a cluster (the MTU of nodes, their addresses) are not checked.

In Pods, the annotation k8s.v1.cni.cncf.io/networks, which requests further networks, is checked.

Exit status: 0 valid, 1 invalid, 2 the input cannot be read, or the command line is wrong.`,
		Example:           "  cno validate -f network.yaml\n  cno validate -f - -o json < network.yaml",
		Args:              cobra.NoArgs,
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE: func(cmd *cobra.Command, _ []string) error {
			found, err := validate(cmd, p, files)
			if err != nil {
				return err
			}
			return print(cmd.OutOrStdout(), form, found)
		},
	}
	cmd.Flags().StringArrayVarP(&files, "file", "f", nil, "file of YAML or JSON objects, - for standard input; may be repeated")
	form.Add(cmd)
	_ = cmd.MarkFlagRequired("file")
	return cmd
}

func validate(cmd *cobra.Command, p pipeline.Pipeline, files []string) (findings, error) {
	inputs, problems, err := offline.Files{Stdin: cmd.InOrStdin(), Users: true}.Configurations(files)
	if err != nil {
		return findings{}, err
	}
	found := findings{Errors: []offline.Problem{}}
	for _, in := range inputs {
		wrong, err := in.Validate(cmd.Context(), p)
		if err != nil {
			return findings{}, err
		}
		problems = append(problems, wrong...)
		found.Warnings = append(found.Warnings, in.Advice(cmd.Context(), p)...)
	}
	offline.SortProblems(problems)
	found.Errors = append(found.Errors, problems...)
	found.Valid = len(problems) == 0
	return found, nil
}

func print(w io.Writer, form output.Format, found findings) error {
	if !form.ForPeople() {
		if err := form.Write(w, found); err != nil {
			return err
		}
	} else if err := errors.Join(offline.WriteAdvice(w, found.Warnings), offline.Write(w, found.Errors)); err != nil {
		return err
	}
	if !found.Valid {
		return &exit.Code{Status: exit.Refused}
	}
	return nil
}
