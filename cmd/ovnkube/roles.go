package main

import (
	"context"
	"fmt"
	"os"
	"strings"

	certificatesv1 "k8s.io/api/certificates/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/cluster-network-operator/cno/internal/agent"
	"github.com/cluster-network-operator/cno/internal/nodeblocks"
	"github.com/cluster-network-operator/cno/internal/nodecert"
	"github.com/cluster-network-operator/cno/internal/version"
	"github.com/cluster-network-operator/cno/providers/ovnkubernetes/agentconfig"
	"github.com/cluster-network-operator/cno/providers/ovnkubernetes/config"
	"github.com/cluster-network-operator/cno/providers/ovnkubernetes/master"
	"github.com/cluster-network-operator/cno/providers/ovnkubernetes/node"
	"github.com/cluster-network-operator/cno/providers/ovnkubernetes/node/daemon"
	"github.com/cluster-network-operator/cno/providers/ovnkubernetes/node/ipsec"
)

// master runs the master on the node that the configuration names.
func (p *program) master(ctx context.Context, c config.Config) error {
	out, err := p.masterConfig(c)
	if err != nil {
		return err
	}
	return master.Run(ctx, out)
}

// masterConfig returns a master's configuration.
func (p *program) masterConfig(c config.Config) (master.Config, error) {
	if err := c.CheckMaster(); err != nil {
		return master.Config{}, err
	}
	api, err := restConfig(c, "master")
	if err != nil {
		return master.Config{}, err
	}
	var pools []nodeblocks.Pool
	for _, one := range c.Pools {
		pools = append(pools, nodeblocks.Pool{Network: one.CIDR, Length: one.BlockLength})
	}
	health := c.Health
	if health == "" || c.Node != "" { // the agent of the node in the same process has the given one
		health = agentconfig.HealthMaster
	}
	north, south := c.Directories.NorthDatabase(), c.Directories.SouthDatabase()
	return master.Config{
		Kube: api, Node: c.Master, Pools: pools, Services: c.Services,
		NorthboundSocket: north.Socket, SouthboundSocket: south.Socket, SouthboundControl: south.Control, SouthboundTLS: c.UsesTLS(),
		SouthboundAddress: c.TunnelAddress, SouthboundPort: c.SouthPort(),
		RateLimit: func() (uint32, error) {
			a, err := daemon.Audit(c)
			return a.RateLimit, err
		},
		HealthAddress: health, Metrics: agent.NewMetrics("ovnkube_master", version.String()), Log: p.log,
	}, nil
}

// node runs the agent of the node that the configuration names.
func (p *program) node(ctx context.Context, c config.Config) error {
	out, err := p.nodeOptions(c)
	if err != nil {
		return err
	}
	return node.Run(ctx, out)
}

// nodeOptions returns the options of a node's agent.
func (p *program) nodeOptions(c config.Config) (node.Options, error) {
	api, err := restConfig(c, "node")
	if err != nil {
		return node.Options{}, err
	}
	client, err := kubernetes.NewForConfig(api)
	if err != nil {
		return node.Options{}, fmt.Errorf("configure the client of the Kubernetes API: %w", err)
	}
	return node.Options{Config: c, Client: client, Process: agent.Process{Node: c.Node, Version: version.String(), Log: p.log}}, nil
}

// ipsec runs the IPsec agent.
func (p *program) ipsec(ctx context.Context, c config.Config) error {
	node := p.variable(agentconfig.VariableNode)
	if err := c.CheckIPsec(); err != nil {
		return err
	}
	api, err := restConfig(c, "ipsec")
	if err != nil {
		return err
	}
	client, err := kubernetes.NewForConfig(api)
	if err != nil {
		return fmt.Errorf("configure the client of the Kubernetes API: %w", err)
	}
	signer, err := nodecert.NewClient(api, agentconfig.IPsecSigner, certificatesv1.UsageIPsecTunnel)
	if err != nil {
		return err
	}
	esp, err := daemon.ESP(c)
	if err != nil {
		return err
	}
	p.log.Info("tunnels are encrypted", "by", esp.Name(), "overhead", esp.Overhead())
	return ipsec.Run(ctx, ipsec.Options{Config: c, Client: client, Signer: signer, ESP: esp, Process: agent.Process{Node: node, Version: version.String(), Log: p.log}})
}

func (p *program) cleanup(ctx context.Context, c config.Config) error { return node.Remove(ctx, c) }

// restConfig returns the client configuration for the API server: from the kubeconfig file, or from URL, token and CA, which default to those of the
// pod.
func restConfig(c config.Config, role string) (*rest.Config, error) {
	if c.Kubeconfig != "" {
		out, err := clientcmd.BuildConfigFromFlags(c.APIServer, c.Kubeconfig)
		if err != nil {
			return nil, fmt.Errorf("read kubeconfig: %w", err)
		}
		return rest.AddUserAgent(out, "ovnkube-"+role), nil
	}
	out, err := rest.InClusterConfig()
	if err != nil {
		if c.APIServer == "" {
			return nil, fmt.Errorf("find the Kubernetes API: %w; outside of a pod set --k8s-kubeconfig, or --k8s-apiserver with --k8s-token and --k8s-cacert", err)
		}
		out = &rest.Config{}
	}
	if c.APIServer != "" {
		out.Host = c.APIServer
	}
	if c.CAFile != "" {
		out.CAFile = c.CAFile
	}
	if c.Token != "" {
		out.BearerToken, out.BearerTokenFile = c.Token, ""
		if _, err := os.Stat(c.Token); err == nil && strings.HasPrefix(c.Token, "/") {
			out.BearerToken, out.BearerTokenFile = "", c.Token
		}
	}
	return rest.AddUserAgent(out, "ovnkube-"+role), nil
}
