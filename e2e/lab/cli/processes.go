package cli

import (
	"encoding/json"
	"fmt"
	"log/slog"
	"net"
	"os"

	"github.com/spf13/cobra"

	"github.com/cluster-network-operator/cno/e2e/lab"
	"github.com/cluster-network-operator/cno/e2e/lab/machine"
	"github.com/cluster-network-operator/cno/e2e/lab/underlay"
)

// nodeProcess returns the command of the first process of a node. The lab starts
// it with inherited files.
func nodeProcess() *cobra.Command {
	return &cobra.Command{
		Use:    lab.NodeCommand,
		Hidden: true,
		Args:   cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			var spec machine.Spec
			file := os.NewFile(machine.SpecFD, "spec")
			if err := json.NewDecoder(file).Decode(&spec); err != nil {
				return fmt.Errorf("read the node's spec: %w", err)
			}
			if err := file.Close(); err != nil {
				return fmt.Errorf("read the node's spec: %w", err)
			}
			listener, err := inherit(machine.ListenerFD)
			if err != nil {
				return err
			}
			return machine.Init(cmd.Context(), spec, listener, os.NewFile(machine.ReadyFD, "ready"), slog.Default())
		},
	}
}

// underlayProcess returns the command of the process that holds the network namespace of the underlay.
func underlayProcess() *cobra.Command {
	return &cobra.Command{
		Use:    lab.UnderlayCommand + " SPEC",
		Hidden: true,
		Args:   cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			var spec underlay.Spec
			if err := json.Unmarshal([]byte(args[0]), &spec); err != nil {
				return fmt.Errorf("read the underlay's spec: %w", err)
			}
			listener, err := inherit(underlay.ListenerFD)
			if err != nil {
				return err
			}
			return underlay.Hold(cmd.Context(), spec, listener, os.NewFile(underlay.ReadyFD, "ready"), slog.Default())
		},
	}
}

// inherit returns the listener that this process has inherited as a file descriptor.
func inherit(fd uintptr) (net.Listener, error) {
	file := os.NewFile(fd, "listener")
	l, err := net.FileListener(file)
	if err != nil {
		return nil, fmt.Errorf("inherit the listener: %w", err)
	}
	if err := file.Close(); err != nil {
		return nil, fmt.Errorf("inherit the listener: %w", err)
	}
	return l, nil
}
