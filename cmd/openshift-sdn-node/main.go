// Command openshift-sdn-node is the agent of OpenShiftSDN on a node, and runs the daemons of Open vSwitch there; see
// docs/programs/openshift-sdn-node.md.
package main

import (
	"context"
	"fmt"
	"os"
	"path"

	"github.com/spf13/pflag"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/klog/v2"

	"github.com/cluster-network-operator/cno/internal/agent"
	"github.com/cluster-network-operator/cno/providers/openshiftsdn/agentconfig"
	"github.com/cluster-network-operator/cno/providers/openshiftsdn/node"
)

func main() {
	name := os.Getenv("NODE_NAME")
	agent.Program[agentconfig.Config]{
		Name:       "openshift-sdn-node",
		Short:      "OpenShiftSDN's agent on a node",
		RunShort:   "Keep the node's bridge, tunnels and rules, and attach pods",
		Node:       name,
		ConfigFile: path.Join(agentconfig.ConfigDir, agentconfig.FileName),
		Decode:     agentconfig.Decode,
		Run: func(ctx context.Context, p agent.Process, config agentconfig.Config) error {
			p.Node = name
			return run(ctx, p, config)
		},
		RunFlags: func(flags *pflag.FlagSet) {
			flags.StringVar(&name, "node-name", name, "the name of the node (variable NODE_NAME)")
			flags.IP("node-ip", nil, "accepted for manifests of OpenShift; the address of the node is that of its HostSubnet")
			flags.String("platform-type", "", "accepted for manifests of OpenShift, without effect")
			flags.Int("mtu-override", 0, "accepted for manifests of OpenShift; the MTU is that of the configuration")
			flags.String("proxy-config", "", "accepted for manifests of OpenShift; kube-proxy runs in a container of its own")
		},
		Cleanup: node.Remove,
		Subcommands: []agent.Subcommand[agentconfig.Config]{{
			Name: "switch", Short: "Run the database and the daemon of Open vSwitch", Optional: true,
			Run: func(ctx context.Context, p agent.Process, config agentconfig.Config) error {
				return node.Switch(ctx, config, p.Log)
			},
		}, {
			Name: agentconfig.CompareCommand, Short: "Print how the node differs from what the running agent desires, as JSON",
			Run: func(ctx context.Context, _ agent.Process, config agentconfig.Config) error {
				return node.PrintComparison(ctx, config, os.Stdout)
			},
		}},
		Libraries: klog.SetSlogLogger,
	}.Main()
}

func run(ctx context.Context, p agent.Process, config agentconfig.Config) error {
	if p.Node == "" {
		return fmt.Errorf("name the node with --node-name or the variable NODE_NAME")
	}
	if err := node.CheckMTU(config, os.Getenv(agentconfig.VariableMTU)); err != nil {
		return err
	}
	api, err := restConfig()
	if err != nil {
		return err
	}
	return node.Run(ctx, node.Options{Process: p, Config: config, API: rest.AddUserAgent(api, "openshift-sdn-node")})
}

// restConfig returns the client configuration for the API server: from the file that KUBECONFIG names, or the pod's service account.
func restConfig() (*rest.Config, error) {
	if file := os.Getenv("KUBECONFIG"); file != "" {
		api, err := clientcmd.BuildConfigFromFlags("", file)
		if err != nil {
			return nil, fmt.Errorf("read the kubeconfig %s: %w", file, err)
		}
		return api, nil
	}
	api, err := rest.InClusterConfig()
	if err != nil {
		return nil, fmt.Errorf("find the Kubernetes API: %w; outside of a pod set KUBECONFIG", err)
	}
	return api, nil
}
