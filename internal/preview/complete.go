package preview

import (
	"context"
	"slices"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"github.com/cluster-network-operator/cno/internal/kubeconfig"
)

// completeTimeout is the timeout of requests during shell completion.
const completeTimeout = 3 * time.Second

// CompleteRevisions completes the single argument of a command with words, followed by the revisions in the history, newest first.
// If the cluster is unreachable, it offers only the words.
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

// live reads names from the cluster. It ignores errors, which a shell cannot show during completion.
func live(cmd *cobra.Command, flags *kubeconfig.Flags, names func(Cluster, context.Context) []string) []string {
	config, err := flags.Config()
	if err != nil {
		return nil
	}
	config.Timeout = completeTimeout
	cluster, err := Open(config, flags.Namespace)
	if err != nil {
		return nil
	}
	ctx := cmd.Context()
	if ctx == nil {
		ctx = context.Background()
	}
	ctx, cancel := context.WithTimeout(ctx, completeTimeout)
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
