// Command cluster-network-operator is the operator of the cluster's network. It has the operator's programs for nodes as subcommands.
package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/cluster-network-operator/cno/internal/version"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	root := &cobra.Command{
		Use:           "cluster-network-operator",
		Short:         "Install and manage the network of a cluster",
		Version:       version.String(),
		SilenceUsage:  true,
		SilenceErrors: true,
	}
	root.AddCommand(start(), probeMTU(), checkProxyMode(), checkEndpoints(), checkTarget(), metricsProxy(), etcdSnapshots(), reachServer(), reachProbe(), perfServer(), perfClient(), &cobra.Command{
		Use: "version", Short: "Print the version", Args: cobra.NoArgs,
		Run: func(cmd *cobra.Command, _ []string) { fmt.Fprintln(cmd.OutOrStdout(), version.String()) },
	})
	err := root.ExecuteContext(ctx)
	stop()
	if err != nil {
		fmt.Fprintf(os.Stderr, "cluster-network-operator: %v\n", err)
		os.Exit(1)
	}
}
