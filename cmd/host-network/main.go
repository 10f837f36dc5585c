// Command host-network configures a host's network according to its document; see docs/programs/host-network.md.
package main

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"os/signal"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/cluster-network-operator/cno/internal/cli/exit"
	"github.com/cluster-network-operator/cno/internal/version"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, syscall.SIGINT)
	level := &slog.LevelVar{}
	log := slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: level}))
	err := command(log, level).ExecuteContext(ctx)
	stop()
	os.Exit(exit.Report(os.Stderr, "host-network", err))
}

func command(log *slog.Logger, level *slog.LevelVar) *cobra.Command {
	root := &cobra.Command{
		Use:           "host-network",
		Short:         "Configure this host's network from its document",
		SilenceUsage:  true,
		SilenceErrors: true,
	}
	o := options{log: log}
	var text string
	flags := root.PersistentFlags()
	flags.StringVar(&text, "log-level", "info", "what to log: debug, info, warn or error")
	flags.StringVar(&o.documents, "documents", "/etc/nmstate/openshift", "the directory of documents")
	flags.StringVar(&o.state, "state", "/var/lib/host-network", "the directory of the journal; it must survive a reboot")
	flags.StringVar(&o.ovsdb, "ovsdb", "/run/openvswitch/db.sock", "socket of Open vSwitch's database")
	flags.StringVar(&o.leases, "leases", "/run/host-network/leases", "the directory of leases that were obtained without NetworkManager")
	flags.StringVar(&o.report, "report", "/run/host-network/report.json", "the file with the result of the last run")
	root.PersistentPreRunE = func(*cobra.Command, []string) error { return level.UnmarshalText([]byte(text)) }
	root.AddCommand(runCommand(&o), applyCommand(&o), restoreCommand(&o), leasesCommand(&o), installCommand(), selectCommand(&o), statusCommand(&o), versionCommand())
	return root
}

func versionCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "version",
		Short: "Print the version",
		Args:  cobra.NoArgs,
		Run:   func(cmd *cobra.Command, _ []string) { fmt.Fprintln(cmd.OutOrStdout(), version.String()) },
	}
}
