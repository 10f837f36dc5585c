package main

import (
	"context"
	"encoding/json"
	"fmt"
	"net"
	"time"

	"github.com/spf13/cobra"

	"github.com/cluster-network-operator/cno/internal/perf"
)

func perfServer() *cobra.Command {
	var listen string
	cmd := &cobra.Command{
		Use: "perf-server", Short: "Discard TCP streams and echo single bytes", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			listener, err := (&net.ListenConfig{}).Listen(context.WithoutCancel(cmd.Context()), "tcp", listen)
			if err != nil {
				return fmt.Errorf("listen: %w", err)
			}
			return perf.Serve(cmd.Context(), listener)
		},
	}
	cmd.Flags().StringVar(&listen, "listen", ":19878", "where to listen; without an address, on all of both families")
	return cmd
}

func perfClient() *cobra.Command {
	var each time.Duration
	cmd := &cobra.Command{
		Use: "perf-client ADDRESS:PORT", Short: "Measure the path to a perf-server, and print the result as JSON", Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			r, err := perf.Measure(cmd.Context(), args[0], each)
			if err != nil {
				return err
			}
			return json.NewEncoder(cmd.OutOrStdout()).Encode(r)
		},
	}
	cmd.Flags().DurationVar(&each, "for", 3*time.Second, "how long each of the three figures is measured")
	return cmd
}
