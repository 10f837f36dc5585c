package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"golang.org/x/sync/errgroup"

	"github.com/cluster-network-operator/cno/internal/logging"
	"github.com/cluster-network-operator/cno/internal/version"
	"github.com/cluster-network-operator/cno/providers/ovnkubernetes/config"
	"github.com/cluster-network-operator/cno/providers/ovnkubernetes/finding"
)

// program is the state that all commands share.
type program struct {
	variable func(string) string
	out      io.Writer
	level    *slog.LevelVar
	log      *slog.Logger
	file     string
	// persistence decides which differences the comparisons report.
	persistence finding.Persistence
}

func newProgram(variable func(string) string, out, errors io.Writer) *program {
	level := &slog.LevelVar{}
	return &program{variable: variable, out: out, level: level, log: logging.Setup(errors, level), persistence: finding.Default()}
}

// command returns the program's commands. Without a command, the program runs the roles that its flags name.
func (p *program) command() *cobra.Command {
	root := &cobra.Command{
		Use: "ovnkube", Short: "Master and node agent of OVN-Kubernetes", SilenceUsage: true, SilenceErrors: true, Args: cobra.NoArgs,
		Version: version.String(),
		RunE: func(cmd *cobra.Command, _ []string) error {
			c, err := p.load(cmd.Flags())
			if err != nil {
				return err
			}
			return p.roles(cmd.Context(), c)
		},
	}
	root.SetOut(p.out)
	root.SetVersionTemplate("{{.Version}}\n")
	root.PersistentFlags().StringVar(&p.file, "config-file", config.File, "configuration file; it need not exist")
	for _, s := range config.Settings() {
		usage := s.Usage
		if s.Variable != "" {
			usage += " (variable " + s.Variable + ")"
		}
		if s.Default != "" {
			usage += ", default " + s.Default
		}
		if s.IsBool {
			root.PersistentFlags().Bool(s.Flag, false, usage)
		} else {
			root.PersistentFlags().String(s.Flag, "", usage)
		}
	}
	for _, r := range config.Refused() {
		for _, name := range r.Flags {
			flag := root.PersistentFlags().VarPF(refusedFlag{name, r}, name, "", "")
			flag.Hidden, flag.NoOptDefVal = true, "true"
		}
	}
	root.SetGlobalNormalizationFunc(func(_ *pflag.FlagSet, name string) pflag.NormalizedName {
		for _, s := range config.Settings() {
			if s.Alias != "" && s.Alias == name {
				return pflag.NormalizedName(s.Flag)
			}
		}
		return pflag.NormalizedName(name)
	})
	root.AddCommand(p.containers()...)
	root.AddCommand(p.checks()...)
	root.AddCommand(&cobra.Command{Use: "version", Short: "Print the version", Args: cobra.NoArgs, Run: func(cmd *cobra.Command, _ []string) {
		fmt.Fprintln(cmd.OutOrStdout(), version.String())
	}})
	return root
}

// refusedFlag is a flag of OVN-Kubernetes that this program does not support.
type refusedFlag struct {
	name    string
	refusal config.Refusal
}

func (refusedFlag) String() string     { return "" }
func (refusedFlag) Type() string       { return "string" }
func (f refusedFlag) Set(string) error { return f.refusal.ErrorOf("--" + f.name) }

// load reads the configuration.
func (p *program) load(flags *pflag.FlagSet) (config.Config, error) {
	content, err := os.ReadFile(p.file)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return config.Config{}, fmt.Errorf("read configuration: %w", err)
	}
	given := map[string]string{}
	flags.Visit(func(f *pflag.Flag) { given[f.Name] = f.Value.String() })
	c, err := config.Load(given, p.variable, content)
	if err != nil {
		return c, fmt.Errorf("configuration is not valid: %w", err)
	}
	return c, p.level.UnmarshalText([]byte(c.LogLevel))
}

// roles runs the roles of the configuration until one of them fails or the context is cancelled.
func (p *program) roles(ctx context.Context, c config.Config) error {
	if c.CleanupNode != "" {
		if c.Master != "" || c.Node != "" {
			return errors.New("--cleanup-node cannot be combined with --init-master and --init-node")
		}
		return p.cleanup(ctx, c)
	}
	var roles []func(context.Context, config.Config) error
	if c.Master != "" {
		roles = append(roles, p.master)
	}
	if c.Node != "" {
		roles = append(roles, p.node)
	}
	if len(roles) == 0 {
		return errors.New("set a role, --init-master NODE or --init-node NODE, or name a command: " + strings.Join(p.containerNames(), ", "))
	}
	group, ctx := errgroup.WithContext(ctx)
	for _, run := range roles {
		group.Go(func() error { return run(ctx, c) })
	}
	return group.Wait()
}
