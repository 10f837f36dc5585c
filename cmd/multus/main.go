// Command multus is the node daemon for additional networks; see docs/programs/multus.md.
package main

import (
	"context"
	"fmt"
	"os"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	ctrlclient "sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/cluster-network-operator/cno/internal/agent"
	"github.com/cluster-network-operator/cno/providers/multus/agentconfig"
	"github.com/cluster-network-operator/cno/providers/multus/node"
)

// A node may start its 110 pods at once, each with a status and an event for each network. The client's default of five requests per
// second would delay them.
const (
	requestsPerSecond = 100
	requestBurst      = 200
)

// inCluster returns the client configuration with the pod's service account.
func inCluster() (*rest.Config, error) {
	api, err := rest.InClusterConfig()
	if err != nil {
		return nil, err
	}
	api.QPS, api.Burst = requestsPerSecond, requestBurst
	return api, nil
}

func main() {
	agent.Program[agentconfig.Config]{
		Name:       "multus",
		Short:      "The node daemon for additional networks",
		RunShort:   "Plan the networks of pods, and report them in the status annotations",
		Node:       os.Getenv("NODE_NAME"),
		ConfigFile: "/etc/multus/" + agentconfig.FileName,
		Decode:     agentconfig.Decode,
		Run:        run,
		Subcommands: []agent.Subcommand[agentconfig.Config]{
			{Name: "dhcp", Short: "Get, renew and release DHCP leases for pods on additional networks", Run: dhcp},
			{Name: "policies", Short: "Enforce MultiNetworkPolicies on additional networks", Run: policies},
			{Name: "remove-policies", Short: "Remove the rules of MultiNetworkPolicies from the pods of the node", Run: removePolicies},
			{Name: "install-sysctls", Short: "Install the default list of sysctls for the plugin tuning, unless the node has one", Run: installSysctls},
		},
		Cleanup: func(_ context.Context, config agentconfig.Config) error { return node.Remove(config) },
	}.Main()
}

// dhcp runs the daemon for DHCP leases.
func dhcp(ctx context.Context, p agent.Process, config agentconfig.Config) error {
	api, err := inCluster()
	if err != nil {
		return fmt.Errorf("find the Kubernetes API: %w", err)
	}
	client, err := kubernetes.NewForConfig(api)
	if err != nil {
		return fmt.Errorf("connect to the Kubernetes API: %w", err)
	}
	return node.RunDHCP(ctx, p, config, client)
}

// policies runs the daemon for policies.
func policies(ctx context.Context, p agent.Process, config agentconfig.Config) error {
	api, err := inCluster()
	if err != nil {
		return fmt.Errorf("find the Kubernetes API: %w", err)
	}
	client, err := kubernetes.NewForConfig(api)
	if err != nil {
		return fmt.Errorf("connect to the Kubernetes API: %w", err)
	}
	objects, err := dynamic.NewForConfig(api)
	if err != nil {
		return fmt.Errorf("connect to the Kubernetes API: %w", err)
	}
	return node.RunPolicies(ctx, p, config, client, objects)
}

func installSysctls(_ context.Context, _ agent.Process, config agentconfig.Config) error {
	return node.InstallSysctls(config)
}

func removePolicies(_ context.Context, _ agent.Process, config agentconfig.Config) error {
	return node.RemovePolicies(config)
}

func run(ctx context.Context, p agent.Process, config agentconfig.Config) error {
	api, err := inCluster()
	if err != nil {
		return fmt.Errorf("find the Kubernetes API: %w", err)
	}
	client, err := kubernetes.NewForConfig(api)
	if err != nil {
		return fmt.Errorf("connect to the Kubernetes API: %w", err)
	}
	definitions, err := dynamic.NewForConfig(api)
	if err != nil {
		return fmt.Errorf("connect to the Kubernetes API: %w", err)
	}
	addresses, err := ctrlclient.New(api, ctrlclient.Options{Scheme: runtime.NewScheme()})
	if err != nil {
		return fmt.Errorf("connect to the Kubernetes API: %w", err)
	}
	return node.Run(ctx, node.Options{
		Process: p, Pod: os.Getenv("POD_NAME"), Config: config, Client: client, Definitions: definitions, Addresses: addresses, Interfaces: node.ReadInterfaces, Devices: node.Devices,
	})
}
