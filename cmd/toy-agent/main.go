// Command toy-agent is the node agent of the network that docs/adding-a-network.md builds. Tests run it; it is in no release.
package main

import (
	"context"
	"os"

	"github.com/cluster-network-operator/cno/internal/agent"
	"github.com/cluster-network-operator/cno/providers/toy/agentconfig"
	"github.com/cluster-network-operator/cno/providers/toy/node"
)

func main() {
	agent.Program[agentconfig.Config]{
		Name:       "toy-agent",
		Short:      "The agent of the toy network on a node",
		RunShort:   "Attach pods, and keep the routes to the blocks of the other nodes",
		Node:       os.Getenv("NODE_NAME"),
		ConfigFile: "/etc/toy/toy.json",
		Decode:     agentconfig.Decode,
		Run: func(ctx context.Context, p agent.Process, config agentconfig.Config) error {
			return node.Run(ctx, config, p)
		},
		Cleanup: node.Remove,
	}.Main()
}
