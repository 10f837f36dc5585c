// Package thishost reads the network of the host on which a command runs.
package thishost

import "github.com/spf13/cobra"

// Source names the sources besides the kernel.
type Source struct {
	// OVSDB is the socket of Open vSwitch's database; it may be missing.
	OVSDB string
	// ResolvConf is the file that names the name servers.
	ResolvConf string
}

// Add adds the flags of the source to a command.
func (s *Source) Add(cmd *cobra.Command) {
	f := cmd.Flags()
	f.StringVar(&s.OVSDB, "ovsdb", "/var/run/openvswitch/db.sock", "the socket of Open vSwitch's database, for --live; it may be missing")
	f.StringVar(&s.ResolvConf, "resolv-conf", "/etc/resolv.conf", "the file that names the name servers, for --live")
}
