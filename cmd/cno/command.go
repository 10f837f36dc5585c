package main

import (
	"fmt"
	"regexp"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/cluster-network-operator/cno/internal/cli/apply"
	"github.com/cluster-network-operator/cno/internal/cli/connectivity"
	"github.com/cluster-network-operator/cno/internal/cli/dayone"
	"github.com/cluster-network-operator/cno/internal/cli/dayone/diff"
	"github.com/cluster-network-operator/cno/internal/cli/dayone/imports"
	"github.com/cluster-network-operator/cno/internal/cli/dayone/keyfiles"
	dayonerender "github.com/cluster-network-operator/cno/internal/cli/dayone/render"
	"github.com/cluster-network-operator/cno/internal/cli/dayone/resolve"
	"github.com/cluster-network-operator/cno/internal/cli/dayone/selection"
	dayonevalidate "github.com/cluster-network-operator/cno/internal/cli/dayone/validate"
	clusterdiff "github.com/cluster-network-operator/cno/internal/cli/diff"
	"github.com/cluster-network-operator/cno/internal/cli/doctor"
	"github.com/cluster-network-operator/cno/internal/cli/history"
	"github.com/cluster-network-operator/cno/internal/cli/idle"
	"github.com/cluster-network-operator/cno/internal/cli/install"
	"github.com/cluster-network-operator/cno/internal/cli/man"
	"github.com/cluster-network-operator/cno/internal/cli/pause"
	"github.com/cluster-network-operator/cno/internal/cli/plan"
	"github.com/cluster-network-operator/cno/internal/cli/podnetwork"
	"github.com/cluster-network-operator/cno/internal/cli/render"
	"github.com/cluster-network-operator/cno/internal/cli/rollback"
	"github.com/cluster-network-operator/cno/internal/cli/status"
	"github.com/cluster-network-operator/cno/internal/cli/top"
	"github.com/cluster-network-operator/cno/internal/cli/trace"
	"github.com/cluster-network-operator/cno/internal/cli/ui"
	"github.com/cluster-network-operator/cno/internal/cli/uninstall"
	"github.com/cluster-network-operator/cno/internal/cli/validate"
	"github.com/cluster-network-operator/cno/internal/networks"
	"github.com/cluster-network-operator/cno/internal/pipeline"
	"github.com/cluster-network-operator/cno/internal/version"
)

// The names under which kubectl starts the program, and cobra's command for completions.
const (
	plugin     = "kubectl-cno"
	completer  = "kubectl_complete-cno"
	completion = cobra.ShellCompRequestCmd
)

// command returns the tree of commands for the name under which the program was started. colored reports whether output goes
// to a terminal with colours.
func command(name string, colored func() bool) *cobra.Command {
	p := pipeline.Pipeline{Registry: networks.Registry()}
	root := &cobra.Command{
		Use:   "cno",
		Short: "Preview, apply and inspect a cluster's network",
		Long: `The administrator's tool for the cluster network operator. It runs the operator's own stages on
files or on the objects of a cluster, and finds the cluster as kubectl does.

Exit status of all commands: 0 success; 1 the configuration is invalid or refused, or the network
is unhealthy; 2 the input cannot be read, the cluster does not answer, or the command line is
wrong. The help of each command has the details.`,
		Example: `  cno plan -f network.yaml
  cno apply -f network.yaml --watch
  cno status`,
		Version:           version.String(),
		RunE:              func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
		SilenceUsage:      true,
		SilenceErrors:     true,
		CompletionOptions: cobra.CompletionOptions{DisableDefaultCmd: true},
	}
	root.AddCommand(render.New(p, version.String()), validate.New(p), plan.New(p, version.String()),
		apply.New(p), clusterdiff.New(p), history.New(), rollback.New(p), status.New(colored, time.Now),
		pause.New(time.Now), pause.NewResume(), podnetwork.New(p.Registry), idle.New(time.Now), doctor.New(p.Registry, time.Now), trace.New(p.Registry), connectivity.New(p.Registry), ui.New(p, version.String(), time.Now),
		top.New(p.Registry.Operands(), colored, time.Now), uninstall.New(p.Registry.Operands()), dayone.New(
			keyfiles.New(), dayonerender.New(), selection.New(), imports.New(), diff.New(), dayonevalidate.New(), resolve.New(),
		), completions(), versions(root.Version), man.New(),
		install.New(), install.NewUpgrade(), install.NewImages())
	root.SetFlagErrorFunc(invalidFlag)
	if name == plugin {
		root.Annotations = map[string]string{cobra.CommandDisplayNameAnnotation: "kubectl cno"}
		rename(root)
	}
	return root
}

// versions returns the command that prints the program's version, as the flag does.
func versions(version string) *cobra.Command {
	return &cobra.Command{
		Use:   "version",
		Short: "Print the version of this program",
		Long: `Prints the version of this program, as the flag --version does.

Exit status: 0 printed.`,
		Example:           `  cno version`,
		Args:              cobra.NoArgs,
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE: func(cmd *cobra.Command, _ []string) error {
			_, err := fmt.Fprintf(cmd.OutOrStdout(), "cno version %s\n", version)
			return err
		},
	}
}

// completions returns the command that prints completion scripts for shells.
func completions() *cobra.Command {
	return &cobra.Command{
		Use:   "completion bash|zsh|fish|powershell",
		Short: "Print a shell completion script",
		Long: `Prints a script for a shell. It completes commands, flags and their values.

For kubectl cno the shell needs kubectl's own script, and the program under the name
kubectl_complete-cno on the PATH; make install puts it there.

Exit status: 0 printed; 2 the shell is not known.`,
		Example: `  source <(cno completion bash)
  cno completion zsh > "${fpath[1]}/_cno"
  cno completion fish > ~/.config/fish/completions/cno.fish`,
		Args:                  cobra.MatchAll(cobra.ExactArgs(1), cobra.OnlyValidArgs),
		ValidArgs:             []string{"bash", "zsh", "fish", "powershell"},
		DisableFlagsInUseLine: true,
		RunE: func(cmd *cobra.Command, args []string) error {
			root, out := cmd.Root(), cmd.OutOrStdout()
			switch args[0] {
			case "bash":
				return root.GenBashCompletionV2(out, true)
			case "zsh":
				return root.GenZshCompletion(out)
			case "fish":
				return root.GenFishCompletion(out, true)
			default:
				return root.GenPowerShellCompletionWithDesc(out)
			}
		},
	}
}

// rename replaces the program's name with the plugin's in the help of all commands.
func rename(root *cobra.Command) {
	var verbs []string
	for _, c := range root.Commands() {
		verbs = append(verbs, c.Name())
	}
	called := regexp.MustCompile(`(^|[\s"(<|])cno (` + strings.Join(verbs, "|") + `)\b`)
	var walk func(*cobra.Command)
	walk = func(c *cobra.Command) {
		if c.Name() != "completion" {
			c.Long, c.Example = called.ReplaceAllString(c.Long, "${1}kubectl cno $2"), called.ReplaceAllString(c.Example, "${1}kubectl cno $2")
		}
		for _, sub := range c.Commands() {
			walk(sub)
		}
	}
	walk(root)
}
