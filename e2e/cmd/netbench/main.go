// Command netbench runs inside a node of the lab and measures what its pods get: how long CNI takes to add and delete
// a pod's network, and what a TCP stream and a one-byte round trip do between two network namespaces. Each figure has a
// floor: the same plugins called by hand, and a bare pair of veth devices. Ends of traffic are pinned to CPUs with --cpu, since
// the placement by the scheduler changes a round trip more than the network does. It prints one JSON object.
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

	"github.com/cluster-network-operator/cno/internal/perf"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	root := &cobra.Command{Use: "netbench", SilenceUsage: true}
	root.AddCommand(cniCommand(), attachCommand(), detachCommand(), serveCommand(), clientCommand(), vethCommand())
	err := root.ExecuteContext(ctx)
	stop()
	if err != nil {
		os.Exit(1)
	}
}

func answer(v any) error { return json.NewEncoder(os.Stdout).Encode(v) }

func cniCommand() *cobra.Command {
	var count, parallel int
	var pods string
	cmd := &cobra.Command{
		Use:   "cni",
		Short: "Add and delete pod networks, and say how long each took",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			p, err := newPlugin()
			if err != nil {
				return err
			}
			if pods != "" {
				if p.further, err = readFurther(pods); err != nil {
					return err
				}
				count, p.floor.further = len(p.further.Pods), p.further.Plugins
				if p.floor.write, err = p.further.writer(); err != nil {
					return err
				}
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
	cmd.Flags().StringVar(&pods, "pods", "", "a file with pods of this node and the further networks that they ask for; without it, pods ask for none")
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
	var cpu int
	cmd := &cobra.Command{
		Use:   "serve ADDRESS:PORT",
		Short: "Swallow streams and echo single bytes, until ended",
		Args:  cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := pin(cpu); err != nil {
				return err
			}
			return inNamespace(name, func() error { return serve(cmd.Context(), args[0]) })
		},
	}
	endFlags(cmd, &name, &cpu)
	return cmd
}

// endFlags are the flags of one end of traffic.
func endFlags(cmd *cobra.Command, name *string, cpu *int) {
	cmd.Flags().StringVar(name, "in", "", "an attached namespace; default the node's own")
	cmd.Flags().IntVar(cpu, "cpu", anyCPU, "the CPU to run on; default any")
}

func clientCommand() *cobra.Command {
	var name string
	var cpu int
	var seconds time.Duration
	cmd := &cobra.Command{
		Use:   "client ADDRESS:PORT",
		Short: "Measure a stream, round trips and new connections",
		Args:  cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := pin(cpu); err != nil {
				return err
			}
			var m perf.Result
			err := inNamespace(name, func() (err error) {
				m, err = perf.Measure(cmd.Context(), args[0], seconds)
				return err
			})
			if err != nil {
				return fmt.Errorf("measure traffic to %s: %w", args[0], err)
			}
			return answer(m)
		},
	}
	endFlags(cmd, &name, &cpu)
	cmd.Flags().DurationVar(&seconds, "for", 2*time.Second, "how long each of the three figures is measured")
	return cmd
}

func vethCommand() *cobra.Command {
	var serverCPU, clientCPU, mtu int
	var seconds time.Duration
	cmd := &cobra.Command{
		Use:   "veth",
		Short: "Measure a stream, round trips and new connections between two namespaces with a bare veth pair",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			pair := newBare()
			defer func() { _ = pair.remove() }()
			if err := pair.create(mtu); err != nil {
				return err
			}
			out, err := pair.measure(cmd.Context(), serverCPU, clientCPU, seconds)
			if err != nil {
				return err
			}
			_, err = os.Stdout.Write(out)
			return err
		},
	}
	cmd.Flags().IntVar(&serverCPU, "server-cpu", anyCPU, "the CPU of the server; default any")
	cmd.Flags().IntVar(&clientCPU, "client-cpu", anyCPU, "the CPU of the client; default any")
	cmd.Flags().IntVar(&mtu, "mtu", 1500, "the MTU of the devices")
	cmd.Flags().DurationVar(&seconds, "for", 2*time.Second, "how long each of the three figures is measured")
	return cmd
}
