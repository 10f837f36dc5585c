// Command netbench runs on a node of the lab and measures the performance of its pod network: the duration of CNI ADD and DEL,
// the throughput and round-trip time of TCP between two network namespaces, and the time at which a connection is first answered or
// blocked. ADD, DEL and traffic have a floor to compare with: direct invocations of the plugins of flannel, and a bare veth pair. Use
// --cpu to pin both ends of a connection to CPUs, because scheduling affects round-trip times more than the network does. The output
// is one JSON object, or one for each line of input.
package main

import (
	"context"
	"encoding/json"
	"errors"
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
	root.AddCommand(cniCommand(), furtherCommand(), serveCommand(), clientCommand(), vethCommand(), probeCommand())
	err := root.ExecuteContext(ctx)
	stop()
	if err != nil {
		os.Exit(1)
	}
}

func printJSON(v any) error { return json.NewEncoder(os.Stdout).Encode(v) }

func cniCommand() *cobra.Command {
	var parallel int
	var file, chain string
	cmd := &cobra.Command{
		Use:   "cni",
		Short: "Measure the duration of CNI ADD and DEL for existing pods",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			pods, err := readPods(file)
			if err != nil {
				return err
			}
			p, err := newPlugin(pods, chain)
			if err != nil {
				return err
			}
			result, err := p.measure(cmd.Context(), parallel)
			if err != nil {
				return err
			}
			return printJSON(result)
		},
	}
	addFlags(cmd, &parallel, &file)
	cmd.Flags().StringVar(&chain, "chain", pluginDir, "directory with the plugins of the floor: bridge, host-local and portmap")
	return cmd
}

func furtherCommand() *cobra.Command {
	var parallel int
	var file string
	cmd := &cobra.Command{
		Use:   "further",
		Short: "Measure the duration of CNI ADD and DEL for existing pods with further networks, beside their plugins invoked by libcni",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			pods, err := readPods(file)
			if err != nil {
				return err
			}
			f, err := newFurther(pods)
			if err != nil {
				return err
			}
			result, err := f.measure(cmd.Context(), parallel)
			if err != nil {
				return err
			}
			return printJSON(result)
		},
	}
	addFlags(cmd, &parallel, &file)
	return cmd
}

// addFlags adds the flags of the measurements of ADD and DEL.
func addFlags(cmd *cobra.Command, parallel *int, file *string) {
	cmd.Flags().IntVar(parallel, "parallel", 1, "number of concurrent operations")
	cmd.Flags().StringVar(file, "pods", "", "JSON file with pods of this node")
}

func serveCommand() *cobra.Command {
	var pod string
	var cpu int
	cmd := &cobra.Command{
		Use:   "serve ADDRESS:PORT",
		Short: "Serve the connections of netbench client until interrupted",
		Args:  cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := errors.Join(pin(cpu), enter(pod)); err != nil {
				return err
			}
			return serve(cmd.Context(), args[0])
		},
	}
	endFlags(cmd, &pod, &cpu)
	return cmd
}

// endFlags adds the flags of one end of a connection.
func endFlags(cmd *cobra.Command, pod *string, cpu *int) {
	inFlag(cmd, pod)
	cmd.Flags().IntVar(cpu, "cpu", anyCPU, "CPU to run on (-1: any)")
}

// inFlag adds the flag of the network namespace.
func inFlag(cmd *cobra.Command, pod *string) {
	cmd.Flags().StringVar(pod, "in", "", "address of a pod of this node whose network namespace to enter (default: that of the node)")
}

func clientCommand() *cobra.Command {
	var pod string
	var cpu int
	var seconds time.Duration
	cmd := &cobra.Command{
		Use:   "client ADDRESS:PORT",
		Short: "Measure a stream, round trips and new connections",
		Args:  cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := errors.Join(pin(cpu), enter(pod)); err != nil {
				return err
			}
			m, err := perf.Measure(cmd.Context(), args[0], seconds)
			if err != nil {
				return fmt.Errorf("measure traffic to %s: %w", args[0], err)
			}
			return printJSON(m)
		},
	}
	endFlags(cmd, &pod, &cpu)
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

func probeCommand() *cobra.Command {
	var pod string
	cmd := &cobra.Command{
		Use:   "probe",
		Short: "For each line of input, report when a connection is first answered, or blocked",
		Long: `For each line of input, opens connections to an HTTP server until the outcome is known, and prints its time in nanoseconds:

  answered ADDRESS:PORT   when the first connection is answered
  blocked ADDRESS:PORT    when the first of the connections is opened of which none is answered`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := enter(pod); err != nil {
				return err
			}
			return probeLines(cmd.Context(), os.Stdin, printJSON)
		},
	}
	inFlag(cmd, &pod)
	return cmd
}
