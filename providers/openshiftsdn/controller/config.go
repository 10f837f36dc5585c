// Package controller is the cluster-wide controller of OpenShiftSDN. It creates HostSubnets for nodes and NetNamespaces for namespaces, assigns egress IPs to
// nodes, and reports errors in these objects as events. Each loop reads the objects, computes a plan with the pure packages hostsubnet, vnid and egressip, and
// writes it. The controller has no state that the next instance could not read from the API.
package controller

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/netip"
	"time"

	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/cluster-network-operator/cno/internal/agent"
	"github.com/cluster-network-operator/cno/internal/nodeblocks"
	"github.com/cluster-network-operator/cno/providers/openshiftsdn/agentconfig"
)

// Config is the configuration of Run.
type Config struct {
	// Kube has the API server's address and credentials. Required.
	Kube *rest.Config
	// Node is the name of the node on which this instance runs. It is part of the identity in the Lease. Required.
	Node string
	// Network is the network's configuration. Required; it must be valid.
	Network agentconfig.Config
	// LeaseNamespace and LeaseName name the lease. Defaults: openshift-sdn and openshift-network-controller.
	LeaseNamespace, LeaseName string
	// HealthAddress is the HOST:PORT of /healthz, /readyz and /metrics; empty for none.
	HealthAddress string
	// Metrics are served at /metrics. This package registers its metrics there, with the namespace sdn_controller. Required.
	Metrics *agent.Metrics
	// Log is the logger. Required.
	Log *slog.Logger
	// Probe reports whether the tunnel address of a node responds. Default: tunnelprobe.Probe.
	Probe func(context.Context, netip.Addr) error
	// Wrap, if not nil, returns the client that writes objects.
	Wrap func(client.Client) client.Client
	// Now is the clock. Default: time.Now.
	Now func() time.Time
}

// complete returns the configuration with its defaults. The error names every invalid field.
func (c Config) complete() (Config, error) {
	c.LeaseNamespace = cmp.Or(c.LeaseNamespace, agentconfig.Namespace)
	c.LeaseName = cmp.Or(c.LeaseName, agentconfig.Lease)
	if c.Now == nil {
		c.Now = time.Now
	}
	if c.Wrap == nil {
		c.Wrap = func(c client.Client) client.Client { return c }
	}
	var problems []error
	for _, required := range []struct {
		field   string
		missing bool
	}{
		{"Kube", c.Kube == nil}, {"Node", c.Node == ""}, {"Metrics", c.Metrics == nil}, {"Log", c.Log == nil},
	} {
		if required.missing {
			problems = append(problems, fmt.Errorf("%s is required", required.field))
		}
	}
	if errs := c.Network.Validate(); len(errs) > 0 {
		problems = append(problems, errs.ToAggregate())
	}
	if err := errors.Join(problems...); err != nil {
		return c, fmt.Errorf("configuration of the controller: %w", err)
	}
	return c, nil
}

// pools returns the pools of the cluster network.
func (c Config) pools() []nodeblocks.Pool {
	var out []nodeblocks.Pool
	for _, n := range c.Network.ClusterNetworks {
		out = append(out, nodeblocks.Pool{Network: n.CIDR, Length: n.HostPrefix})
	}
	return out
}
