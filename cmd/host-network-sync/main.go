// Command host-network-sync runs on every node: it copies files of host network configuration to the node, and reports the
// node's results; see docs/controllers/hostnetworkconfig.md.
package main

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/spf13/cobra"
	corev1 "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/rest"

	"github.com/cluster-network-operator/cno/internal/cli/exit"
	"github.com/cluster-network-operator/cno/internal/dayone/hostsync"
	"github.com/cluster-network-operator/cno/internal/version"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, syscall.SIGINT)
	err := command(slog.New(slog.NewJSONHandler(os.Stderr, nil))).ExecuteContext(ctx)
	stop()
	os.Exit(exit.Report(os.Stderr, "host-network-sync", err))
}

func command(log *slog.Logger) *cobra.Command {
	c := hostsync.Agent{PublishInterval: 10 * time.Minute, RequestInterval: time.Minute, Now: time.Now, Log: log}
	cmd := &cobra.Command{
		Use:           "host-network-sync",
		Short:         "Copy host network files to this node, and report its results",
		Version:       version.String(),
		Args:          cobra.NoArgs,
		SilenceUsage:  true,
		SilenceErrors: true,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if c.Node = os.Getenv("NODE_NAME"); c.Node == "" {
				return fmt.Errorf("NODE_NAME is not set; set it to spec.nodeName with the downward API")
			}
			config, err := rest.InClusterConfig()
			if err != nil {
				return fmt.Errorf("find API server: %w", err)
			}
			client, err := corev1.NewForConfig(config)
			if err != nil {
				return fmt.Errorf("create client: %w", err)
			}
			c.Publisher = hostsync.ConfigMaps{Client: client}
			c.Run(cmd.Context())
			return nil
		},
	}
	cmd.Flags().StringVar(&c.From, "from", "", "the directory of files to copy; none if empty")
	cmd.Flags().BoolVar(&c.Withdraw, "withdraw", false, "remove the files that were copied, and copy none")
	cmd.Flags().StringVar(&c.To, "to", "/host/etc/nmstate/openshift", "the directory on the host")
	cmd.Flags().StringVar(&c.Report, "report", "/host/run/host-network/report.json", "the file in which the program on the host reports its last run")
	cmd.Flags().StringVar(&c.Requests, "requests", "", "the file with the requests to nodes to apply their documents now; none if empty")
	cmd.Flags().StringVar(&c.Request, "request", "/host/run/host-network/apply/request.json", "the file on the host to which the request for this node is copied")
	cmd.Flags().DurationVar(&c.Interval, "interval", 10*time.Second, "the polling interval")
	return cmd
}
