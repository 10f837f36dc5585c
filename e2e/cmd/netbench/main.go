// Command netbench runs inside a node of the lab and measures what its pods get: how long CNI takes to add and delete
// a pod's network, and what a TCP stream and a one-byte round trip do between two network namespaces. It prints
// one JSON object.
package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/spf13/cobra"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	root := &cobra.Command{Use: "netbench", SilenceUsage: true}
	root.AddCommand(cniCommand(), attachCommand(), detachCommand(), serveCommand(), clientCommand())
	err := root.ExecuteContext(ctx)
	stop()
	if err != nil {
		os.Exit(1)
	}
}

func answer(v any) error { return json.NewEncoder(os.Stdout).Encode(v) }

func cniCommand() *cobra.Command {
	var count, parallel int
	cmd := &cobra.Command{
		Use:   "cni",
		Short: "Add and delete pod networks, and say how long each took",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			p, err := newPlugin()
			if err != nil {
				return err
			}
			result, err := p.measure(cmd.Context(), count, parallel)
			if err != nil {
				return err
			}
			return answer(result)
		},
	}
	cmd.Flags().IntVar(&count, "count", 100, "how many pods")
	cmd.Flags().IntVar(&parallel, "parallel", 1, "how many at once")
	return cmd
}

func attachCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "attach NAME",
		Short: "Make a network namespace with a pod's network, and print its address",
		Args:  cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			p, err := newPlugin()
			if err != nil {
				return err
			}
			address, err := p.add(cmd.Context(), args[0])
			if err != nil {
				return err
			}
			return answer(map[string]string{"address": address})
		},
	}
}

func detachCommand() *cobra.Command {
	return &cobra.Command{
		Use:  "detach NAME",
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			p, err := newPlugin()
			if err != nil {
				return err
			}
			return p.remove(cmd.Context(), args[0])
		},
	}
}

func serveCommand() *cobra.Command {
	var name string
	cmd := &cobra.Command{
		Use:   "serve ADDRESS:PORT",
		Short: "Swallow streams and echo single bytes, until ended",
		Args:  cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return inNamespace(name, func() error { return serve(cmd.Context(), args[0]) })
		},
	}
	cmd.Flags().StringVar(&name, "in", "", "an attached namespace; default the node's own")
	return cmd
}

func clientCommand() *cobra.Command {
	var name string
	var seconds time.Duration
	cmd := &cobra.Command{
		Use:   "client ADDRESS:PORT",
		Short: "Measure a stream, then round trips",
		Args:  cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			var m traffic
			err := inNamespace(name, func() (err error) {
				m, err = measureTraffic(cmd.Context(), args[0], seconds)
				return err
			})
			if err != nil {
				return fmt.Errorf("measure traffic to %s: %w", args[0], err)
			}
			return answer(m)
		},
	}
	cmd.Flags().StringVar(&name, "in", "", "an attached namespace; default the node's own")
	cmd.Flags().DurationVar(&seconds, "for", 2*time.Second, "how long each of the two measurements takes")
	return cmd
}
