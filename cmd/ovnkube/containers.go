package main

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/cluster-network-operator/cno/internal/host/cniplugins"
	"github.com/cluster-network-operator/cno/providers/ovnkubernetes/agentconfig"
	"github.com/cluster-network-operator/cno/providers/ovnkubernetes/config"
	"github.com/cluster-network-operator/cno/providers/ovnkubernetes/node/daemon"
)

// imagePlugins is the directory of the image with the CNI plugins for the node.
const imagePlugins = "/usr/lib/cni"

// container is a command for the process of one container.
type container struct {
	name, short string
	run         func(context.Context, config.Config) error
}

// processes are the commands of ovnkube.sh.
func (p *program) processes() []container {
	return []container{
		{agentconfig.CommandSwitch, "Run Open vSwitch", func(ctx context.Context, c config.Config) error { return daemon.Switch(ctx, c, p.log) }},
		{agentconfig.CommandNorth, "Run the server of the northbound database", func(ctx context.Context, c config.Config) error { return daemon.North(ctx, c, p.log) }},
		{agentconfig.CommandSouth, "Run the server of the southbound database", func(ctx context.Context, c config.Config) error { return daemon.South(ctx, c, p.log) }},
		{agentconfig.CommandNorthd, "Run ovn-northd", func(ctx context.Context, c config.Config) error { return daemon.Northd(ctx, c, p.log) }},
		{agentconfig.CommandController, "Run ovn-controller", func(ctx context.Context, c config.Config) error { return daemon.Controller(ctx, c, p.log) }},
		{agentconfig.CommandMaster, "Run the master of the node in " + agentconfig.VariableNode, func(ctx context.Context, c config.Config) error {
			c.Master = p.variable(agentconfig.VariableNode)
			return p.roles(ctx, c)
		}},
		{agentconfig.CommandNode, "Install the CNI plugins, and run the agent of the node in " + agentconfig.VariableNode, p.installAndRun},
		{agentconfig.CommandIPsec, "Encrypt tunnels of the node in " + agentconfig.VariableNode + ", with charon", p.ipsec},
		{"cleanup-node", "Remove what the agent of the node in " + agentconfig.VariableNode + " has left, after it was stopped", func(ctx context.Context, c config.Config) error {
			c.CleanupNode = p.variable(agentconfig.VariableNode)
			return p.roles(ctx, c)
		}},
		{"display", "Print bridges, the logical network and the comparisons", p.thenCompare(daemon.Display)},
		{"display_env", "Print the configuration and where it comes from", p.displayEnvironment},
		{"ovn_debug", "Print interfaces, flows, databases and the comparisons", p.thenCompare(daemon.Debug)},
	}
}

func (p *program) containers() []*cobra.Command {
	var out []*cobra.Command
	for _, one := range p.processes() {
		out = append(out, &cobra.Command{Use: one.name, Short: one.short, Args: cobra.NoArgs, RunE: func(cmd *cobra.Command, _ []string) error {
			c, err := p.load(cmd.Flags())
			if err != nil {
				return err
			}
			return one.run(cmd.Context(), c)
		}})
	}
	return out
}

func (p *program) containerNames() []string {
	var out []string
	for _, c := range p.processes() {
		out = append(out, c.name)
	}
	return out
}

func (p *program) installAndRun(ctx context.Context, c config.Config) error {
	if err := cniplugins.Install(imagePlugins, c.Directories.Plugins, p.log); err != nil {
		return err
	}
	c.Node = p.variable(agentconfig.VariableNode)
	return p.roles(ctx, c)
}

// displayEnvironment prints each setting that a variable has, and the configuration. Tokens are not printed.
func (p *program) displayEnvironment(_ context.Context, c config.Config) error {
	var lines []string
	for _, s := range config.Settings() {
		value := p.variable(s.Variable)
		if s.Variable == "" || value == "" {
			continue
		}
		if s.Flag == "k8s-token" {
			value = "(not printed)"
		}
		lines = append(lines, s.Variable+"="+value)
	}
	if c.Token != "" {
		c.Token = "(not printed)"
	}
	_, err := fmt.Fprintf(p.out, "%s\n%+v\n", strings.Join(lines, "\n"), c)
	return err
}
