package main

import (
	"time"

	"github.com/spf13/cobra"
	"github.com/vishvananda/netlink"

	"github.com/cluster-network-operator/cno/internal/dayone/hostapply"
)

// leaseInterval is the interval at which the directory of leases is read.
const leaseInterval = 5 * time.Second

func leasesCommand(o *options) *cobra.Command {
	return &cobra.Command{
		Use:   "leases",
		Short: "Renew the leases that were obtained without NetworkManager, until terminated",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			kernel, err := netlink.NewHandle()
			if err != nil {
				return err
			}
			defer kernel.Close()
			return o.netlink(kernel).Keep(cmd.Context(), leaseInterval, hostapply.Sleep)
		},
	}
}
