package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/cluster-network-operator/cno/internal/facts"
	"github.com/cluster-network-operator/cno/internal/host/proxykernel"
)

func checkProxyMode() *cobra.Command {
	var (
		needs   proxykernel.Needs
		minimum string
	)
	cmd := &cobra.Command{
		Use: "check-proxy-mode", Short: "Check that this host's kernel has what a mode of kube-proxy needs, and change nothing", Args: cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			if minimum != "" {
				v, ok := facts.ParseKernelVersion(minimum)
				if !ok {
					return fmt.Errorf("--minimum-kernel %q: must be a version of Linux, for example 5.13", minimum)
				}
				needs.MinimumKernel = v
			}
			return proxykernel.Check(needs)
		},
	}
	cmd.Flags().StringVar(&needs.Mode, "mode", "", "the mode: nftables, iptables or ipvs")
	cmd.Flags().BoolVar(&needs.IPv4, "ipv4", false, "check for IPv4")
	cmd.Flags().BoolVar(&needs.IPv6, "ipv6", false, "check for IPv6")
	cmd.Flags().StringVar(&needs.Scheduler, "ipvs-scheduler", "", "the scheduler of mode ipvs; kube-proxy's default if empty")
	cmd.Flags().StringVar(&minimum, "minimum-kernel", "", "the oldest version of Linux that kube-proxy accepts in this mode")
	return cmd
}
