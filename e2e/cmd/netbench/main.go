// Command netbench runs on a node of the lab and measures the performance of its pod network: the duration of CNI ADD and DEL,
// and the throughput and round-trip time of TCP between two network namespaces. Each figure has a floor to compare with: direct
// invocations of the same plugins, and a bare veth pair. Use --cpu to pin both ends of a connection to CPUs, because scheduling
// affects round-trip times more than the network does. The output is one JSON object.
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

func printJSON(v any) error { return json.NewEncoder(os.Stdout).Encode(v) }

func cniCommand() *cobra.Command {
	var count, parallel int
	var pods string
	cmd := &cobra.Command{
		Use:   "cni",
		Short: "Measure the duration of CNI ADD and DEL",
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
			return printJSON(result)
		},
	}
	cmd.Flags().IntVar(&count, "count", 100, "number of pods")
	cmd.Flags().IntVar(&parallel, "parallel", 1, "number of concurrent operations")
	cmd.Flags().StringVar(&pods, "pods", "", "JSON file with pods of this node and their further networks (default: no further networks)")
	return cmd
}

func attachCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "attach NAME",
		Short: "Create a network namespace with a pod's network and print its address",
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
			return printJSON(map[string]string{"address": address})
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
		Short: "Serve the connections of netbench client until interrupted",
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

// endFlags adds the flags of one end of a connection.
func endFlags(cmd *cobra.Command, name *string, cpu *int) {
	cmd.Flags().StringVar(name, "in", "", "name of an attached network namespace (default: that of the node)")
	cmd.Flags().IntVar(cpu, "cpu", anyCPU, "CPU to run on (-1: any)")
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
			return printJSON(m)
		},
	}
	endFlags(cmd, &name, &cpu)
	cmd.Flags().DurationVar(&seconds, "for", 2*time.Second, "duration of each of the three measurements")
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
	cmd.Flags().IntVar(&serverCPU, "server-cpu", anyCPU, "CPU of the server (-1: any)")
	cmd.Flags().IntVar(&clientCPU, "client-cpu", anyCPU, "CPU of the client (-1: any)")
	cmd.Flags().IntVar(&mtu, "mtu", 1500, "MTU of the devices")
	cmd.Flags().DurationVar(&seconds, "for", 2*time.Second, "duration of each of the three measurements")
	return cmd
}
