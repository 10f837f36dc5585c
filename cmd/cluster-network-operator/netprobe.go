package main

import (
	"context"
	"encoding/json"
	"fmt"
	"net"

	"github.com/spf13/cobra"

	"github.com/cluster-network-operator/cno/internal/netprobe"
)

func reachServer() *cobra.Command {
	var listen string
	cmd := &cobra.Command{
		Use: "reach-server", Short: "Echo what arrives by TCP and UDP", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			ctx := context.WithoutCancel(cmd.Context())
			listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", listen)
			if err != nil {
				return fmt.Errorf("listen: %w", err)
			}
			packets, err := (&net.ListenConfig{}).ListenPacket(ctx, "udp", listen)
			if err != nil {
				return fmt.Errorf("listen: %w", err)
			}
			return netprobe.Serve(cmd.Context(), listener, packets)
		},
	}
	cmd.Flags().StringVar(&listen, "listen", ":19876", "where to listen; without an address, on all of both families")
	return cmd
}

func reachProbe() *cobra.Command {
	return &cobra.Command{
		Use: "reach-probe PROBES", Short: "Probe the targets from this pod, and print the results as JSON", Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			var probes []netprobe.Probe
			if err := json.Unmarshal([]byte(args[0]), &probes); err != nil {
				return fmt.Errorf("read probes: %w", err)
			}
			return json.NewEncoder(cmd.OutOrStdout()).Encode(netprobe.Run(cmd.Context(), probes))
		},
	}
}
