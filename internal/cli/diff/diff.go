// Package diff implements `cno diff`, which compares the cluster with its configuration.
package diff

import (
	"fmt"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/runtime"

	operatorv1 "github.com/cluster-network-operator/cno/api/operator/v1"
	"github.com/cluster-network-operator/cno/internal/cli/exit"
	"github.com/cluster-network-operator/cno/internal/facts"
	"github.com/cluster-network-operator/cno/internal/kubeconfig"
	"github.com/cluster-network-operator/cno/internal/offline"
	"github.com/cluster-network-operator/cno/internal/output"
	"github.com/cluster-network-operator/cno/internal/pipeline"
	"github.com/cluster-network-operator/cno/internal/preview"
)

// New creates the command.
func New(p pipeline.Pipeline) *cobra.Command {
	var flags kubeconfig.Flags
	var form output.Format
	cmd := &cobra.Command{
		Use:   "diff",
		Short: "Show how the cluster differs from its configuration",
		Long: `Compares the cluster with Network/cluster, and prints fields that are refused or not applied yet,
and objects that are missing or were edited manually. The operator repairs such objects within a
second; a difference that remains is one that it cannot or may not repair.

Exit status: 0 no differences; 1 there are differences; 2 the cluster does not answer.`,
		Example:           "  cno diff\n  cno diff -o json",
		Args:              cobra.NoArgs,
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return run(cmd, p, flags, form)
		},
	}
	form.Add(cmd)
	flags.Add(cmd.Flags())
	return cmd
}

func run(cmd *cobra.Command, p pipeline.Pipeline, flags kubeconfig.Flags, form output.Format) error {
	config, err := flags.Config()
	if err != nil {
		return err
	}
	cluster, err := preview.Open(config, flags.Namespace)
	if err != nil {
		return err
	}
	state, _, err := cluster.State(cmd.Context(), facts.Cluster{})
	if err != nil {
		return err
	}
	object, err := cluster.Network(cmd.Context())
	if err != nil {
		return fmt.Errorf("read network: %w", err)
	}
	var network operatorv1.Network
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(object.Object, &network); err != nil {
		return fmt.Errorf("read network: %w", err)
	}
	in := offline.Input{File: "Network/cluster", Network: &network}
	state.Input.Acknowledged = in.Acknowledged()
	found, err := preview.Run(cmd.Context(), p, in, state)
	if err != nil {
		return err
	}
	if form.ForPeople() {
		err = found.Write(cmd.OutOrStdout())
	} else {
		err = form.Write(cmd.OutOrStdout(), found)
	}
	if err == nil && (found.Decision != preview.Unchanged || len(found.Objects) > 0) {
		return &exit.Code{Status: exit.Refused}
	}
	return err
}
