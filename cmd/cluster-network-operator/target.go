package main

import (
	"context"
	"fmt"
	"net"

	"github.com/spf13/cobra"

	"github.com/cluster-network-operator/cno/internal/checktarget"
)

func checkTarget() *cobra.Command {
	var listen string
	cmd := &cobra.Command{
		Use: "check-target", Short: "Answer connectivity checks over HTTP", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			listener, err := (&net.ListenConfig{}).Listen(context.WithoutCancel(cmd.Context()), "tcp", listen)
			if err != nil {
				return fmt.Errorf("listen: %w", err)
			}
			return checktarget.Serve(cmd.Context(), listener)
		},
	}
	cmd.Flags().StringVar(&listen, "listen", ":8080", "where to listen; without an address, on all of both families")
	return cmd
}
