// Command flanneld is flannel's agent on a node; see docs/programs/flanneld.md.
package main

import (
	"context"
	"fmt"
	"log/slog"
	"os"

	certificatesv1 "k8s.io/api/certificates/v1"
	"k8s.io/client-go/rest"
	"k8s.io/klog/v2"

	"github.com/cluster-network-operator/cno/internal/agent"
	"github.com/cluster-network-operator/cno/internal/nodecert"
	"github.com/cluster-network-operator/cno/providers/flannel/agentconfig"
	"github.com/cluster-network-operator/cno/providers/flannel/node"
	"github.com/cluster-network-operator/cno/providers/flannel/record"
)

func main() {
	agent.Program[agentconfig.Config]{
		Name:       "flanneld",
		Short:      "Flannel's agent on a node",
		RunShort:   "Keep the node's subnet lease and the routes to all other nodes",
		Node:       os.Getenv("NODE_NAME"),
		ConfigFile: "/etc/flannel/flanneld.json",
		Decode:     agentconfig.Decode,
		Run:        run,
		Cleanup:    node.Remove,
		// Flannel's packages log through klog.
		Libraries: func(log *slog.Logger) { klog.SetSlogLogger(log.With("library", "flannel")) },
	}.Main()
}

func run(ctx context.Context, p agent.Process, config agentconfig.Config) error {
	options := node.Options{Config: config, Node: p.Node, Version: p.Version, Log: p.Log}
	if config.Etcd.OwnCertificate {
		// Without a signer the agent continues with its current certificate, and reports why it cannot renew it.
		var err error
		if options.Sign, err = signer(); err != nil {
			p.Log.Warn("certificates cannot be requested", "error", err)
		}
	}
	return node.Run(ctx, options)
}

// signer returns a signer that requests certificates from the operator, through the API server that the pod's environment names.
func signer() (nodecert.Signer, error) {
	api, err := rest.InClusterConfig()
	if err != nil {
		return nil, fmt.Errorf("find the Kubernetes API, to request a certificate: %w", err)
	}
	return nodecert.NewClient(api, record.Etcd.Signer(), certificatesv1.UsageDigitalSignature, certificatesv1.UsageClientAuth)
}
