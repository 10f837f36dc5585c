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

// Validator is a configuration that knows what is wrong with it.
type Validator interface{ Validate() field.ErrorList }

// Program is an agent as a program with the subcommands run, install-cni, cleanup and version.
type Program[C Validator] struct {
	// Name is the program's, Short a sentence about it, RunShort one about its main job.
	Name, Short, RunShort string
	// Node is the name of the node, which cmd/ reads from NODE_NAME.
	Node string
	// ConfigFile is where the operator mounts the configuration.
	ConfigFile string
	// Decode reads the configuration.
	Decode func([]byte) (C, error)
	// Run is the agent; it ends with its context. Cleanup removes what the agent left on the node.
	Run     func(ctx context.Context, p Process, config C) error
	Cleanup func(ctx context.Context, config C) error
	// Further are other agents in the same program, each with a subcommand and the same configuration.
	Further []Further[C]
	// RunFlags, if not nil, adds flags to the main job.
	RunFlags func(*pflag.FlagSet)
	// Libraries, if not nil, has the libraries that the agent uses log through a logger.
	Libraries func(*slog.Logger)
}

// Further is a subcommand beside those that every agent has: an agent that runs in a container of its own, or a question to the running one.
type Further[C Validator] struct {
	// Name is that of the subcommand, Short a sentence about it.
	Name, Short string
	// Optional is true if the agent has the defaults where there is no configuration file.
	Optional bool
	// Run ends with its context.
	Run func(ctx context.Context, p Process, config C) error
}

// Process is what an agent's process knows about itself.
type Process struct {
	// Node is the node's name; empty if it is not known. Version is the program's.
	Node, Version string
	Log           *slog.Logger
}

// Main runs the program with the arguments and signals of the process, and exits with 1 on an error.
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
	for _, f := range p.Further {
		root.AddCommand(p.configured(f.Name, f.Short, f.Optional, func(ctx context.Context, config C) error { return f.Run(ctx, process, config) }))
	}
	run := p.configured("run", p.RunShort, false, func(ctx context.Context, config C) error { return p.Run(ctx, process, config) })
	if p.RunFlags != nil {
		p.RunFlags(run.Flags())
	}
	root.AddCommand(
		run,
		p.configured("cleanup", "Remove what the agent left on the node, after it was stopped", false, p.Cleanup),
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
		return p.Decode([]byte("{}")) // what has no default is not needed
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
