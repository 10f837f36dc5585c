package main

import (
	"encoding/json"
	"fmt"
	"os"

	"github.com/spf13/cobra"
	"github.com/vishvananda/netlink"

	"github.com/cluster-network-operator/cno/internal/controller/nodemtu"
	"github.com/cluster-network-operator/cno/internal/host/defaultroute"
)

// terminationLog is the file with a container's termination message.
const terminationLog = "/dev/termination-log"

func probeMTU() *cobra.Command {
	var output string
	cmd := &cobra.Command{
		Use: "probe-mtu", Short: "Write the least MTU of this host's default routes as JSON", Args: cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			answer, probeErr := probe()
			content, err := json.Marshal(answer)
			if err != nil {
				return err
			}
			if output == "-" {
				fmt.Println(string(content))
			} else if err := os.WriteFile(output, append(content, '\n'), 0o644); err != nil {
				return fmt.Errorf("write answer: %w", err)
			}
			return probeErr
		},
	}
	cmd.Flags().StringVar(&output, "output", terminationLog, "the file to write to; - for standard output")
	return cmd
}

// probe reads the host's routes. Its error is in the answer, too.
func probe() (nodemtu.Answer, error) {
	handle, err := netlink.NewHandle()
	if err != nil {
		return nodemtu.Answer{Error: err.Error()}, fmt.Errorf("open netlink: %w", err)
	}
	defer handle.Close()
	mtu, links, err := defaultroute.MTU(handle)
	if err != nil {
		return nodemtu.Answer{Error: err.Error()}, fmt.Errorf("probe MTU: %w", err)
	}
	answer := nodemtu.Answer{MTU: mtu, Links: links}
	if answer.Interfaces, err = defaultroute.Addressed(handle); err != nil {
		return nodemtu.Answer{Error: err.Error()}, fmt.Errorf("probe interfaces: %w", err)
	}
	if len(answer.Interfaces) > nodemtu.MaxInterfaces {
		answer.Interfaces = nil // as good as unknown
	}
	return answer, nil
}
