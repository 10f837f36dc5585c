package main

import (
	"fmt"
	"net"
	"os"

	"github.com/spf13/cobra"

	"github.com/cluster-network-operator/cno/internal/cli/exit"
	"github.com/cluster-network-operator/cno/internal/dayone/placement"
)

func selectCommand(o *options) *cobra.Command {
	var host string
	cmd := &cobra.Command{
		Use:   "select",
		Short: "Show which document configures this host, and why",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			files, err := placement.ReadDir(os.DirFS(o.documents))
			if err != nil {
				return err
			}
			who, err := whoami(host)
			if err != nil {
				return err
			}
			choice, err := placement.Select(files, who)
			if err != nil {
				return &exit.Code{Status: exit.Refused, Err: err}
			}
			for _, warning := range choice.Warnings {
				fmt.Fprintln(cmd.ErrOrStderr(), "warning:", warning)
			}
			name := choice.File.Name
			if choice.Rule == placement.ByNone {
				name = "none"
			}
			_, err = fmt.Fprintf(cmd.OutOrStdout(), "%s: %s\n", name, choice.Reason)
			return err
		},
	}
	cmd.Flags().StringVar(&host, "host", "", "a host name, instead of this host's name and network cards")
	return cmd
}

// whoami returns the host with the given name, or this host.
func whoami(name string) (placement.Host, error) {
	if name != "" {
		return placement.Host{Name: name}, nil
	}
	name, err := os.Hostname()
	if err != nil {
		return placement.Host{}, fmt.Errorf("read host name: %w", err)
	}
	host := placement.Host{Name: name}
	links, err := net.Interfaces()
	if err != nil {
		return placement.Host{}, fmt.Errorf("list network interfaces: %w", err)
	}
	for _, l := range links {
		if len(l.HardwareAddr) == 6 && l.Flags&net.FlagLoopback == 0 {
			host.MACs = append(host.MACs, l.HardwareAddr.String())
		}
	}
	return host, nil
}
