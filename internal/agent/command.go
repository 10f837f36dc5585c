package agent

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"os/signal"
	"syscall"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/cluster-network-operator/cno/internal/host/cniplugins"
	"github.com/cluster-network-operator/cno/internal/version"
)

// Validator is a configuration that can validate itself.
type Validator interface{ Validate() field.ErrorList }

// Program is the command line of an agent, with the subcommands run, install-cni, cleanup and version.
type Program[C Validator] struct {
	// Name is the name of the binary, Short its description, RunShort the description of run.
	Name, Short, RunShort string
	// Node is the name of the node. cmd/ reads it from NODE_NAME.
	Node string
	// ConfigFile is the path at which the operator mounts the configuration.
	ConfigFile string
	// Decode reads the configuration.
	Decode func([]byte) (C, error)
	// Run runs the agent until its context ends. Cleanup removes the remains of the agent from the node.
	Run     func(ctx context.Context, p Process, config C) error
	Cleanup func(ctx context.Context, config C) error
	// Subcommands are further agents in the same binary with the same configuration, or queries of the running agent.
	Subcommands []Subcommand[C]
	// RunFlags, if not nil, adds flags to run.
	RunFlags func(*pflag.FlagSet)
	// Libraries, if not nil, configures the logger of the agent's libraries.
	Libraries func(*slog.Logger)
}

// Subcommand is an additional subcommand: an agent that runs in its own container, or a query of the running agent.
type Subcommand[C Validator] struct {
	// Name is the name of the subcommand, Short its description.
	Name, Short string
	// Optional is true if the configuration file may be missing; the defaults then apply.
	Optional bool
	// Run runs until its context ends.
	Run func(ctx context.Context, p Process, config C) error
}

// Process describes the process of an agent.
type Process struct {
	// Node is the node's name; empty if it is unknown. Version is the version of the binary.
	Node, Version string
	Log           *slog.Logger
}

// Main runs the command with the arguments and signals of the process, and exits with status 1 on an error.
func (p Program[C]) Main() {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, syscall.SIGINT)
	level := &slog.LevelVar{}
	log := slog.New(slog.NewJSONHandler(os.Stderr, &slog.HandlerOptions{Level: level}))
	if p.Libraries != nil {
		p.Libraries(log)
	}
	err := p.command(log, level).ExecuteContext(ctx)
	stop()
	if err != nil {
		log.Error(p.Name+" ends", "error", err)
		os.Exit(1)
	}
}

func (p Program[C]) command(log *slog.Logger, level *slog.LevelVar) *cobra.Command {
	root := &cobra.Command{Use: p.Name, Short: p.Short, SilenceUsage: true, SilenceErrors: true}
	var text string
	root.PersistentFlags().StringVar(&text, "log-level", "info", "what to log: debug, info, warn or error")
	root.PersistentPreRunE = func(*cobra.Command, []string) error { return level.UnmarshalText([]byte(text)) }
	process := Process{Node: p.Node, Version: version.String(), Log: log}
	for _, f := range p.Subcommands {
		root.AddCommand(p.configured(f.Name, f.Short, f.Optional, func(ctx context.Context, config C) error { return f.Run(ctx, process, config) }))
	}
	run := p.configured("run", p.RunShort, false, func(ctx context.Context, config C) error { return p.Run(ctx, process, config) })
	if p.RunFlags != nil {
		p.RunFlags(run.Flags())
	}
	root.AddCommand(
		run,
		p.configured("cleanup", "Remove the remains of the agent from the node, after it was stopped", false, p.Cleanup),
		installCommand(log), versionCommand())
	return root
}

// configured returns a command that reads the configuration.
func (p Program[C]) configured(name, short string, optional bool, run func(context.Context, C) error) *cobra.Command {
	var file string
	cmd := &cobra.Command{
		Use: name, Short: short, Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			config, err := p.read(file, optional)
			if err != nil {
				return err
			}
			return run(cmd.Context(), config)
		},
	}
	cmd.Flags().StringVar(&file, "config", p.ConfigFile, "the configuration file")
	return cmd
}

func (p Program[C]) read(file string, optional bool) (C, error) {
	var none C
	data, err := os.ReadFile(file)
	if optional && errors.Is(err, fs.ErrNotExist) {
		return p.Decode([]byte("{}")) // the default values are sufficient
	}
	if err != nil {
		return none, fmt.Errorf("read configuration: %w", err)
	}
	config, err := p.Decode(data)
	if err != nil {
		return none, err
	}
	if errs := config.Validate(); len(errs) > 0 {
		return none, fmt.Errorf("%s is not valid: %w", file, errs.ToAggregate())
	}
	return config, nil
}

func installCommand(log *slog.Logger) *cobra.Command {
	var from, to string
	cmd := &cobra.Command{
		Use: "install-cni", Short: "Copy the CNI plugins to the node", Args: cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error { return cniplugins.Install(from, to, log) },
	}
	cmd.Flags().StringVar(&from, "from", "/usr/lib/cni", "the directory of plugins to copy")
	cmd.Flags().StringVar(&to, "to", "/host/opt/cni/bin", "the directory from which the container runtime starts plugins")
	return cmd
}

func versionCommand() *cobra.Command {
	return &cobra.Command{
		Use: "version", Short: "Print the version", Args: cobra.NoArgs,
		Run: func(cmd *cobra.Command, _ []string) { fmt.Fprintln(cmd.OutOrStdout(), version.String()) },
	}
}
