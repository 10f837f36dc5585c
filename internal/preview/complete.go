package preview

import (
	"context"
	"slices"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"github.com/cluster-network-operator/cno/internal/kubeconfig"
)

// completeFor is how long a shell waits for a cluster while it completes a word.
const completeFor = 3 * time.Second

// CompleteRevisions completes the one argument of a command with the revisions that are kept, the newest first, after some words.
// Where no cluster answers, the words alone are offered.
func CompleteRevisions(flags *kubeconfig.Flags, words ...string) cobra.CompletionFunc {
	return func(cmd *cobra.Command, args []string, _ string) ([]cobra.Completion, cobra.ShellCompDirective) {
		if len(args) > 0 {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		return append(slices.Clone(words), live(cmd, flags, Cluster.revisionNumbers)...), cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveKeepOrder
	}
}

// CompleteNodes completes the value of a flag with the names of nodes.
func CompleteNodes(flags *kubeconfig.Flags) cobra.CompletionFunc {
	return func(cmd *cobra.Command, _ []string, _ string) ([]cobra.Completion, cobra.ShellCompDirective) {
		return live(cmd, flags, Cluster.nodeNames), cobra.ShellCompDirectiveNoFileComp
	}
}

// live asks the cluster for names; there are none where it does not answer, since a shell has nowhere to show an error.
func live(cmd *cobra.Command, flags *kubeconfig.Flags, names func(Cluster, context.Context) []string) []string {
	config, err := flags.Config()
	if err != nil {
		return nil
	}
	config.Timeout = completeFor
	cluster, err := Open(config, flags.Namespace)
	if err != nil {
		return nil
	}
	ctx := cmd.Context()
	if ctx == nil {
		ctx = context.Background()
	}
	ctx, cancel := context.WithTimeout(ctx, completeFor)
	defer cancel()
	return names(cluster, ctx)
}

func (c Cluster) revisionNumbers(ctx context.Context) []string {
	records, err := c.Records(ctx)
	if err != nil {
		return nil
	}
	var numbers []string
	for _, r := range slices.Backward(records.History) {
		numbers = append(numbers, strconv.Itoa(r.Number))
	}
	return numbers
}

func (c Cluster) nodeNames(ctx context.Context) []string {
	nodes, err := c.nodes(ctx)
	if err != nil {
		return nil
	}
	var names []string
	for _, n := range nodes {
		names = append(names, n.Name)
	}
	return names
}
