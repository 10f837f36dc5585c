package main

import (
	"fmt"
	"os"

	"github.com/spf13/cobra"

	hostnetwork "github.com/cluster-network-operator/cno/config/host-network"
	"github.com/cluster-network-operator/cno/internal/dayone/hostapply/install"
)

func installCommand() *cobra.Command {
	var root string
	var programOnly bool
	cmd := &cobra.Command{
		Use:   "install",
		Short: "Install this binary and its systemd units on a host; they take effect at its next boot",
		Args:  cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			program, err := os.Executable()
			if err != nil {
				return fmt.Errorf("find this program: %w", err)
			}
			if programOnly {
				return install.Program(root, program)
			}
			return install.Install(root, program, hostnetwork.Files)
		},
	}
	cmd.Flags().BoolVar(&programOnly, "program-only", false, "do not install the units, which a MachineConfig installs")
	cmd.Flags().StringVar(&root, "root", "/", "the root directory of the host")
	return cmd
}
