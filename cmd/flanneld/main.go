// Command flanneld is flannel's agent on a node; see docs/programs/flanneld.md.
package main

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"os/signal"
	"syscall"

	"github.com/spf13/cobra"
	"k8s.io/client-go/rest"
	"k8s.io/klog/v2"

	"github.com/cluster-network-operator/cno/internal/version"
	"github.com/cluster-network-operator/cno/providers/flannel/agentconfig"
	"github.com/cluster-network-operator/cno/providers/flannel/node"
	"github.com/cluster-network-operator/cno/providers/flannel/node/plugins"
	"github.com/cluster-network-operator/cno/providers/flannel/node/request"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, syscall.SIGINT)
	level := &slog.LevelVar{}
	log := slog.New(slog.NewJSONHandler(os.Stderr, &slog.HandlerOptions{Level: level}))
	// Flannel's packages log through klog.
	klog.SetSlogLogger(log.With("library", "flannel"))
	err := command(log, level).ExecuteContext(ctx)
	stop()
	if err != nil {
		log.Error("flanneld ends", "error", err)
		os.Exit(1)
	}
}

func command(log *slog.Logger, level *slog.LevelVar) *cobra.Command {
	root := &cobra.Command{
		Use:           "flanneld",
		Short:         "Flannel's agent on a node",
		SilenceUsage:  true,
		SilenceErrors: true,
	}
	var text string
	root.PersistentFlags().StringVar(&text, "log-level", "info", "what to log: debug, info, warn or error")
	root.PersistentPreRunE = func(*cobra.Command, []string) error { return level.UnmarshalText([]byte(text)) }
	root.AddCommand(runCommand(log), installCommand(log), cleanupCommand(), versionCommand())
	return root
}

func runCommand(log *slog.Logger) *cobra.Command {
	var file string
	cmd := &cobra.Command{
		Use:   "run",
		Short: "Keep the node's subnet lease and the routes to all other nodes",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			config, err := readConfig(file)
			if err != nil {
				return err
			}
			options := node.Options{Config: config, Node: os.Getenv("NODE_NAME"), Version: version.String(), Log: log}
			if config.Etcd.OwnCertificate {
				// Without it the agent goes on with the certificate that it has, and reports why it gets no other.
				if options.Sign, err = signer(); err != nil {
					log.Warn("certificates cannot be requested", "error", err)
				}
			}
			return node.Run(cmd.Context(), options)
		},
	}
	cmd.Flags().StringVar(&file, "config", "/etc/flannel/flanneld.json", "the configuration file")
	return cmd
}

// signer asks the operator for certificates, through the API server that the pod's environment names.
func signer() (node.Signer, error) {
	api, err := rest.InClusterConfig()
	if err != nil {
		return nil, fmt.Errorf("find the Kubernetes API, to request a certificate: %w", err)
	}
	return request.New(api)
}

func readConfig(file string) (agentconfig.Config, error) {
	data, err := os.ReadFile(file)
	if err != nil {
		return agentconfig.Config{}, fmt.Errorf("read configuration: %w", err)
	}
	config, err := agentconfig.Decode(data)
	if err != nil {
		return agentconfig.Config{}, err
	}
	if errs := config.Validate(); len(errs) > 0 {
		return agentconfig.Config{}, fmt.Errorf("%s is not valid: %w", file, errs.ToAggregate())
	}
	return config, nil
}

func cleanupCommand() *cobra.Command {
	var file string
	cmd := &cobra.Command{
		Use:   "cleanup",
		Short: "Remove what the agent left on the node, after it was stopped",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			config, err := readConfig(file)
			if err != nil {
				return err
			}
			return node.Remove(cmd.Context(), config)
		},
	}
	cmd.Flags().StringVar(&file, "config", "/etc/flannel/flanneld.json", "the configuration file")
	return cmd
}

func installCommand(log *slog.Logger) *cobra.Command {
	var from, to string
	cmd := &cobra.Command{
		Use:   "install-cni",
		Short: "Copy the CNI plugins to the node",
		Args:  cobra.NoArgs,
		RunE:  func(*cobra.Command, []string) error { return plugins.Install(from, to, log) },
	}
	cmd.Flags().StringVar(&from, "from", "/usr/lib/cni", "the directory of plugins to copy")
	cmd.Flags().StringVar(&to, "to", "/host/opt/cni/bin", "the directory from which the container runtime starts plugins")
	return cmd
}

func versionCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "version",
		Short: "Print the version",
		Args:  cobra.NoArgs,
		Run:   func(cmd *cobra.Command, _ []string) { fmt.Fprintln(cmd.OutOrStdout(), version.String()) },
	}
}
