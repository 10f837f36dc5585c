// Package validate implements `cno validate`, which reports all errors in configurations. It needs no cluster.
package validate

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/cluster-network-operator/cno/internal/cli/exit"
	"github.com/cluster-network-operator/cno/internal/facts"
	"github.com/cluster-network-operator/cno/internal/kubeconfig"
	"github.com/cluster-network-operator/cno/internal/offline"
	"github.com/cluster-network-operator/cno/internal/output"
	"github.com/cluster-network-operator/cno/internal/pipeline"
	"github.com/cluster-network-operator/cno/internal/preview"
)

// findings is the JSON output.
type findings struct {
	Valid  bool              `json:"valid"`
	Errors []offline.Problem `json:"errors"`
	// Detected are the fields that configurations omit, with the values that the cluster has for them.
	Detected []pipeline.Detected `json:"detected,omitempty"`
	// Warnings are about values that are valid but probably unintended.
	Warnings []offline.Problem `json:"warnings,omitempty"`
}

// options are the command-line options.
type options struct {
	files   []string
	form    output.Format
	cluster kubeconfig.Flags
}

// New creates the command. It reads standard input for a file named "-".
func New(p pipeline.Pipeline) *cobra.Command {
	var o options
	cmd := &cobra.Command{
		Use:   "validate -f FILE...",
		Short: "Validate a configuration, also without a cluster",
		Long: `Validates Network and NetworkConfig objects as the API server would (with the schema and the
rules of the CRD) and as the operator would, without a cluster. All errors are shown at once.
Rules that depend on a cluster (the MTU of nodes, their addresses) are not checked.

With --kubeconfig or --context, that cluster is read: its nodes are checked, and fields that a
Network omits are shown with the values that the operator would use, and their sources.

In Pods, the annotation k8s.v1.cni.cncf.io/networks, which requests further networks, is checked.

Exit status: 0 valid, 1 invalid, 2 the input cannot be read, or the command line is wrong.`,
		Example:           "  cno validate -f network.yaml\n  cno validate -f - -o json < network.yaml",
		Args:              cobra.NoArgs,
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE: func(cmd *cobra.Command, _ []string) error {
			found, err := o.validate(cmd, p)
			if err != nil {
				return err
			}
			return print(cmd.OutOrStdout(), o.form, found)
		},
	}
	cmd.Flags().StringArrayVarP(&o.files, "file", "f", nil, "file of YAML or JSON objects, - for standard input; may be repeated")
	o.form.Add(cmd)
	o.cluster.Add(cmd.Flags())
	_ = cmd.MarkFlagRequired("file")
	return cmd
}

// known returns what is known of the cluster, which only a flag names: without one, the command works without a cluster.
func (o *options) known(ctx context.Context) (pipeline.Input, error) {
	if o.cluster.File == "" && o.cluster.Context == "" {
		return offline.NoCluster(nil), nil
	}
	config, err := o.cluster.Config()
	if err != nil {
		return pipeline.Input{}, err
	}
	cluster, err := preview.Open(config, o.cluster.Namespace)
	if err != nil {
		return pipeline.Input{}, err
	}
	state, _, err := cluster.State(ctx, facts.Cluster{})
	return state.Input, err
}

func (o *options) validate(cmd *cobra.Command, p pipeline.Pipeline) (findings, error) {
	inputs, problems, err := offline.Files{Stdin: cmd.InOrStdin(), Users: true}.Configurations(o.files)
	if err != nil {
		return findings{}, err
	}
	known, err := o.known(cmd.Context())
	if err != nil {
		return findings{}, err
	}
	found := findings{Errors: []offline.Problem{}}
	for _, in := range inputs {
		wrong, detected, err := in.Validate(cmd.Context(), p, known)
		if err != nil {
			return findings{}, err
		}
		problems, found.Detected = append(problems, wrong...), append(found.Detected, detected...)
		found.Warnings = append(found.Warnings, in.Advice(cmd.Context(), p)...)
	}
	offline.SortProblems(problems)
	found.Errors = append(found.Errors, problems...)
	found.Valid = len(problems) == 0
	return found, nil
}

// writeDetected prints omitted fields, one per line.
func writeDetected(w io.Writer, detected []pipeline.Detected) error {
	for _, d := range detected {
		if _, err := fmt.Fprintf(w, "omitted: %s\n", d); err != nil {
			return err
		}
	}
	return nil
}

func print(w io.Writer, form output.Format, found findings) error {
	if !form.ForPeople() {
		if err := form.Write(w, found); err != nil {
			return err
		}
	} else if err := errors.Join(writeDetected(w, found.Detected), offline.WriteAdvice(w, found.Warnings), offline.Write(w, found.Errors)); err != nil {
		return err
	}
	if !found.Valid {
		return &exit.Code{Status: exit.Refused}
	}
	return nil
}
